"""Chooses a set of observations to buy at once.

For each subset I with |I| ≤ m, the optimistic gain of buying exactly I is the convex problem

    V̂(I) = max  β Σ_{ψ in Ψ⁺(I)} p̃(ψ) r̂*(ψ) − Σ_{i in I} c_i
           s.t. Σ |p̃(ψ) − p̂(ψ)| ≤ conf₂(N(I)),  Σ p̃(ψ) = 1,  p̃ ≥ 0,

which `_kernels.planning.optimism.optimistic_mean` solves in closed form, and Î = argmax V̂(I). With
known probabilities and rewards and zero radii it is the fixed-I oracle V(I), and Î is I*_m. If
anything is given, there is one such problem for each context. A refund in ψ is added to its reward.
A set in which a member lacks what it requires is worth −∞.
"""

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice


class SimultaneousPlan(NamedTuple):
    """The optimistic gain of every subset, and the best one."""

    values: Floats
    """V̂(I), indexed by subset and context."""
    sets: Integers
    """Î in each context: the first of the best, so the fewest observations among equals."""


def plan_set_from(
    lattice: Lattice, estimates: Estimates, start: int, *, margin: float = 0.0
) -> SimultaneousPlan:
    """Returns the best set for a case in which `start` is on file: the same set in every context.

    The weights are by slot, as for `plan_sequential`. V̂(I) is computed one observation at a time,
    because samples after different values on file are fair only one step at a time.
    """
    from askwise._kernels.planning.sets_on_file import best_set_from

    by_subset = np.empty(lattice.subsets)
    subset = best_set_from(
        lattice.layout,
        lattice.tariff,
        lattice.problem.reward_value * estimates.reward,
        estimates.weight,
        estimates.radii.outcomes,
        estimates.radii.per_outcome,
        estimates.radii.cap,
        margin,
        start,
        lattice.subset_of(start),
        by_subset,
    )
    values = np.repeat(by_subset, lattice.contexts)
    return SimultaneousPlan(values, np.full(lattice.contexts, subset))


def plan_simultaneous(
    lattice: Lattice, estimates: Estimates, *, margin: float = 0.0
) -> SimultaneousPlan:
    """V̂(I) for every subset and Î. A subset wins only if it is better by more than `margin`."""
    from askwise._kernels.planning.plans import simultaneous

    values = np.empty(lattice.context_subsets)
    sets = np.empty(lattice.contexts, np.int64)
    worth = lattice.problem.reward_value * estimates.reward
    if lattice.tariff.has_refunds:
        worth += lattice.refunds
    simultaneous(
        lattice.layout.context_offsets,
        worth,
        estimates.weight,
        lattice.set_prices,
        estimates.radii.outcomes,
        estimates.radii.per_outcome,
        estimates.radii.cap,
        margin,
        values,
        sets,
    )
    return SimultaneousPlan(values, sets)
