"""The worth of observations in every world, against the exact worth of that world."""

import functools
import itertools
import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import askwise as aw
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.explain.observation_worth import ObservationWorth, cases_to_settle
from askwise.explain.world_plans import PricedStates, WorldPlans
from askwise.explain.worth_draws import (
    estimate,
    estimate_with_error,
    number_of_worlds,
    widened,
)
from askwise.explain.worth_rows import in_cases
from askwise.policy.acquisition import acquisition_of
from askwise.policy.expected_gain import acted_states, expected_gain
from askwise.policy.scores import Estimate
from askwise.simulation.environments import Population, breast_cancer
from askwise.states import Lattice
from inside import strategy_of
from random_problems import random_model, random_problem


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_one_world_says_what_its_model_says(plan):
    """Gains, shares and break-even prices equal those of `aw.worth`, which a search has checked."""
    rng, bought = np.random.default_rng(1), 0
    for _ in range(25):
        model = random_model(rng, random_problem(rng, most=48, buys=True))
        lattice = Lattice(model.problem)
        truth, beta = aw.worth(model, acquisition=plan), model.problem.reward_value
        world = WorldPlans(acquisition_of(plan), Beliefs(lattice, *model.marginals(lattice)))
        best, gain = world.best(lattice)
        spent = lattice.costs_of(np.arange(lattice.size))
        near = {"abs": 1e-8 * beta}
        assert gain == pytest.approx(truth.gain, **near)
        assert world.gain(best, spent) == pytest.approx(truth.gain, **near)
        for row in truth:
            at = PricedStates.of(lattice, row.name)
            _, without = world.best(at.without)
            free, if_free = world.best(at.free)
            assert (without, if_free) == pytest.approx((row.without, row.free), **near)
            assert world.line(best, at)[1] <= row.bought + 1e-9
            found = world.break_even([free], at, without)
            assert found == pytest.approx(row.break_even, abs=1e-6 * max(1.0, beta))
            own = world.pays_until(world.plans(at), at, without)
            assert own == pytest.approx(row.break_even, abs=1e-6 * max(1.0, beta))
            assert world.pays_until(world.plans(at), at, if_free) == 0
            bought += 0 < found < math.inf
    assert bought > 20


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_where_a_policy_acts_gives_its_gain(plan):
    rng = np.random.default_rng(2)
    for _ in range(25):
        model = random_model(rng, random_problem(rng, most=48, buys=True))
        lattice = Lattice(model.problem)
        policy = getattr(aw.oracle, plan)(model)
        p, r = model.marginals(lattice)
        spent = lattice.costs_of(np.arange(lattice.size))
        acted = acted_states(policy)
        assert p[acted.states].sum() == pytest.approx(1)
        gain = acted.gain(p, r, model.problem.reward_value, spent)
        assert gain == pytest.approx(policy.evaluate(model))


@functools.cache
def learned(steps):
    model = breast_cancer(cost=5.0)
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=steps, rng=1)
    return learner


def test_intervals_hold_what_they_are_of_and_narrow():
    few, many = (aw.worth(learned(steps)) for steps in (300, 20_000))
    for worth in (few, many):
        for row in worth:
            assert 0 <= row.adds_low <= row.adds <= row.adds_high
            assert 0 <= row.break_even_low <= row.break_even <= row.break_even_high
            assert row.adds == pytest.approx(worth.gain - row.without)
        learn = worth.still_to_learn
        assert 0 <= learn.low <= learn.value <= learn.high
    assert many.still_to_learn.value < few.still_to_learn.value / 2
    width = [np.mean([row.adds_high - row.adds_low for row in worth]) for worth in (few, many)]
    assert width[1] < width[0]
    text = str(few)
    assert "not known yet: " in text
    assert "Still to learn: knowing this population perfectly would add" in text
    assert aw.still_to_learn(learned(300)) == few.still_to_learn


def test_a_known_population_has_no_doubt():
    worth = aw.worth(breast_cancer(cost=5.0))
    assert worth.still_to_learn == (0, 0, 0)
    assert worth.is_known
    assert all(row.adds_low == row.adds_high == pytest.approx(row.adds) for row in worth)
    assert "verdict" not in str(worth)
    assert worth.demand_band("age") == []


def test_counters_alone_have_rough_intervals_and_say_nothing_of_the_rest():
    model = breast_cancer(cost=5.0)
    learner = aw.SeqOOS(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=20_000, rng=0)
    counters = CountedEvidence(learner.statistics, strategy_of(learner).acquisition.name)
    worth = aw.worth(counters)
    assert worth.still_to_learn is None
    assert worth["WHO score"].adds_low < worth["WHO score"].adds < worth["WHO score"].adds_high
    assert "Still to learn" not in str(worth)


