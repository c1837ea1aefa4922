"""The worth of observations is no number that is impossible in every population."""

import math

import numpy as np
import pytest

import askwise as aw
from askwise.simulation.environments import Population
from random_problems import random_model, random_problem

CONTRACTS = [None, "charged", "refunded"]


def six_of_which_one_matters(fails=None, action_cost=0.0, price=1.0):
    """Six observations of three values, which are too many for a model of all combinations."""
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{k}", values=list("abc"), cost=price, fails=fails) for k in range(6)
        ],
        actions=["p", aw.Action("q", cost=action_cost)],
        max_observations=3,
        reward_value=50,
    )
    shape = (3 if fails is None else 4,) * 6
    first = np.indices(shape)[0]
    right = np.stack([0.2 + 0.5 * (first == 1), 0.7 - 0.5 * (first == 1)], axis=-1)
    return aw.Model(problem, np.full(shape, 1.0 / np.prod(shape)), right)


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS])
@pytest.mark.parametrize("fails", CONTRACTS)
@pytest.mark.parametrize("stake", [1.0, 4.0])
def test_counters_give_no_price_above_all_that_can_be_gained(kind, fails, stake):
    """A case that acts instead of looking loses at most β, and the dearest action costs 3."""
    model = six_of_which_one_matters(fails, action_cost=3.0)
    learner = kind(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=300, rng=7)
    worth = aw.worth(learner, stake=stake)
    most = 50 * stake + 3
    highs = [row.break_even_high for row in worth]
    assert any(row.bought == 0 for row in worth)
    if fails == "refunded":
        assert math.inf in highs
        assert "or more" in str(worth)
    else:
        assert max(highs) <= most
        assert all(row.adds_high <= most - row.price for row in worth)
    assert all(row.adds_high <= most for row in worth)
    for row in worth:
        assert 0 <= row.break_even_low <= row.break_even <= row.break_even_high
        assert row.adds_low <= row.adds <= row.adds_high
    assert aw.explain(learner, stake=stake).html()


def test_an_unknown_price_does_not_settle_because_it_is_cut():
    """The interval ends at β, which says nothing of how soon it would narrow."""
    model = six_of_which_one_matters(price=20.0)
    learner = aw.SeqOOS(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=300, rng=7)
    unseen = [row for row in aw.worth(learner) if row.break_even == 0 and row.break_even_high >= 50]
    assert unseen
    assert {row.cases_to_settle for row in unseen} == {math.inf}


def test_a_price_above_all_that_can_be_gained_does_not_pay():
    model = six_of_which_one_matters(price=60.0)
    learner = aw.SeqOOS(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=300, rng=7)
    rows = aw.worth(learner).rows
    assert {row.verdict for row in rows} == {"does not pay"}
    assert {row.cases_to_settle for row in rows} == {0}


def two_observations(seed=1):
    """Two observations with rewards of 0 or 1 in each combination."""
    problem = aw.Problem(
        observations=[
            aw.Observation("x", values=["a", "b"], cost=1),
            aw.Observation("y", values=["a", "b", "c"], cost=2),
        ],
        actions=["p", "q"],
        reward_value=100,
    )
    rng = np.random.default_rng(seed)
    weights = rng.random((2, 3))
    return aw.Model(problem, weights / weights.sum(), np.round(rng.random((2, 3, 2))))


def test_what_pays_adds_something_over_its_whole_interval():
    """The break-even price is above the price in nearly all worlds, so it adds something there."""
    model = two_observations()
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=5_000, rng=1)
    worth = aw.worth(learner)
    row = worth["x"]
    assert row.verdict == "pays"
    assert 0 < row.adds_low <= row.adds
    assert row.adds_low == pytest.approx(min(worth._sensitivity.draws.of["x"].adds))


