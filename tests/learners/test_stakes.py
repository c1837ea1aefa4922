"""Cases whose reward counts many times: their plan is that at prices divided by the stake."""

import io
import math
import threading
import zipfile

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askwise as aw
import brute_force as all_of
from askwise.errors import CaseError
from askwise.estimation.estimates import Estimates, Radii
from askwise.learners import case_policies
from askwise.learners.cases import Case
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.policy.alike import alike_from
from askwise.simulation.environments import Population
from askwise.states import Lattice
from askwise.testing import begin, random_model, see
from inside import now_of, path_policy, rounds_of, strategy_of

KINDS = {
    "joint": aw.Learner,
    "joint, sets": lambda problem, **o: aw.Learner(problem, acquisition="simultaneous", **o),
    "additive": lambda problem, **o: aw.Learner(problem, model="additive", **o),
    "additive, sets": lambda problem, **o: aw.Learner(
        problem, model="additive", acquisition="simultaneous", **o
    ),
    "seq-oos": aw.SeqOOS,
    "sim-oos": aw.SimOOS,
}


def real_life(seed, *, rules=False):
    """Something is given, two share a panel, one may fail, another is refunded then.

    With rules one action costs something, another requires something, and so does a look.
    """
    rng = np.random.default_rng(seed)
    problem = aw.Problem(
        observations=[
            aw.Observation("age", values=["young", "old"], given=True),
            aw.Observation("lab", values=["no", "yes"], cost=0.021, fails="charged"),
            aw.Observation("scan", values=["no", "yes"], cost=0.034, fails="refunded"),
            aw.Observation(
                "visit", values=[0, 1, 2], cost=0.013, requires=["lab"] if rules else []
            ),
        ],
        actions=[
            "wait",
            aw.Action("treat", cost=0.3 if rules else 0.0),
            aw.Action("refer", requires=["scan"] if rules else []),
        ],
        panels=[aw.Panel(observations=["lab", "scan"], fee=0.017)],
        reward_value=2.0,
    )
    cells = math.prod(len(o.outcomes) for o in problem.observations)
    return aw.Model(problem, rng.dirichlet(np.ones(cells)), rng.random((cells, 3)))


def contents(learner):
    """All there is of a learner, without the time at which it is said."""
    with zipfile.ZipFile(io.BytesIO(learner.to_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def taught(kind, model, cases=300, seed=0):
    learner = kind(model.problem, rng=seed)
    aw.simulate(learner, Population(model), steps=cases, rng=seed)
    return learner


# --- what is planned ------------------------------------------------------------------------------


def test_a_plan_at_a_stake_is_the_best_of_all_policies():
    """stake · β r − cost(a) − Σ c, by brute force over all trees and sets of tiny problems."""
    rng = np.random.default_rng(19)
    did = set()
    for _ in range(100):
        model = all_of.random_model(rng, all_of.random_tiny_problem(rng, most=200))
        stake = float(np.exp(rng.normal(0, 2)))
        worth = model.problem.reward_value * stake
        told = msgspec.structs.replace(model.problem, reward_value=worth)
        told = aw.Model(told, model.probability, model.reward)
        lattice = Lattice(model.problem).at_stake(stake)
        p, reward = model.marginals(Lattice(model.problem))
        net = lattice.net(reward)
        best, action = net.max(axis=1), net.argmax(axis=1).astype(np.int16)
        by_slot = np.repeat(p[:, None], max(1, lattice.m), axis=1)
        paths = plan_sequential(lattice, Estimates(best, action, by_slot, Radii()))
        sets = plan_simultaneous(lattice, Estimates(best, action, p, Radii()))
        begin = range(lattice.contexts)
        gain = sum(p[g] * paths.values[g] for g in begin)
        most = all_of.best_of_all(told, all_of.all_trees, all_of.follow_tree)
        assert gain == pytest.approx(most, abs=1e-9 * max(1.0, worth))
        gain = sum(p[g] * sets.values[lattice.context_subset(int(sets.sets[g]), g)] for g in begin)
        most = all_of.best_of_all(told, all_of.all_set_policies, all_of.follow_set)
        assert gain == pytest.approx(most, abs=1e-9 * max(1.0, worth))
        did.add((int(paths.look[0]), int(action[0])))
    assert len(did) > 3


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.3, 1.5, 4.0]))
def test_every_case_is_decided_as_by_a_full_plan_for_its_stake(kind, seed, spread):
    """Whatever plans are kept, what cases try included; and just as likely."""
    rules = "additive" not in kind and seed % 4 == 1
    model = real_life(seed, rules=rules) if seed % 2 else random_model(
        np.random.default_rng(seed), [2, 3, 2, 2], max_observations=3, highest_cost=0.2
    )  # fmt: skip
    learner = taught(KINDS[kind], model, 120 + seed % 200, seed)
    learner.replan()
    rounds, strategy, now = rounds_of(learner), strategy_of(learner), now_of(learner)
    rng = np.random.default_rng(seed)
    for full in model.sample(rng, 40).tolist():
        stake = float(np.exp(rng.normal(0.0, spread)))
        rounds.is_over, now.lengths = False, (0, 0)
        exact = strategy.plan_for_case(now, rounds.policy, now.lattice.at_stake(stake), 0)
        case = opened(learner, full, stake)  # it may act at once, and time goes on
        twin = Case(0, exact, Nobody(), case.tag, case.start)
        for x in (case, twin):
            see(x, model.problem, full)
        assert (case.path, case.action_index, case.propensity) == (
            twin.path, twin.action_index, twin.propensity
        )  # fmt: skip
        acting = model.problem.actions[case.action_index].cost
        assert case.cost == acting + now.lattice.spent(case.state_index)
        case.cancel()