def test_the_band_of_demand_falls_and_holds_the_share():
    worth = aw.worth(learned(3_000))
    for row in worth:
        band = worth.demand_band(row.name)
        assert band[0].price == 0
        for ends in ([piece.low for piece in band], [piece.high for piece in band]):
            assert all(a >= b - 1e-9 for a, b in itertools.pairwise(ends))
        assert all(piece.low <= piece.high for piece in band)


def test_the_band_ends_where_the_price_and_the_curve_are_well_seen():
    """After few cases the interval of a break-even price is wide."""
    worth = aw.worth(learned(100))
    wide = 0
    for row in worth:
        seen = max(row.price, row.break_even, worth.demand(row.name)[-1].price)
        end = worth.demand_band(row.name)[-1].price
        assert row.price <= end <= 2 * seen + 1e-9
        assert end <= max(row.price, row.break_even_high) + 1e-9
        wide += row.break_even_high > 4 * seen
    assert wide >= 1


def test_demand_is_one_curve_that_ends_on_its_last_line():
    """Its gains are those of one estimate, so they fall along lines that become flatter."""
    worth = aw.worth(learned(5_000))
    for row in worth:
        steps = worth.demand(row.name)
        assert len(steps) > 1
        for one, following in itertools.pairwise(steps):
            line = one.gain - one.bought * (following.price - one.price)
            assert following.gain == pytest.approx(line, abs=1e-6)


def row(price, value, low, high, fees=0.0):
    gains = {
        "gain": 10.0,
        "without": 8.0,
        "free": 12.0,
        "bought": 0.5,
        "adds": 2.0,
        "adds_if_free": 4.0,
    }
    ends = {"adds_low": 0.0, "adds_high": 3.0, "break_even_low": low, "break_even_high": high}
    return ObservationWorth(name="mri", price=price, break_even=value, fees=fees, **gains, **ends)


def test_an_interval_that_is_cut_at_0_does_not_settle_soon():
    """Break-even 14 (0 to 51) at a price of 0.05: a whole width of 51 must become 13.95."""
    cut = row(0.05, 14.0, 0.0, 51.0)
    assert cases_to_settle(cut, 1_500) == pytest.approx(1_500 * ((51 / 13.95) ** 2 - 1))
    assert cases_to_settle(row(24.0, 84.0, 0.0, 150.0), 100) == pytest.approx(100 * (2.5**2 - 1))
    # not bought even for nothing, while its price has a fee: what is shown is 0, beside 6 + 2
    idle = row(6.0, 0.0, 0.0, 14.0, fees=2.0)
    assert cases_to_settle(idle, 100) == pytest.approx(100 * (2.0**2 - 1))


def test_verdicts_and_the_cases_that_would_settle_them():
    """An interval of ±4 around 6, and a price of 4: twice the cases² ratio, worked by hand."""
    assert row(1.0, 6.0, 2.0, 10.0).verdict == "pays"
    assert row(11.0, 6.0, 2.0, 10.0).verdict == "does not pay"
    open_question = row(4.0, 6.0, 2.0, 10.0)
    assert open_question.verdict == "not known yet"
    # ±4 must become ±2: four times as many cases, so three times as many more
    assert cases_to_settle(open_question, 1_000) == pytest.approx(3_000)
    assert cases_to_settle(row(7.0, 6.0, 2.0, 10.0), 1_000) == pytest.approx(15_000)
    assert cases_to_settle(row(1.0, 6.0, 2.0, 10.0), 1_000) == 0
    assert cases_to_settle(row(6.0, 6.0, 2.0, 10.0), 1_000) == math.inf
    assert cases_to_settle(row(7.0, 6.0, 2.0, math.inf), 1_000) == math.inf
    # with fees, price and break-even price rise by the same amount
    assert cases_to_settle(row(4.0, 6.0, 2.0, 10.0, fees=1.0), 1_000) == pytest.approx(3_000)
    assert in_cases(2_600) == "some 3,000 cases more"
    assert {in_cases(x) for x in (0.01, 0.4, 1.0, 1.4)} == {"about one case more"}
    assert in_cases(1.6) == "some 2 cases more"


def test_ends_of_intervals_are_draws():
    draws = [float(x) for x in range(101)]
    assert estimate(draws, np.median(draws)) == (50, 2, 98)
    assert widened(Estimate(50, 2, 98)) == pytest.approx((50, 0, 112.4))
    assert estimate_with_error(1.0, 1.0) == pytest.approx((1, 0, 2.96))
    assert estimate_with_error(1.0, 0.0) == (1, 1, 1)


def test_large_problems_get_fewer_worlds():
    sizes = [number_of_worlds(Lattice(problem(n))) for n in (3, 8)]
    assert sizes[0] > sizes[1] >= 20


def problem(observations):
    return aw.Problem(
        observations=[aw.Observation(f"o{i}", values=[0, 1], cost=1) for i in range(observations)],
        actions=["a", "b"],
    )


def few_cases(**options):
    model = breast_cancer(cost=5.0)
    learner = aw.Learner(model.problem, rng=0, **options)
    aw.simulate(learner, Population(model), steps=600, rng=0)
    return learner


