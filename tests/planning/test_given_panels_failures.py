"""Given observations, panels and failures: plans against brute force and a solver."""

import itertools
from collections import Counter

import numpy as np
import pytest

import askwise as aw
import reference
from askwise._kernels.radii import Radii
from askwise.estimation.estimates import Estimates
from askwise.planning import plan_sequential, plan_simultaneous
from random_problems import (
    ALL,
    FEATURES,
    features_of,
    random_model,
    random_problem,
)

# --- oracles: the best of all policies ------------------------------------------------------------

BATCHES, PER_BATCH = 12, 50
MOST_WAYS = 1_500


def tiny_models(batch):
    rng = np.random.default_rng([1, batch])
    for k in range(PER_BATCH):
        wanted = ALL if k % 2 else None
        yield random_model(rng, random_problem(rng, most=80, wanted=wanted))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_oracles_are_the_best_of_all_policies(batch):
    looks, listed = 0, 0
    for model in tiny_models(batch):
        problem = model.problem
        exact = 1e-9 * problem.reward_value
        one_by_one = at_once = 0.0
        for known, cases in reference.begin_alike(model):
            best = reference.best_sequential(problem, known, cases)
            one_by_one += best
            at_once += reference.best_simultaneous(problem, known, cases)
            if reference.count_ways(problem, known) <= MOST_WAYS:
                gains = [
                    reference.gain_of_way(problem, way, known, cases)
                    for way in reference.all_ways(problem, known)
                ]
                assert max(gains) == pytest.approx(best, abs=exact)
                listed += 1
        for policy, best in (
            (aw.oracle.sequential(model), one_by_one),
            (aw.oracle.simultaneous(model), at_once),
        ):
            assert policy.value == pytest.approx(best, abs=exact)
            assert policy.evaluate(model) == pytest.approx(best, abs=exact)
            looks += any(policy.looks(g) for g in range(policy.lattice.contexts))
        assert one_by_one >= at_once - exact
    assert looks >= PER_BATCH // 2
    assert listed >= PER_BATCH // 2


def test_enough_of_the_tiny_problems_have_every_feature_and_every_pair():
    had, pairs, problems, ragged, impossible, buys = Counter(), Counter(), 0, 0, 0, Counter()
    for batch in range(BATCHES):
        for model in tiny_models(batch):
            found = sorted(features_of(model.problem))
            had.update(found)
            pairs.update(itertools.combinations(found, 2))
            problems += 1
            ragged += len(set(model.probability.shape)) > 1
            impossible += bool((model.probability == 0).any())
            buys[model.problem.m] += 1
            had["alone"] += len(found) == 1
            had["none"] += not found
    assert problems >= 500
    for feature in FEATURES:
        assert had[feature] >= 80, had
    for pair in itertools.combinations(sorted(FEATURES), 2):
        assert pairs[pair] >= 30, pairs
    assert min(had["alone"], had["none"]) >= 50
    assert min(ragged, impossible) >= 100
    assert all(buys[m] >= 20 for m in range(4)), buys


# --- planners: a linear-programming solver --------------------------------------------------------


def by_state(lattice, array):
    """An array with a line for every state as a dictionary by readable state."""
    states = [frozenset(lattice.state(s).items()) for s in range(lattice.size)]
    assert len(set(states)) == lattice.size
    assert set(states) == set(reference.readable_states(lattice.problem))
    return dict(zip(states, array, strict=True))


def random_counts(rng, lattice):
    n, most = lattice.size, int(rng.choice([1, 3, 30, 1000]))
    reward = rng.random(n)
    reward[rng.random(n) < rng.random()] = 1.0  # never tried
    kept = 0.5 if rng.random() < 0.5 else 1.0
    visits = rng.integers(0, most + 1, n) * (rng.random(n) < kept)
    steps = rng.integers(0, most + 1, (n, lattice.m)) * (rng.random((n, lattice.m)) < kept)
    radii = Radii(
        outcomes=float(rng.choice([0.0, rng.random(), 10 * rng.random() * most])),
        per_outcome=float(rng.choice([0.0, rng.random()])),
    )
    return reward, visits, steps, radii


@pytest.mark.parametrize("batch", range(4))
def test_optimistic_plans_equal_linear_programming(batch):
    rng = np.random.default_rng([2, batch])
    looks, sets, had = 0, 0, Counter()
    for k in range(40):
        wanted = ALL if k % 2 else None
        problem = random_problem(rng, most=120, observations=5, wanted=wanted)
        lattice, beta = aw.states.Lattice(problem), problem.reward_value
        had.update(features_of(problem))
        reward, visits, steps, radii = random_counts(rng, lattice)
        rewards = by_state(lattice, reward)
        states, action = list(rewards), np.zeros(lattice.size, np.int16)

        plan = plan_simultaneous(lattice, Estimates(reward, action, visits, radii))
        expected = reference.plan_sets(problem, rewards, by_state(lattice, visits), radii)
        assert len(expected) == lattice.context_subsets
        best = Counter()
        for (context, names), value in expected.items():
            start = states.index(context)
            subset = lattice.subset(tuple(sorted(lattice.position(n) for n in names)))
            assert abs(plan.values[lattice.context_subset(subset, start)] - value) <= 1e-9 * beta
            best[start] = max(best.get(start, value), value)
        for start, value in best.items():
            chosen = plan.values[lattice.context_subset(int(plan.sets[start]), start)]
            assert abs(chosen - value) <= 1e-9 * beta
        sets += int((plan.sets > 0).sum())

        plan = plan_sequential(lattice, Estimates(reward, action, steps, radii))
        weight = {
            (states[s], lattice.observations[i].name, states[c]): int(steps[c, lattice.slot(c, i)])
            for s in range(lattice.size)
            for i in range(lattice.buyable)
            for c in lattice.children(s, i)
        }
        expected = reference.plan_paths(problem, rewards, weight, radii)
        for s, state in enumerate(states):
            assert abs(plan.values[s] - expected[state]) <= 1e-9 * beta
        looks += int((plan.look >= 0).sum())
    assert looks > 100
    assert sets > 10
    assert all(had[feature] >= 2 for feature in FEATURES), had
