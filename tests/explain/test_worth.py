"""The worth of observations, against a search that knows nothing of lines."""

import itertools
import json
import math

import numpy as np
import pytest

import askwise as aw
import reference
from askwise.errors import OptionError
from askwise.estimation.evidence import CountedEvidence
from askwise.simulation.environments import Population, breast_cancer
from inside import strategy_of
from random_problems import random_model, random_problem


def models(seed, number):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield random_model(rng, random_problem(rng, most=48, buys=True))


def best_gain(model, plan, prices):
    """V, by trying all there is to do: no planner of ours."""
    problem = model.problem.supposing(prices)
    best = getattr(reference, f"best_{plan}")
    return sum(best(problem, known, cases) for known, cases in reference.begin_alike(model))


def is_break_even(model, plan, name, price):
    """Whether just below that price the best policy gains more than without, and just above not.

    The higher the price, the less it gains: so a search could find no other price.
    """
    beta = model.problem.reward_value
    without = best_gain(model, plan, {name: 1e9 * beta})

    def gains(price):
        return best_gain(model, plan, {name: price}) > without + 1e-13 * beta

    near = 1e-6 * max(1.0, beta)
    if price == math.inf:
        return gains(1e8 * beta)
    return (price < near or gains(price - near)) and not gains(price + near)


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
@pytest.mark.parametrize("batch", range(3))
def test_break_even_prices_equal_a_search(plan, batch):
    bought = 0
    for model in models(100 + batch, 12):
        for row in aw.worth(model, acquisition=plan):
            assert is_break_even(model, plan, row.name, row.break_even), row
            bought += 0 < row.break_even < math.inf
    assert bought > 10


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_gains_equal_all_policies(plan):
    for model in models(7, 20):
        beta = model.problem.reward_value
        for row in aw.worth(model, acquisition=plan):
            near = {"abs": 1e-9 * beta}
            assert row.gain == pytest.approx(best_gain(model, plan, {}), **near)
            assert row.free == pytest.approx(best_gain(model, plan, {row.name: 0.0}), **near)
            dear = {row.name: 1e9 * beta}
            assert row.without == pytest.approx(best_gain(model, plan, dear), **near)
            assert row.without - 1e-9 * beta <= row.gain <= row.free + 1e-9 * beta


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_demand_is_the_gain_at_every_price(plan):
    """V is the upper envelope of the pieces, convex, and its slope is the share that pays."""
    rng = np.random.default_rng(3)
    several = 0
    for model in models(11, 25):
        beta, worth = model.problem.reward_value, aw.worth(model, acquisition=plan)
        for row in worth:
            if not 0 < row.break_even < math.inf:
                continue
            pieces = worth.demand(row.name)
            several += len(pieces) > 2
            prices, gains = [p.price for p in pieces], [p.gain for p in pieces]
            shares = [p.bought for p in pieces]
            assert prices == sorted(prices)
            assert prices[-1] == pytest.approx(row.break_even)
            assert all(a >= b - 1e-9 for a, b in itertools.pairwise(shares))
            for price in rng.uniform(0, row.break_even, 5):
                expected = best_gain(model, plan, {row.name: price})
                assert np.interp(price, prices, gains) == pytest.approx(expected, abs=1e-8 * beta)
    assert several > 10 if plan == "sequential" else True


def test_a_sure_answer_is_worth_what_it_saves():
    """Worked by hand: 20 of 100 are ill; treating the healthy earns half."""
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=9)],
        actions=["wait", "treat"],
        reward_value=100,
    )
    model = aw.Model(problem, [0.8, 0.2], [[1.0, 0.5], [0.0, 1.0]])
    (row,) = aw.worth(model)
    assert (row.gain, row.without, row.free) == pytest.approx((91, 80, 100))
    assert row.break_even == pytest.approx(20)
    assert row.bought == 1
    assert aw.worth(model.priced({"mri": 25})).rows[0].bought == 0
    assert aw.worth(model.priced({"mri": 25})).rows[0].break_even == pytest.approx(20)