class Nobody:
    """Counts nothing."""

    lock = threading.RLock()

    def acted(self, case):
        pass


def opened(learner, full, stake):
    pairs = zip(learner.problem.observations, full, strict=True)
    return learner.open({o.name: o.outcomes[x] for o, x in pairs if o.given}, stake=stake)


def test_few_plans_do_for_many_stakes():
    """Of a thousand stakes within a factor of a hundred, most need no plan of their own."""
    model = random_model(np.random.default_rng(3), [2, 3, 2], actions=2, highest_cost=0.1)
    learner = taught(aw.Learner, model, 2000)
    learner.replan()
    planned, plan = [], strategy_of(learner).plan_for_case
    strategy_of(learner).plan_for_case = lambda *args: planned.append(1) or plan(*args)
    for stake in np.exp(np.random.default_rng(0).uniform(0, 5, 1000)).tolist():
        rounds_of(learner).is_over, now_of(learner).lengths = False, (0, 0)
        learner.open(stake=stake).cancel()
    assert len(rounds_of(learner).case_policies) == len(planned) < 150


def test_plans_for_stakes_stay_within_bounds(monkeypatch):
    monkeypatch.setattr(case_policies, "MOST_BYTES", 2**15)
    model = random_model(np.random.default_rng(3), [3, 3, 3], actions=2, highest_cost=0.1)
    learner = taught(aw.SeqOOS, model, 100)
    kept = rounds_of(learner).case_policies
    sizes = []
    for stake in range(2, 80):
        learner.open(stake=stake).cancel()
        assert kept.bytes <= 2**15
        sizes.append(len(kept))
    assert 1 < max(sizes) < 40


# --- cases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_more_at_stake_buys_more(kind):
    model = random_model(np.random.default_rng(5), [2, 2], actions=2, highest_cost=0.0)
    problem = model.problem.priced({"o0": 0.4, "o1": 0.4})
    learner = KINDS[kind](problem, rng=0)
    for full in model.sample(np.random.default_rng(1), 400).tolist():
        case = see(learner.open(prices={"o0": 0.0, "o1": 0.0}), problem, full)
        case.reward(float(full[0] == case.action_index))
    spent = {}
    for stake in (1e-6, 1e6):
        cases = [see(learner.open(stake=stake), problem, [0, 0]) for _ in range(50)]
        spent[stake] = sum(case.cost for case in cases)
        assert {case.stake for case in cases} == {stake}
    assert spent[1e-6] < spent[1e6]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stake_of_one_changes_nothing(kind):
    model = real_life(2)
    plain, staked = (taught(KINDS[kind], model) for _ in range(2))
    rng = np.random.default_rng(1)
    for full in model.sample(rng, 100).tolist():
        one, other = begin(plain, full), opened(staked, full, 1)
        for case in (one, other):
            see(case, model.problem, full).reward(float(full[1] % 2))
        assert (one.path, one.action_index, one.propensity) == (
            other.path, other.action_index, other.propensity
        )  # fmt: skip
    assert plain.statistics == staked.statistics
    assert contents(plain) == contents(staked)


