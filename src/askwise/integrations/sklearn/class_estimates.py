r"""The probability of each class in every state, estimated from complete records.

A complete record is a case in each of the states that it contains. It shows for every class whether
predicting it would have been right. Let n_c(ψ) be the number, or the weight, of the records of
class c in state ψ, and ψ \ i the state without observation i. Then

    p̂(c | ψ) = (n_c(ψ) + s q(c | ψ)) / (n(ψ) + s),
    q(c | ψ) ∝ exp mean_{i in dom ψ} log p̂(c | ψ \ i).

So a state is shrunk towards the states with one observation less, which count for s records. It
differs from them only if it has many records. In the empty state q is uniform. This is the
shrinkage of `estimation/shrinkage.py` with a geometric mean of the parents: a class that one parent
rules out stays unlikely.

The strength s may be a constant. Otherwise it is chosen for each set of observations to maximise

    log p(s) + Σ_ψ log Γ(s) − log Γ(n + s) + Σ_c log Γ(n_c + s q_c) − log Γ(s q_c),

the log marginal likelihood under a Dirichlet prior with mean q and the strength of s records. Here
p(s) is lognormal around `USUAL_STRENGTH`. The strength is small where the observations of a set add
information to each other, and large where they do not.

Outcomes are weighted by n(ψ) + s Π p(x_i). Where there are no records, observations are taken as
independent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

USUAL_STRENGTH = 8.0
"""The prior median of s."""
DOUBT = math.log(4.0)
"""The prior standard deviation of log s."""
STRENGTHS = tuple(2.0**k for k in range(-1, 9))
"""The candidate strengths, of which each subset takes the likeliest."""


class ClassEstimates(NamedTuple):
    """The estimates of each state, indexed as in the lattice."""

    cases: Floats
    """n(ψ)."""
    probability: Floats
    """(states, classes): p̂(c | ψ)."""
    weight: Floats
    """The weight of the state, to which the probability of an outcome is proportional."""
    strength: Floats
    """s of each subset of the lattice."""


def count_classes(
    lattice: Lattice, digits: Integers, labels: Integers, weights: Floats, classes: int
) -> Floats:
    """Returns n_c(ψ) at [ψ, c]. `digits` has a row for each record."""
    from askwise._kernels.estimation import class_shrinkage

    counts = np.zeros((lattice.size, classes))
    class_shrinkage.count_classes(lattice.layout, digits, labels, weights, counts)
    return counts


def estimate_classes(lattice: Lattice, counts: Floats, shrinkage: float | None) -> ClassEstimates:
    """Estimates p̂ of every state, from the empty state up, so that parents come first.

    If `shrinkage` is None, each subset takes the likeliest of `STRENGTHS`.
    """
    from askwise._kernels.estimation.class_shrinkage import shrink_classes

    tried: Floats = np.array(STRENGTHS if shrinkage is None else [shrinkage])
    believed = -((np.log(tried / USUAL_STRENGTH) / DOUBT) ** 2) / 2
    probability, logs = np.empty(counts.shape), np.empty(counts.shape)
    strength = np.empty(lattice.subsets)
    shrink_classes(lattice.layout, counts, tried, believed, strength, probability, logs)
    cases = counts.sum(axis=1)
    alone = USUAL_STRENGTH if shrinkage is None else shrinkage
    weight = cases + alone * independent_weights(lattice, cases)
    return ClassEstimates(cases, probability, weight, strength)


def independent_weights(lattice: Lattice, cases: Floats) -> Floats:
    """Returns Π p(x_i) of every state: its probability if observations were independent."""
    alone = range(lattice.buyable if lattice.m else 0)
    singles = [cases[lattice.block(1 + i)] / cases[0] for i in alone]
    found = np.ones(lattice.size)
    for subset in range(1, lattice.subsets):
        members = lattice.members(subset)
        rest = lattice.block(lattice.subset(members[:-1]))
        found[lattice.block(subset)] = np.outer(found[rest], singles[members[-1]]).ravel()
    return found
