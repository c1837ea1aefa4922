"""Prices that change between cases, come with a case, or are known only when they are paid."""

import copy

import numpy as np
import pytest

import askwise as aw
from askwise.errors import AskwiseError, CaseError
from askwise.simulation.environments import random_model
from askwise.testing import play, see
from inside import now_of, strategy_of

KINDS = {
    "seq-oos": aw.SeqOOS,
    "sim-oos": aw.SimOOS,
    "ncc-ucrl2": lambda problem, **options: aw.baselines.NCCUCRL2(
        problem, exploration=0.02, **options
    ),
    "learner": aw.Learner,
    "learner, sets": lambda problem, **options: aw.Learner(
        problem, acquisition="simultaneous", **options
    ),
    "additive": lambda problem, **options: aw.Learner(problem, model="additive", **options),
}
PRICES = {"o0": 0.01, "o2": 0.3}
BAD = [
    ({"nobody": 1.0}, "nobody"),
    ({"o0": -0.1}, "o0"),
    ({"o0": float("nan")}, "o0"),
    ({"o0": float("inf")}, "o0"),
    ({"o0": 0.2, "o1": -1.0}, "o1"),
]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def taught(kind, cases=300):
    model = random_model(np.random.default_rng(3), [2, 3, 2], max_observations=2)
    learner = kind(model.problem, rng=0)
    play(learner, model, cases, np.random.default_rng(1))
    return model, learner


def told_the_same(kind, learner, prices):
    """A fresh learner of a problem at these prices, with the same statistics and luck."""
    fresh = kind(learner.problem.priced(prices), rng=0)
    now_of(fresh).statistics += learner.statistics
    mine = strategy_of(learner).arrays()
    for name, array in strategy_of(fresh).arrays().items():
        array[...] = mine[name]
    strategy_of(fresh).restored()
    now_of(fresh).rng = copy.deepcopy(now_of(learner).rng)
    now_of(fresh).opened = now_of(learner).opened
    return fresh


def decides_alike(one, other):
    """Whether both learners' policies do the same everywhere, by what they do in many cases."""
    model = random_model(np.random.default_rng(3), [2, 3, 2], max_observations=2)
    for full in model.sample(np.random.default_rng(5), 60).tolist():
        now_of(one).rng, now_of(other).rng = np.random.default_rng(9), np.random.default_rng(9)
        for learner in (one, other):
            case = see(learner.open(), learner.problem, full)
            yield case.state_index, case.action_index, case.cost
            case.cancel()


def test_a_new_price_makes_the_plan_of_a_fresh_learner(kind):
    _, learner = taught(kind)
    fresh = told_the_same(kind, learner, PRICES)
    learner.reprice(PRICES)
    assert learner.problem == fresh.problem
    assert learner.replan().tree() == fresh.replan().tree()
    assert learner.policy.value == pytest.approx(fresh.policy.value, abs=1e-12)
    decided = list(decides_alike(learner, fresh))
    assert decided[::2] == decided[1::2]


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS, aw.baselines.NCCUCRL2])
def test_prices_of_a_case_make_its_plan_alone(kind):
    _, learner = taught(kind)
    plain = learner.replan()
    fresh = told_the_same(kind, learner, PRICES)
    case = learner.open(prices=PRICES)
    assert learner.policy.tree() == plain.tree()
    if case.policy is not None:
        assert case.policy.tree() == fresh.replan().tree()
    assert learner.open(prices=dict.fromkeys(("o0", "o1", "o2"), 99.0)).wanted == ()
    assert learner.problem == plain.lattice.problem


def test_cases_keep_their_prices(kind):
    model, learner = taught(kind)
    free = dict.fromkeys(("o0", "o1", "o2"), 0.0)
    learner.reprice(free)
    cases = [learner.open() for _ in range(20)]
    own = [learner.open(prices={"o0": 0.001}) for _ in range(20)]
    learner.reprice({"o0": 5.0, "o1": 5.0, "o2": 5.0})
    for case in (*cases, *own):
        see(case, model.problem, [0, 0, 0])
    assert any(case.path for case in cases)
    assert all(case.cost == 0.0 for case in cases)
    assert [case.cost for case in own] == [0.001 if "o0" in case.state else 0.0 for case in own]


