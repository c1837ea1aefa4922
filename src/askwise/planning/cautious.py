"""The best policy among what was tried, by cautious estimates.

The plan of `planning.sequential` or `planning.simultaneous` with p̂ for the probabilities, with
rewards that are exceeded with confidence, and over nothing but the looks or the sets that were ever
bought: optimism about what was never seen has no place here.
"""

import numpy as np

from askwise.estimation.cautious import Cautious
from askwise.planning.sequential import SequentialPlan
from askwise.planning.simultaneous import SimultaneousPlan
from askwise.statistics import Statistics


def plan_seen_sets(statistics: Statistics, cautious: Cautious) -> SimultaneousPlan:
    """V(I) = Σ p̂(ψ) β r(ψ) − Σ c_i, and the best set; one never bought is worth −∞."""
    lattice = statistics.lattice
    visits = statistics.visits[: len(cautious.reward)]
    earned = lattice.problem.reward_value * cautious.reward * visits
    rows = np.flatnonzero(visits)
    rows = rows[np.argsort(statistics.states[rows])]  # sums have the same bits, however stored
    total = np.bincount(cautious.subsets[rows], earned[rows], minlength=lattice.subsets)
    bought = statistics.subset_visits
    values = total / np.maximum(1, bought) - lattice.subset_costs
    values[(bought == 0) & (np.arange(lattice.subsets) > 0)] = -np.inf
    return SimultaneousPlan(values, int(np.argmax(values)))


def plan_seen_paths(statistics: Statistics, cautious: Cautious) -> SequentialPlan:
    """F(ψ) and the best next look, by row."""
    from askwise._kernels.cautious import plan_seen_paths as kernel

    lattice, n = statistics.lattice, len(cautious.reward)
    values, following = np.zeros(n), np.full(n, -1, np.int16)
    kernel(
        lattice.layout,
        statistics.counters,
        cautious.order,
        cautious.subsets,
        lattice.costs,
        lattice.problem.reward_value * cautious.reward,
        values,
        following,
    )
    return SequentialPlan(values, following)