@pytest.mark.parametrize("kind", [aw.Learner, aw.SeqOOS, aw.SimOOS])
def test_a_learner_comes_close_to_the_truth(kind):
    model = breast_cancer(cost=5.0)
    learner = kind(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=20_000, rng=0)
    learned = aw.worth(learner)
    true = aw.worth(model, acquisition=strategy_of(learner).acquisition.name)
    assert learned.acquisition == strategy_of(learner).acquisition.name
    assert learned.gain == pytest.approx(true.gain, abs=3)
    assert learned["tumour stage"].break_even == pytest.approx(
        true["tumour stage"].break_even, abs=6
    )


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_counters_alone_say_it_too(kind, storage):
    """As in problems too large for a model of all combinations."""
    model = breast_cancer(cost=5.0)
    learner = kind(model.problem, storage=storage, rng=0)
    aw.simulate(learner, Population(model), steps=50_000, rng=0)
    worth = aw.worth(
        CountedEvidence(learner.statistics, strategy_of(learner).acquisition.name),
        acquisition=strategy_of(learner).acquisition.name,
    )
    true = aw.worth(model, acquisition=strategy_of(learner).acquisition.name)
    assert worth.gain == pytest.approx(true.gain, abs=6)  # cautious
    assert worth["WHO score"].break_even > 15
    pieces = worth.demand("WHO score")
    assert pieces[0].bought == pytest.approx(1)
    assert str(worth.policy.tree(learner.evidence()))


def test_many_observations_of_which_few_matter():
    """It is worth 40: the intervals hold that, and half of it is found in the median."""
    names = [f"o{i}" for i in range(12)]
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1) for n in names],
        actions=["a", "b"],
        max_observations=3,
        reward_value=100,
    )
    found = []
    for seed in range(3):
        rng = np.random.default_rng([5, seed])
        learner = aw.Learner(problem, model="additive", rng=seed)
        for _ in range(3000):
            x = rng.integers(2, size=12)
            case = learner.open()
            while case.wanted:
                case.observe({n: int(x[names.index(n)]) for n in case.wanted})
            right = "a" if x[4] else "b"
            case.reward(float(rng.random() < (0.9 if case.action == right else 0.1)))
        best = max(aw.worth(learner), key=lambda row: row.break_even)
        assert best.name == "o4"
        # what would be earned without it is hardly ever tried, and the interval says so
        assert best.break_even_low <= 40 <= best.break_even_high
        found.append(best.break_even)
        root = learner.recommend().tree().root
        assert root.observation == "o4"
        assert root.reason.gain == pytest.approx(89, abs=4)
        assert 0 < root.reason.variance < 9
    assert 20 <= np.median(found) <= 60


def test_rows_frames_and_words():
    worth = aw.worth(breast_cancer(cost=5.0))
    frame = worth.frame("polars")
    assert frame["break_even"].to_list() == [row.break_even for row in worth]
    assert list(worth.frame("pandas")["name"]) == [row.name for row in worth]
    assert "break-even" in str(worth)
    assert worth._repr_html_().count("<tr>") == 5
    assert worth.policy._repr_html_() == worth.policy.tree().html()
    assert json.dumps(worth.frame("pyarrow").to_pydict())
    with pytest.raises(OptionError, match="'mri', expected one of: age"):
        worth["mri"]
    with pytest.raises(OptionError, match="acquisition must be"):
        aw.worth(breast_cancer(cost=5.0), acquisition="both")
    with pytest.raises(OptionError, match="expected a Model, a learner or a fitted log, got a int"):
        aw.worth(3)
    with pytest.raises(aw.AskwiseError, match="kind must be one of"):
        worth.frame("excel")


def test_buying_everything_is_the_best_of_the_largest_sets():
    rng = np.random.default_rng(7)
    limited = 0
    for _ in range(20):
        problem = random_problem(rng, most=48, buys=True)
        if any(o.given for o in problem.observations):
            continue
        model = random_model(rng, problem)
        names = [o.name for o in problem.observations]
        limited += problem.m < len(names)
        sets = itertools.combinations(names, problem.m)
        largest = max(aw.oracle.fixed(model, chosen).evaluate(model) for chosen in sets)
        assert aw.worth(model).full_gain == pytest.approx(largest)
    assert limited >= 2


def test_what_is_still_to_learn_is_said_without_the_budget_too():
    model = breast_cancer(cost=5.0)
    budget = aw.Budget(spend_per_case=6.0)
    learner = aw.Learner(model.problem, budget=budget, rng=1)
    aw.simulate(learner, Population(model), steps=1_500, rng=1)
    worth = aw.worth(learner)
    assert worth.policy.shadow_price > 0
    assert "Still to learn, without the budget: knowing" in str(worth)
    assert worth.still_to_learn == aw.still_to_learn(learner.evidence())
    assert "Still to learn: knowing" in str(aw.worth(learner.evidence()))