@pytest.mark.parametrize("told", [{"o0": 0.25}, {"o0": 0.5, "o1": 0.125, "o2": 0.0}])
def test_the_plan_follows_the_mean_of_what_was_paid(kind, told):
    model, learner = taught(kind, 30)
    learner.reprice(dict.fromkeys(("o0", "o1", "o2"), 0.0))  # so that it looks
    free = {o.name: o.cost for o in learner.problem.observations if o.name not in told}
    assert not any(free.values())
    paid = {name: [] for name in told}
    rng = np.random.default_rng(2)
    for full in model.sample(rng, 200).tolist():
        case = learner.open()
        cost = 0.0
        while case.wanted:
            values = {n: full[int(n[1])] for n in case.wanted}
            amounts = {n: told[n] * float(rng.integers(1, 4)) / 2 for n in values if n in told}
            for name, amount in amounts.items():
                paid[name].append(amount)
            before = learner.problem
            case.observe(values, paid=amounts)
            assert learner.problem == before  # the round goes on as it was planned
            cost += sum(amounts.values())
        assert case.cost == pytest.approx(cost + sum(free.get(n, 0.0) for n in case.state))
        case.reward(float(rng.random() < 0.5))
    means = {name: float(np.mean(amounts)) for name, amounts in paid.items() if amounts}
    assert means
    learner.replan()
    for observation in learner.problem.observations:
        expected = means.get(observation.name, 0.0)
        assert observation.cost == pytest.approx(expected, rel=0.011)
    fresh = told_the_same(kind, learner, {})
    assert learner.replan().tree() == fresh.replan().tree()


@pytest.mark.parametrize(("prices", "offender"), BAD)
def test_bad_prices_change_nothing(kind, prices, offender):
    _, learner = taught(kind, 60)

    def everything():
        drawn = now_of(learner).rng.bit_generator.state
        counted = (learner.statistics.copy(), now_of(learner).opened, now_of(learner).round, drawn)
        return learner.problem, learner.policy.tree(), set(learner.cases), counted

    before = everything()
    for attempt in (learner.reprice, lambda prices: learner.open(prices=prices)):
        with pytest.raises(AskwiseError, match=offender):
            attempt(prices)
        assert everything() == before
    case = next(c for c in (learner.open(prices={"o0": 0.0}) for _ in range(500)) if c.wanted)
    known, before = (case.state, case.wanted, case.cost), everything()
    not_seen = next(name for name in ("o0", "o1", "o2") if name not in case.wanted)
    for paid, name in ((prices, offender), ({not_seen: 0.1}, not_seen)):
        with pytest.raises(CaseError, match=f"paid.*{name}"):
            case.observe(dict.fromkeys(case.wanted, 0), paid=paid)
        assert (case.state, case.wanted, case.cost) == known
        assert everything() == before
    assert not learner.statistics.paid_counts.any()


def test_prices_are_saved(kind, tmp_path):
    model, learner = taught(kind)
    learner.reprice({"o0": 0.0, "o1": 0.015625})
    first = learner.open(prices={"o0": 0.0, "o2": 0.5})
    cases = [first, *(learner.open(prices={"o1": 0.25}) for _ in range(10))]
    while cases[0].wanted:
        seen = cases[0].wanted
        cases[0].observe(dict.fromkeys(seen, 0), paid=dict.fromkeys(seen, 0.75))
    learner.reprice({"o2": 0.125})
    learner.save(tmp_path / "learner")
    loaded = aw.load(tmp_path / "learner")
    assert loaded.problem == learner.problem
    assert loaded.statistics == learner.statistics
    for case in cases:
        again = loaded.cases[case.id]
        assert again.wanted == case.wanted
        see(case, model.problem, [1, 1, 1])
        see(again, model.problem, [1, 1, 1])
        assert (again.state_index, again.action, again.cost) == (
            case.state_index,
            case.action,
            case.cost,
        )
    runs = [play(x, model, 50, np.random.default_rng(4)) for x in (learner, loaded)]
    assert [(c.path, c.action, c.cost) for c in runs[0]] == [
        (c.path, c.action, c.cost) for c in runs[1]
    ]


def test_what_was_paid_and_does_not_fit_is_refused_whole():
    problem = random_model(np.random.default_rng(0), [2, 2]).problem
    learner = aw.baselines.FixedSet(problem, observations=["o0", "o1"])
    case = learner.open()
    before = learner.statistics.copy()
    with pytest.raises(AskwiseError, match="'o1'"):
        case.observe({"o0": 0, "o1": 0}, paid={"o0": 1.0, "o1": 1e14})
    assert learner.statistics == before
    assert case.wanted == ("o0", "o1")
    assert case.cost == 0.0
    case.observe({"o0": 0, "o1": 0}, paid={"o0": 1.0, "o1": 1e9})
    assert case.cost == 1.0 + 1e9
