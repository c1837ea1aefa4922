r"""How likely each class is in every state, estimated from complete records.

A record in which everything is known is a case in each of the states it contains, and says of every
class whether predicting it would have been right. With n_c(ψ) records of class c in state ψ, and
ψ \ i the state that has not looked at i,

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
from askwise.estimation.shrinkage import shrunk, values_of_parents
from askwise.states import Lattice
from askwise.states.layout import Step

_LEAST = 1e-300
"""So that a probability of 0 has a logarithm."""


class ClassEstimates(NamedTuple):
    """The estimates of each state, indexed as in the lattice."""

    counts: Integers
    """(states, classes): n_c(ψ)."""
    probability: Floats
    """(states, classes): p̂(c | ψ), the mean reward of predicting c."""
    weight: Floats
    """What the probability of an outcome is proportional to."""
    shrinkage: float
    """s."""


def count_classes(lattice: Lattice, digits: Integers, labels: Integers, classes: int) -> Integers:
    """n_c(ψ) of records with these digits, a row for each observation of the lattice."""
    counts = np.empty((lattice.size, classes), np.int64)
    for subset in range(lattice.subsets):
        states = lattice.states(subset)
        place = (lattice.states_of(subset, digits.T) - states.start) * classes + labels
        found = np.bincount(place, minlength=len(states) * classes)
        counts[lattice.block(subset)] = found.reshape(-1, classes)
    return counts


def estimate_classes(lattice: Lattice, counts: Integers, shrinkage: float) -> ClassEstimates:
    """p̂ of every state, from the empty one up: by then all that it shrinks to is there."""
    classes = counts.shape[1]
    probability, logs = np.empty(counts.shape), np.empty(counts.shape)
    weight = counts.sum(axis=1).astype(np.float64)
    cases = weight[0]
    alone = range(lattice.buyable if lattice.m else 0)
    singles = [weight[lattice.block(1 + i)] / cases for i in alone]
    for subset in range(lattice.subsets):
        here, members = lattice.block(subset), lattice.members(subset)
        pooled: Floats = np.zeros((1, *lattice.layout.radices[list(members)], classes))
        for parents in values_of_parents(lattice, subset, logs):
            pooled += parents
        pooled = pooled.reshape(-1, classes) / max(len(members), 1)
        probability[here] = class_probabilities(counts[here], pooled, shrinkage)
        logs[here] = np.log(np.maximum(probability[here], _LEAST))
        independent = np.ones(1)
        for i in members:
            independent = np.multiply.outer(independent, singles[i])
        weight[here] += shrinkage * independent.ravel()
    return ClassEstimates(counts, probability, weight, shrinkage)


def class_probabilities(counts: Integers, pooled: Floats, shrinkage: float) -> Floats:
    """p̂ from counts and the mean logarithm of what is shrunk to; classes along the last axis."""
    prior = np.exp(pooled - pooled.max(axis=-1, keepdims=True))
    prior /= prior.sum(axis=-1, keepdims=True)
    return shrunk(counts.sum(axis=-1, keepdims=True), counts, prior, shrinkage)


class LeaveOneOut:
    """p̂ as it would be without one case: the same recursion, one record of a class less.

    A case that is in ψ is in every state that ψ contains, so what its absence does to a state
    depends on nothing but its class.
    """

    def __init__(self, lattice: Lattice, estimates: ClassEstimates) -> None:
        self._lattice = lattice
        self._estimates = estimates
        self._logs: dict[int, Floats] = {}
        self._steps: dict[int, list[Step]] = {}

    def right(self, state: int) -> int:
        """How many of the cases in a state the others there would have classified rightly."""
        guesses = self._logs_without(state).argmax(axis=1)
        counts = self._estimates.counts[state]
        return int(counts[guesses == np.arange(len(counts))].sum())

    def _logs_without(self, state: int) -> Floats:
        """(classes, classes): log p̂(· | ψ) without one case of each class."""
        if state not in self._logs:
            counts = self._estimates.counts[state]
            less = np.maximum(counts - np.eye(len(counts), dtype=np.int64), 0)
            parents = self._parents(state)
            pooled = np.zeros(less.shape)
            for parent in parents:
                pooled += self._logs_without(parent)
            without = class_probabilities(
                less, pooled / max(len(parents), 1), self._estimates.shrinkage
            )
            self._logs[state] = np.log(np.maximum(without, _LEAST))
        return self._logs[state]

    def _parents(self, state: int) -> list[int]:
        """The states with one look less."""
        subset = self._lattice.subset_of(state)
        if subset not in self._steps:
            members = self._lattice.members(subset)
            rests = [members[:j] + members[j + 1 :] for j in range(len(members))]
            self._steps[subset] = [
                self._lattice.step(self._lattice.subset(rest), i)
                for rest, i in zip(rests, members, strict=True)
            ]
        return [step.parent(state) for step in self._steps[subset]]
