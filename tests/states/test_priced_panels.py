"""Panels in which observations have prices of their own, against every way to pay for them."""

import numpy as np
import pytest

import askwise as aw
import reference
from askwise.errors import CaseError, ProblemError
from askwise.states import Lattice
from askwise.testing import play
from inside import full_plan, strategy_of
from random_problems import random_model, random_problem, with_priced_panels


def models(seed, number, most=60):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        problem = random_problem(rng, most=most, observations=4, buys=True)
        yield random_model(rng, with_priced_panels(rng, problem))


@pytest.mark.parametrize("seed", range(10))
def test_spent_and_prices_are_those_of_the_cheapest_bill(seed):
    for model in models(seed, 8):
        lattice = Lattice(model.problem)
        every = lattice.costs_of(np.arange(lattice.size))
        for state in range(lattice.size):
            known = lattice.state(state)
            expected = reference.spent(model.problem, known)
            assert lattice.spent(state) == pytest.approx(expected, abs=1e-12)
            assert every[state] == pytest.approx(expected, abs=1e-12)
            for o in reference.to_look_at(model.problem, known):
                i = lattice.to_buy(o.name)
                after = reference.spent(model.problem, known | {o.name: o.values[0]})
                price = lattice.price(state, (i,))
                assert price == pytest.approx(after - expected, abs=1e-12)
                assert price >= -1e-12


@pytest.mark.parametrize("seed", range(10))
def test_oracles_are_the_best_of_all_policies(seed):
    for model in models(100 + seed, 5, most=30):
        problem, beta = model.problem, model.problem.reward_value
        contexts = reference.begin_alike(model)
        best = sum(reference.best_sequential(problem, known, c) for known, c in contexts)
        policy = aw.oracle.sequential(model)
        assert policy.value == pytest.approx(best, abs=1e-9 * beta)
        assert policy.evaluate(model) == pytest.approx(best, abs=1e-9 * beta)
        best = sum(reference.best_simultaneous(problem, known, c) for known, c in contexts)
        assert aw.oracle.simultaneous(model).value == pytest.approx(best, abs=1e-9 * beta)


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS])
def test_incremental_plans_equal_full_ones(kind):
    for model in models(7, 4):
        learner = kind(model.problem, rng=1)
        for _ in range(6):
            play(learner, model, 15, np.random.default_rng(2))
            learner.replan()
            assert (learner.policy.values == full_plan(learner).values).all()
            assert strategy_of(learner) is not None


def test_group_discounts_as_they_are_told():
    """Heart disease: 87.30 each by itself, and 1.00 after the first of the group."""
    tests = ["exang", "oldpeak", "slope"]
    problem = aw.Problem(
        observations=[aw.Observation(name, values=["a", "b"], cost=87.3) for name in tests],
        actions=["well", "ill"],
        reward_value=600.0,
        panels=[aw.Panel(dict.fromkeys(tests, 1.0), fee=86.3)],
    )
    lattice = Lattice(problem)
    spent = {k: lattice.spent(lattice.index(dict.fromkeys(tests[:k], "a"))) for k in range(4)}
    assert spent == pytest.approx({0: 0.0, 1: 87.3, 2: 88.3, 3: 89.3})
    shared = aw.Problem(
        observations=[aw.Observation(name, values=["a", "b"], cost=1.0) for name in tests],
        actions=["well", "ill"],
        reward_value=600.0,
        panels=[aw.Panel(tests, fee=86.3)],
    )
    rng = np.random.default_rng(0)
    p, r = rng.dirichlet(np.ones(8)), rng.random((8, 2))
    one, other = (aw.oracle.sequential(aw.Model(x, p, r)) for x in (problem, shared))
    assert one.value == pytest.approx(other.value)