def few_records(seed):
    """Thirty complete records of a random population."""
    rng = np.random.default_rng([10, seed])
    model = random_model(rng, random_problem(rng, most=48, buys=True))
    problem, seen = model.problem, model.sample(rng, 30)
    table = {
        o.name: [o.outcomes[x] for x in seen[:, i]] for i, o in enumerate(problem.observations)
    }
    for a, action in enumerate(problem.actions):
        is_good = rng.random(30) < model.reward[(*seen.T, a)]
        table[action.name] = [problem.as_money(float(good)) for good in is_good]
    return aw.fit(table, problem, rng=0)


@pytest.mark.parametrize("seed", [0, 2, 9, 17, 19])
def test_nothing_adds_less_if_it_is_free(seed):
    worth = aw.worth(few_records(seed))
    for draws in worth._sensitivity.draws.of.values():
        assert np.all(np.array(draws.adds_if_free) >= np.array(draws.adds) - 1e-9)
    for row in worth:
        assert row.free >= row.gain - 1e-9


def after_equal_rewards(reward, **options):
    """Sixty cases that all earned the same."""
    problem = aw.Problem(
        observations=[aw.Observation(n, values=["a", "b"], cost=1) for n in "xy"],
        reward_value=100,
        **{"actions": ["p", "q"]} | options,
    )
    learner, rng = aw.Learner(problem, rng=0), np.random.default_rng(0)
    for _ in range(60):
        case = learner.open()
        while case.wanted:
            case.observe({name: "ab"[rng.integers(2)] for name in case.wanted})
        case.reward(problem.as_money(reward))
    return learner


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize(
    ("options", "lowest"),
    [({}, 0.0), ({"actions": [aw.Action("p", cost=2), aw.Action("q", cost=3)]}, -2.0)],
)
@pytest.mark.parametrize("stake", [1.0, 5.0])
def test_gains_of_other_policies_are_possible(reward, options, lowest, stake):
    """No policy gains less than buying nothing, and none more than β less the cheapest action."""
    worth = aw.worth(after_equal_rewards(reward, **options), stake=stake)
    for row in worth:
        assert max(worth.blind_gain, lowest) <= row.without <= row.gain <= row.free
        assert row.free <= 100 * stake + lowest
        assert row.adds_low <= row.adds <= row.adds_if_free


@pytest.mark.parametrize("seed", [2, 3, 4, 5, 7, 8])
def test_gains_after_few_records_are_possible(seed):
    worth = aw.worth(few_records(seed))
    lowest, beta = worth.problem.lowest_reward, worth.problem.reward_value
    for row in worth:
        assert worth.blind_gain - 1e-9 <= row.without <= row.gain <= row.free <= lowest + beta
        assert row.adds >= row.gain - row.without - 1e-9


@pytest.mark.parametrize("seed", [2, 6, 7])
def test_both_intervals_agree_on_whether_it_pays(seed):
    """An observation adds something just where its break-even price is above its price."""
    rng, rows = np.random.default_rng(seed), 2_000
    bad = rng.random(rows) < 0.03

    def seen(if_bad, else_, one, other):
        return np.where(rng.random(rows) < np.where(bad, if_bad, else_), one, other).tolist()

    log = {
        "channel": seen(0.8, 0.3, "agent", "app"),
        "flight": seen(0.7, 0.15, "ok", "late"),
        "file": seen(0.7, 0.1, "odd", "fits"),
        "pay": np.where(bad, -300.0, 8.0).tolist(),
        "settle": np.where(bad, -120.0, 3.0).tolist(),
        "deny": np.where(bad, 0.0, -60.0).tolist(),
    }
    problem = aw.Problem(
        observations=[
            aw.Observation("channel", values=["app", "agent"], given=True),
            aw.Observation("flight", values=["late", "ok"], cost=0.4),
            aw.Observation("file", values=["fits", "odd"], cost=6.0),
        ],
        rewards=(-300.0, 8.0),
        actions=["pay", aw.Action("settle", cost=5.0), aw.Action("deny", requires=["file"])],
    )
    fit = aw.fit(log, problem, rng=0)
    for stake in (1.0, 2.0):
        for row in aw.worth(fit, stake=stake):
            assert (row.adds_low > 0) == (row.break_even_low > row.price) == (row.verdict == "pays")
            assert row.adds_low <= row.adds <= row.adds_high
