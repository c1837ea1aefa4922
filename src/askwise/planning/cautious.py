"""Finds the best policy among what was tried, by cautious estimates.

This is the plan of `planning.sequential` or `planning.simultaneous` with p̂ for the probabilities,
with lower confidence bounds for the rewards, and only over observations or sets that were bought
before. There is no optimism about what was never seen.
"""

import numpy as np

from askwise.counting import Statistics
from askwise.estimation.cautious import Cautious
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan


def plan_seen_sets(statistics: Statistics, cautious: Cautious) -> SimultaneousPlan:
    """V(I) = Σ p̂(ψ) β r(ψ) − Σ c_i, and the best set; one never bought is worth −∞."""
    lattice = statistics.lattice
    visits = statistics.visits[: len(cautious.reward)]
    worth = lattice.problem.reward_value * cautious.reward
    rows = np.flatnonzero(visits)
    rows = rows[np.argsort(statistics.states[rows])]  # sums have the same bits, however stored
    states = statistics.states[rows]
    if lattice.tariff.has_refunds:
        worth[rows] += lattice.subset_costs[cautious.subsets[rows]] - lattice.costs_of(states)
    context_subsets = np.searchsorted(lattice.layout.context_offsets, states, side="right") - 1
    bought = statistics.subset_visits
    total = np.bincount(context_subsets, (worth * visits)[rows], minlength=len(bought))
    values = total / np.maximum(1, bought) - np.repeat(lattice.subset_costs, lattice.contexts)
    values[(bought == 0) & (np.arange(len(bought)) >= lattice.contexts)] = -np.inf
    if lattice.has_requirements:
        values[~np.repeat(lattice.are_open, lattice.contexts)] = -np.inf
    return SimultaneousPlan(values, np.argmax(values.reshape(-1, lattice.contexts), axis=0))


def plan_seen_paths(statistics: Statistics, cautious: Cautious) -> SequentialPlan:
    """F(ψ) and the best next observation, by row."""
    from askwise._kernels.planning.cautious import plan_seen_paths as kernel

    lattice, n = statistics.lattice, len(cautious.reward)
    values, look = np.zeros(n), np.full(n, -1, np.int16)
    kernel(
        lattice.layout,
        statistics.counters,
        cautious.order,
        cautious.subsets,
        lattice.tariff,
        lattice.problem.reward_value * cautious.reward,
        values,
        look,
    )
    return SequentialPlan(values, look)
