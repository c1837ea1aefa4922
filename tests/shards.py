"""Cases counted in shards, and what was counted, by state."""

import numpy as np
import pytest

import askwise as aw
from askwise.counting.row_counters import BY_ROW
from askwise.simulation.environments import random_model
from askwise.testing import see
from inside import bought, full_plan, now_of
from planning.test_incremental import BETA, assert_same

KINDS = [aw.SimOOS, aw.SeqOOS]
CLOCKS = ["doubling", "exact"]
STORAGES = ["dense", "sparse"]


def model_of(seed, shape=(4, 2, 3, 5), m=3):
    rng = np.random.default_rng(seed)
    return random_model(rng, shape, max_observations=m, reward_value=BETA, highest_cost=8.0)


def finished_cases(kind, model, number, seed):
    """A log as a desk would write it: what was bought, in order; the action; the reward."""
    rng = np.random.default_rng(seed)
    learner, log = kind(model.problem), []
    for full in model.sample(rng, number).tolist():
        case = see(learner.open(), model.problem, full)
        names = [model.problem.observations[i].name for i, _ in case.path]
        mean = model.reward[tuple(full)][case.action_index]
        reward = round(float(rng.beta(1 + 4 * mean, 5 - 4 * mean)), 3)
        case.reward(reward)
        log.append(({name: case.state[name] for name in names}, case.action, reward))
    return log, learner.statistics


def count(problem, cases, *, at_once, sparse=False):
    statistics = aw.Statistics(aw.states.Lattice(problem), sparse=sparse)
    for observed, action, reward in cases:
        statistics.record(observed, action, reward, acquisition=bought(at_once))
    return statistics


def shards_of(kind, model, number=5, cases=300):
    return [finished_cases(kind, model, cases + 7 * k, seed=k)[0] for k in range(number)]


def contents(statistics):
    """Every counter as bytes, in the order of the states, without the rows of zeros."""
    states = statistics.states
    used = np.zeros(len(states), bool)
    by_row = [getattr(statistics, name)[: len(states)] for name in BY_ROW]
    for array in by_row:
        used |= array.reshape(len(array), -1).any(axis=1)
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(states[rows])]
    arrays = [statistics.subset_visits, states[rows], *(array[rows] for array in by_row)]
    return statistics.cases, [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]


def assert_same_plans(kind, total, everything, storage):
    """A learner that merged the total plans like one that counted every case itself."""
    problem = total.lattice.problem
    merged, counted = kind(problem, storage=storage), kind(problem, storage=storage)
    merged.merge(total)
    for observed, action, reward in everything:
        counted.statistics.record(observed, action, reward, acquisition=bought(kind is aw.SimOOS))
    expected = counted.replan()
    assert_same(merged.replan(), expected)
    assert (
        merged.policy.values[merged.policy.table.row(0)] == expected.values[expected.table.row(0)]
    )
    assert_same(merged.policy, full_plan(merged))
    assert now_of(merged).t == now_of(counted).t == len(everything) + 1
    one, other = merged.recommend(), counted.recommend()
    assert one.tree() == other.tree()
    assert one.value == pytest.approx(other.value, rel=1e-14)
