r"""A state with few records is shrunk towards the states with one observation less.

Let N(a, ψ) be the number of records, Σr(a, ψ) the sum of their rewards, and ψ \ i the state without
observation i. Then

    r(a, ψ) = (Σr(a, ψ) + κ q(a, ψ)) / (N(a, ψ) + κ),     q(a, ψ) = mean_{i in dom ψ} r(a, ψ \ i).

The parents ψ \ i stand for κ records, and are shrunk towards their own parents in turn. Without
shrinkage the best of many thin estimates would be determined by chance. If observation i is given,
no case can be in the state ψ \ i. It is then the mean over the values of i. Without this, every
value of a given observation would be learned separately.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

PARENT_RECORDS = 10.0
"""κ: the number of records for which the states with one observation less count."""
MOST_GIVEN = 3
"""The most given observations that are dropped one by one. More are dropped together."""


def values_of_parents(lattice: Lattice, subset: int, values: Floats) -> list[Floats]:
    """Returns the `values` of the parents of each state of a subset, with an array for each member.

    `values` has a row for every state. The arrays have an axis for the contexts, one for each
    member and the last for the columns. They have length 1 along the member that the parent lacks,
    so that they can be added to arrays of the subset's own shape.
    """
    members = lattice.members(subset)
    radices = [int(lattice.layout.radices[i]) for i in members]
    found = []
    for k in range(len(members)):
        parents = lattice.block(lattice.subset(members[:k] + members[k + 1 :]))
        shape = (lattice.contexts, *radices[:k], 1, *radices[k + 1 :], values.shape[1])
        found.append(values[parents].reshape(shape))
    return found


def shrink_to_parents(
    lattice: Lattice, counts: Floats | Integers, sums: Floats, first: float = 0.5
) -> Floats:
    """Returns r(a, ψ) at [ψ, a], from N(a, ψ) and Σr(a, ψ). It starts with the empty state.

    `first` is the reward of one additional record of the empty state.
    """
    from askwise._kernels.estimation.records import pool_contexts, shrink_states

    layout, actions = lattice.layout, counts.shape[1]
    given = tuple(len(o.outcomes) for o in lattice.observations[lattice.buyable :])
    tables = dict[tuple[int, ...], Floats]()
    for kept in _kept_givens(len(given)):
        pool = _pool_of(given, kept)
        n, total, own = np.zeros((3, lattice.size, actions))
        pool_contexts(layout, pool, np.asarray(counts, np.float64), n)
        pool_contexts(layout, pool, sums, total)
        smaller = [table for fewer, table in tables.items() if _is_next(fewer, kept)]
        parents = np.array(smaller).reshape(-1, lattice.size, actions)
        shrink_states(layout, pool, n, total, parents, PARENT_RECORDS, first, own)
        tables[kept] = own
    return own


def _pool_of(given: tuple[int, ...], kept: tuple[int, ...]) -> Integers:
    """Returns for each context the first one with the same values of the observations kept."""
    contexts = np.arange(math.prod(given)).reshape(given)
    dropped = tuple(0 if k not in kept else slice(None) for k in range(len(given)))
    pooled = np.expand_dims(contexts[dropped], [k for k in range(len(given)) if k not in kept])
    return np.broadcast_to(pooled, given).ravel().astype(np.int64)


def _kept_givens(number: int) -> list[tuple[int, ...]]:
    """Returns the sets of given observations whose states are estimated, smaller sets first."""
    if number > MOST_GIVEN:
        return [(), tuple(range(number))]
    sizes = range(number + 1)
    return [kept for size in sizes for kept in combinations(range(number), size)]


def _is_next(fewer: tuple[int, ...], kept: tuple[int, ...]) -> bool:
    """Whether the first set of given observations is among the next smaller ones of the second."""
    is_one_less = len(fewer) == len(kept) - 1 and {*fewer} < {*kept}
    return is_one_less or (len(kept) > MOST_GIVEN and not fewer)


def variance_of_means(
    lattice: Lattice, reward: Floats, counts: Floats | Integers, graded: Floats
) -> Floats:
    """Returns the posterior variance of these means under a Beta(½, ½) prior.

    `graded` is Σr(1 − r). The variance of graded rewards is smaller by the mean of r(1 − r), which
    is shrunk like the mean of r.
    """
    n = counts + PARENT_RECORDS
    middle = (reward * n + 0.5) / (n + 1)
    variance: Floats = middle * (1 - middle)
    if graded.any():
        variance -= shrink_to_parents(lattice, counts, graded, 0.0) * n / (n + 1)
    variance /= n + 2
    return variance
