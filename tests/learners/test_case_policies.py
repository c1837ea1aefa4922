"""Policies for cases with something on file, or with prices of their own: as many as fit."""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest

import askwise as aw
from askwise.learners import case_policies as own_policies
from askwise.simulation.environments import Population
from askwise.testing import random_model
from inside import now_of, rounds_of

MODEL = random_model(np.random.default_rng(2), (3, 3, 3, 3, 3), actions=2, max_observations=4)

KINDS = {
    "sim-oos": lambda: aw.SimOOS(MODEL.problem, rng=1),
    "joint": lambda: aw.Learner(MODEL.problem, acquisition="simultaneous", rng=1),
    "psrl": lambda: aw.baselines.PSRL(MODEL.problem, acquisition="simultaneous", rng=1),
}


def starts_of(lattice):
    """Everything that may be on file, with one to four observations, two times over."""
    some = [lattice.index_of(dict(zip(chosen, digits, strict=True)))
            for n in range(1, 5)
            for chosen in itertools.combinations(range(5), n)
            for digits in itertools.product(range(3), repeat=n)]  # fmt: skip
    return some * 2


def decided(learner, start):
    policy = learner.policy
    own = rounds_of(learner).policy_for_case(
        policy, learner.statistics.lattice, start, learner.statistics.lattice.subset_of(start)
    )
    looks = own.looks(start)
    states = [start]
    for i in looks:
        states = [child for s in states for child in learner.statistics.lattice.children(s, i)]
    return looks, [own.act(state) for state in states]


@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_starts_stay_within_bounds_and_are_decided_the_same(kind, monkeypatch):
    found = {}
    for most in (2**16, 2**62):
        monkeypatch.setattr(own_policies, "MOST_BYTES", most)
        learner = KINDS[kind]()
        aw.simulate(learner, Population(MODEL), steps=300, rng=1)
        starts = starts_of(learner.statistics.lattice)
        assert len(starts) > 1500
        found[most], held = [], []
        for start in starts:
            now_of(learner).rng = np.random.default_rng(start)  # psrl draws when it plans
            found[most].append(decided(learner, start))
            assert rounds_of(learner).case_policies.bytes <= most
            held.append(len(rounds_of(learner).case_policies))
        assert held[-1] < len(starts) // 4 or most > 2**16
    assert found[2**16] == found[2**62]


def test_what_was_asked_for_last_is_kept(monkeypatch):
    learner = KINDS["sim-oos"]()
    aw.simulate(learner, Population(MODEL), steps=100, rng=1)
    policy, lattice = learner.policy, learner.statistics.lattice
    first, *others = starts_of(lattice)[:300]

    def own(start):
        return rounds_of(learner).policy_for_case(policy, lattice, start, lattice.subset_of(start))

    kept = own(first)
    size = rounds_of(learner).case_policies.bytes
    monkeypatch.setattr(own_policies, "MOST_BYTES", 10 * size)
    for start in others:
        own(start)
        assert own(first) is kept
        assert len(rounds_of(learner).case_policies) <= 10
    monkeypatch.setattr(own_policies, "MOST_BYTES", 0)  # the newest is kept whatever its size
    assert own(others[0]) is own(others[0])
    assert len(rounds_of(learner).case_policies) == 1
    learner.replan()
    assert len(rounds_of(learner).case_policies) == 0
    assert rounds_of(learner).case_policies.bytes == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_that_is_counted_is_the_memory_that_is_taken(kind):
    """Prices of their own: every case has a policy, a key and a lattice with its prices."""
    learner = KINDS[kind]()
    aw.simulate(learner, Population(MODEL), steps=100, rng=1)
    policy, lattice, kept = (
        learner.policy,
        learner.statistics.lattice,
        rounds_of(learner).case_policies,
    )

    def plan(first, end):
        for k in range(first, end):
            prices = {lattice.observations[0].name: 1.0 + k / 1024}
            rounds_of(learner).policy_for_case(policy, lattice.priced(prices), 0, 0)

    plan(0, 5)
    gc.collect()
    tracemalloc.start()
    before, counted = tracemalloc.get_traced_memory()[0], kept.bytes
    plan(5, 55)
    gc.collect()
    taken, counted = tracemalloc.get_traced_memory()[0] - before, kept.bytes - counted
    tracemalloc.stop()
    assert 0.8 * taken < counted < 1.5 * taken