def test_a_panel_dearer_than_its_members_is_not_paid_until_their_costs_rise():
    """It is no error: prices change, of all cases or of one, and the panel may help then."""
    looks = [aw.Observation(name, values=["a", "b"], cost=5.0) for name in ("ecg", "pulse")]
    plain = aw.Problem(observations=looks, actions=["well", "ill"], reward_value=100.0)
    panel = aw.Panel({"ecg": 3.0, "pulse": 4.0}, fee=3.0)  # it saves 2 + 1
    problem = aw.Problem(
        observations=looks, actions=["well", "ill"], reward_value=100.0, panels=[panel]
    )
    rng = np.random.default_rng(0)
    p, r = rng.dirichlet(np.ones(4)), rng.random((4, 2))
    both = {"ecg": "a", "pulse": "a"}

    def spent(priced):
        lattice = Lattice(priced)
        return lattice.spent(lattice.index(both))

    assert spent(problem) == spent(plain) == 10.0
    one, other = (aw.oracle.sequential(aw.Model(x, p, r)) for x in (problem, plain))
    assert one.value == other.value
    learner = aw.Learner(problem, rng=0)
    assert learner.open(both, prices={"ecg": 6.0}).cost == 0.0  # on file, whatever it costs
    assert spent(problem.priced({"ecg": 6.0})) == 3.0 + 3.0 + 4.0 < 11.0
    learner.reprice({"ecg": 50.0})
    assert aw.learners.from_bytes(learner.to_bytes()).problem == learner.problem
    learner.reprice({"ecg": 1.0})
    assert spent(learner.problem) == 6.0


def test_worth_of_members_goes_by_their_lowest_price():
    """Raising what it costs, within the panel and by itself, lowers the gain by just that."""
    for model in models(11, 6, most=24):
        for row in aw.worth(model):
            o = next(o for o in model.problem.observations if o.name == row.name)
            assert row.price == pytest.approx(model.problem.least_price(o))
            assert row.without <= row.gain + 1e-9 <= row.free + 2e-9
            dear = Lattice(model.problem.supposing({row.name: row.break_even + 1e-6}))
            found = aw.oracle.best_path(dear, model.beliefs(Lattice(model.problem)))
            assert row.name not in found.observations or row.break_even >= 1e9


def test_files_and_errors(tmp_path):
    problem = next(models(3, 1)).problem
    problem.save(tmp_path / "p.yaml")
    assert aw.Problem.load(tmp_path / "p.yaml") == problem
    assert " at " in problem._repr_html_()
    for bad, message in (
        ({"x": -1.0}, "the price of 'x' must be"),
        ({"x": "dear"}, "the price of 'x' must be"),
        ({}, "no observations"),
    ):
        with pytest.raises(ProblemError, match=message):
            aw.Panel(bad, fee=1.0)
    names = [f"o{i}" for i in range(3)]
    observations = [aw.Observation(n, values=[0, 1], cost=1.0) for n in names]
    nine = [aw.Panel({"o0": 0.5}, fee=0.1)] * 9
    with pytest.raises(ProblemError, match="at most 8"):
        aw.Problem(observations=observations, actions=["a", "b"], panels=nine)
    one = aw.Problem(observations=observations, actions=["a", "b"], panels=nine[:1])
    learner = aw.baselines.FixedSet(one, observations=["o0"], rng=1)
    case = learner.open()
    with pytest.raises(CaseError, match="depends on its panel"):
        case.observe({"o0": 0}, paid={"o0": 0.2})
    case.observe({"o0": 0})
    assert case.cost == pytest.approx(0.6)


@pytest.mark.parametrize("options", [{}, {"model": "additive"}, {"acquisition": "simultaneous"}])
def test_cases_cost_what_their_bill_says(options):
    model = next(models(21, 1))
    learner = aw.Learner(model.problem, **options, rng=1)
    for case in play(learner, model, 60, np.random.default_rng(4)):
        assert case.cost == pytest.approx(reference.spent(model.problem, case.state), abs=1e-12)