def test_beliefs_about_states_alone_judge_policies_and_say_nothing_of_the_rest():
    believed = few_cases(model="additive").evidence().standalone()
    means = believed.probability, believed.reward
    worth = aw.worth(Beliefs(believed.lattice, *means, variance=believed.variance, cases=600))
    assert worth.still_to_learn is None
    assert not worth.is_known
    for row in worth:
        assert row.adds_low <= row.adds <= row.adds_high
        assert worth.demand_band(row.name) == []
    assert any(row.adds_low < row.adds_high for row in worth)


def test_the_additive_model_says_what_is_still_to_learn():
    """Its worlds hang together: what a state earns is the mean of what comes after a look."""
    worth, known = aw.worth(few_cases(model="additive")), few_cases(model="additive").evidence()
    assert 0 < worth.still_to_learn.low < worth.still_to_learn.value < worth.still_to_learn.high
    lattice = known.lattice
    for world in known.worlds(3).learned:
        p, reward = world
        for i in range(lattice.buyable):
            after = list(lattice.children(0, i))
            np.testing.assert_allclose(p[after] @ reward[after], p[0] * reward[0], atol=1e-12)
    assert all(worth.demand_band(row.name) for row in worth)


@pytest.fixture(scope="module")
def worth_of_few():
    return aw.worth(few_cases())


def test_a_purchase_above_the_break_even_price_is_explained(worth_of_few):
    worth = copy(worth_of_few)
    row = worth.rows[0]
    assert row.bought > 0
    worth.rows = (row,)
    assert worth.disagreements() == []
    worth.rows = (replace(row, break_even=row.price / 2),)
    assert f"The tree buys {row.name} above the break-even price" in str(worth)
    assert f"The tree buys {row.name} above" in worth._repr_html_()


def test_a_purchase_that_is_not_made_below_the_break_even_price_is_explained(worth_of_few):
    worth = copy(worth_of_few)
    row = replace(worth.rows[0], bought=0.0, break_even=2 * worth.rows[0].price)
    worth.rows = (row,)
    assert f"The tree does not buy {row.name} below the break-even price: it counts" in str(worth)
    assert f"The tree does not buy {row.name} below" in worth._repr_html_()


def test_what_is_still_to_learn_is_lost_in_settled_worlds():
    """Each of them is a known population, of which the recommendation loses V* − V."""
    known = learned(300).evidence()
    lattice, policy = known.lattice, learned(300).recommend()
    worlds, lost, before = known.worlds(number_of_worlds(lattice)), [], []
    for found, kind in ((lost, worlds.settled), (before, worlds.learned)):
        for world in kind:
            best = acquisition_of("sequential").best_by_beliefs(lattice, known.in_world(world))
            found.append(best.planned_value - expected_gain(policy, *world))
    assert aw.still_to_learn(learned(300)).value == pytest.approx(np.mean(lost))
    assert np.mean(lost) < np.mean(before)


def test_after_complete_records_learned_worlds_tell_what_is_still_to_learn():
    problem = aw.Problem(
        observations=[aw.Observation("x", values=["a", "b"], cost=1)], actions=["p", "q"]
    )
    records = {"x": ["a", "b"] * 8, "p": [1, 0, 0, 0] * 4, "q": [0, 1, 1, 1] * 4}
    worlds = aw.fit(records, problem, rng=0).evidence().worlds(3)
    assert worlds.settled is worlds.learned


def test_rounding_is_nothing_to_learn():
    """Complete records that leave no doubt give differences of 1e-15, which were printed."""
    problem = aw.Problem(
        observations=[aw.Observation("x", values=["a", "b"], cost=1)],
        actions=["p", "q"],
        reward_value=100,
    )
    table = {"x": ["a", "b"] * 200, "p": [1.0, 0.0] * 200, "q": [0.0, 1.0] * 200}
    learn = aw.still_to_learn(aw.fit(table, problem, rng=0))
    assert learn == (0, 0, 0)
    assert str(learn) == "0 (0 to 0)"


@pytest.mark.parametrize("kind", [aw.Learner, aw.SeqOOS, aw.SimOOS])
def test_without_a_single_case_no_numbers_are_made_up(kind):
    learner = kind(breast_cancer(cost=5.0).problem, rng=0)
    worth = aw.worth(learner)
    assert {row.verdict for row in worth} == {"no cases yet"}
    assert all(math.isnan(row.break_even) and math.isnan(row.adds_high) for row in worth)
    first, *lines = str(worth).splitlines()[1:]
    assert first.split()[-7:] == ["never", "?", "?", "?", "no", "cases", "yet"]
    assert "There are no cases yet" in lines[-1]
    assert "to learn" not in str(worth)
    assert aw.still_to_learn(learner) is None
    page = aw.explain(learner).html()
    assert "no cases yet" in page
    assert "nan" not in page
    assert worth.demand(worth.rows[0].name) == worth.demand_band(worth.rows[0].name) == []
