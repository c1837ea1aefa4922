r"""How likely each class is in every state, estimated from complete records.

A record in which everything is known is a case in each of the states it contains, and says of every
class whether predicting it would have been right. With n_c(ψ) records of class c in state ψ (or
what they weigh), and ψ \ i the state that has not looked at i,

    p̂(c | ψ) = (n_c(ψ) + s q(c | ψ)) / (n(ψ) + s),
    q(c | ψ) ∝ exp mean_{i in dom ψ} log p̂(c | ψ \ i):

a state is estimated to be like those with one look less, as if s of its records had been seen, so
that it differs from them only where many records say so. In the empty state q is uniform. This is
the shrinkage of `estimation/shrinkage.py` with a geometric mean of the parents: a class that one of
them rules out stays unlikely.

Outcomes are weighted by n(ψ) + s Π p(x_i): where nothing was seen, looks are independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice


class ClassEstimates(NamedTuple):
    """The estimates of each state, indexed as in the lattice."""

    cases: Floats
    """n(ψ)."""
    probability: Floats
    """(states, classes): p̂(c | ψ)."""
    weight: Floats
    """What the probability of an outcome is proportional to."""
    shrinkage: float
    """s."""


def count_classes(
    lattice: Lattice, digits: Integers, labels: Integers, weights: Floats, classes: int
) -> Floats:
    """n_c(ψ) at [ψ, c] of records with these digits, a row for each record."""
    from askwise._kernels.estimation import class_shrinkage

    counts = np.zeros((lattice.size, classes))
    class_shrinkage.count_classes(lattice.layout, digits, labels, weights, counts)
    return counts


def estimate_classes(lattice: Lattice, counts: Floats, shrinkage: float) -> ClassEstimates:
    """p̂ of every state, from the empty one up: by then all that it shrinks to is there."""
    from askwise._kernels.estimation.class_shrinkage import shrink_classes

    probability, logs = np.empty(counts.shape), np.empty(counts.shape)
    shrink_classes(lattice.layout, counts, shrinkage, probability, logs)
    cases = counts.sum(axis=1)
    weight = cases + shrinkage * independent_weights(lattice, cases)
    return ClassEstimates(cases, probability, weight, shrinkage)


def independent_weights(lattice: Lattice, cases: Floats) -> Floats:
    """Π p(x_i) of every state: how often it would come if looks were independent."""
    alone = range(lattice.buyable if lattice.m else 0)
    singles = [cases[lattice.block(1 + i)] / cases[0] for i in alone]
    found = np.ones(lattice.size)
    for subset in range(1, lattice.subsets):
        members = lattice.members(subset)
        rest = lattice.block(lattice.subset(members[:-1]))
        found[lattice.block(subset)] = np.outer(found[rest], singles[members[-1]]).ravel()
    return found