def test_rewards_are_counted_per_unit_of_stake():
    learner = aw.SeqOOS(real_life(1).problem)
    case = see(learner.open({"age": "old"}, stake=10_000), learner.problem, [0, 0, 0, 0])
    case.reward(0.25)
    assert learner.statistics.reward_sums.sum() == 2**28
    assert learner.statistics.action_counts.sum() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_open_cases_keep_the_plan_for_their_stake(kind):
    """Over the end of a round, and through a file."""
    model = real_life(4)
    learner = taught(KINDS[kind], model, 400)
    learner.replan()
    rng = np.random.default_rng(3)
    stakes = np.exp(rng.normal(1.0, 1.0, 60)).tolist()
    fulls = model.sample(rng, 60).tolist()
    cases, expected = [], []
    for full, stake in zip(fulls, stakes, strict=True):
        rounds_of(learner).is_over, now_of(learner).lengths = False, (0, 0)
        cases.append(opened(learner, full, stake))
        at = now_of(learner).lattice.at_stake(stake)
        policy = rounds_of(learner).policy
        expected.append(strategy_of(learner).plan_for_case(now_of(learner), policy, at, 0).copy())
    loaded = aw.learners.from_bytes(learner.to_bytes())
    aw.simulate(learner, Population(model), steps=300, rng=5)
    for case, full, exact in zip(cases, fulls, expected, strict=True):
        again = loaded.cases[case.id]
        assert again.stake == case.stake
        for x in (case, again):
            see(x, model.problem, full)
            assert x.action_index == exact.action_in_case(x.state_index, x.tag)
            assert exact.looks_in_case(x.state_index, x.tag) == ()
        assert (case.path, case.propensity) == (again.path, again.propensity)


@pytest.mark.parametrize(
    ("stake", "message"),
    [
        (0, "stake must be a finite number above 0, got 0"),
        (-1.0, "stake must be a finite number above 0, got -1.0"),
        (float("nan"), "stake must be a finite number above 0, got nan"),
        (float("inf"), "stake must be a finite number above 0, got inf"),
        ("much", "stake must be a finite number above 0, got 'much'"),
        (None, "stake must be a finite number above 0, got None"),
        (True, "stake must be a finite number above 0, got True"),
        (6e8, r"stake must be from 5e-10 to 500,000,000, .* got 600000000.0: .*unit"),
        (1e-10, "stake must be from 5e-10 to 500,000,000"),
    ],
    ids=str,
)
def test_bad_stakes_are_refused_and_change_nothing(stake, message):
    learner = taught(aw.Learner, real_life(1), 50)
    before = contents(learner)
    with pytest.raises(CaseError, match=message):
        learner.open({"age": "old"}, stake=stake)
    assert contents(learner) == before


def test_alike_is_the_same_in_all_that_is_reached():
    """By the definition, on random tables of which a part was changed."""
    rng = np.random.default_rng(8)
    lattice, found = Lattice(real_life(0).problem), set()
    for _ in range(20):
        looks = np.full(lattice.size, -1, np.int16)
        for state in range(lattice.size):
            rest = [i for i in range(lattice.buyable) if len(lattice.children(state, i))]
            if rest and rng.random() < 0.8:
                looks[state] = rng.choice(rest)
        actions = rng.integers(2, size=lattice.size).astype(np.int16)
        others, other_actions = looks.copy(), actions.copy()
        others[rng.integers(lattice.size, size=3)] = -1
        other_actions[rng.integers(lattice.size, size=3)] ^= 1
        values = np.zeros(lattice.size)
        one = path_policy(lattice, looks, actions, values)
        other = path_policy(lattice, others, other_actions, values)

        def is_alike(state, one=one, other=other):
            if one.choice(state) != other.choice(state):
                return False
            reached = [child for i in one.looks(state) for child in lattice.children(state, i)]
            return all(is_alike(child, one, other) for child in reached)

        alike = alike_from(one, other)
        assert alike.tolist() == [is_alike(state) for state in range(lattice.size)]
        found.update(alike[: lattice.contexts].tolist())
    assert found == {True, False}
