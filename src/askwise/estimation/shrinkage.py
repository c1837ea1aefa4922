r"""Shrinkage: a state with few records is estimated to be much like the states with one look less.

With N(a, ψ) records and Σr(a, ψ) of what they say, and ψ \ i the state that has not looked at i,

    r(a, ψ) = (Σr(a, ψ) + κ q(a, ψ)) / (N(a, ψ) + κ),     q(a, ψ) = mean_{i in dom ψ} r(a, ψ \ i),

the parents ψ \ i stand for κ records, and are estimated by theirs in turn. Without that the best of
many thin estimates would be a matter of luck.
"""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

PARENT_RECORDS = 10.0
"""κ: for how many records the states with one look less stand."""


def shrunk(
    counts: Floats | Integers, sums: Floats | Integers, prior: Floats, strength: float
) -> Floats:
    """(Σr + κ q) / (N + κ): the mean of what was counted and of κ records that say the prior."""
    means: Floats = (sums + strength * prior) / (counts + strength)
    return means


def values_of_parents(lattice: Lattice, subset: int, values: Floats) -> list[Floats]:
    """What the parents of each state of a subset have in `values`, an array for each member.

    `values` has a row for every state. The arrays have an axis for the contexts, one for each
    member and the last for the columns; they are of length 1 along the member that the parent has
    not looked at, so that they are added as arrays of the subset's own shape.
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
    """r(a, ψ) at [ψ, a], from N(a, ψ) and Σr(a, ψ): from the empty state up, parents first.

    `first` is what one more record beside all of them says.
    """
    actions = counts.shape[1]
    reward = np.empty((lattice.size, actions))
    for subset in range(lattice.subsets):
        block = lattice.block(subset)
        parents = values_of_parents(lattice, subset, reward)
        radices = lattice.layout.radices[list(lattice.members(subset))]
        prior = np.zeros((lattice.contexts, *radices, actions))
        for values in parents:
            prior += values / len(parents)
        if not parents:
            prior += (sums[block].sum(axis=0) + first) / (counts[block].sum(axis=0) + 1)
        own = prior.reshape(-1, actions)
        reward[block] = shrunk(counts[block], sums[block], own, PARENT_RECORDS)
    return reward


def variance_of_means(
    lattice: Lattice, reward: Floats, counts: Floats | Integers, graded: Floats
) -> Floats:
    """Of those means, by a Beta(½, ½) prior's posterior of as many cases; `graded` is Σr(1 − r).

    Graded rewards vary less, by the mean of r(1 − r), which is shrunk like that of r.
    """
    n = counts + PARENT_RECORDS
    middle = (reward * n + 0.5) / (n + 1)
    variance: Floats = middle * (1 - middle)
    if graded.any():
        variance -= shrink_to_parents(lattice, counts, graded, 0.0) * n / (n + 1)
    variance /= n + 2
    return variance
