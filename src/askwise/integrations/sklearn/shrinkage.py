r"""What complete records say about every state, believed as far as they go.

A record in which everything is known is a case in each of the states it contains, and says of every
class whether predicting it would have been right. With n_c(ψ) records of class c in state ψ, and
ψ \ i the state that has not looked at i,

    p̂(c | ψ) = (n_c(ψ) + s q(c | ψ)) / (n(ψ) + s),
    q(c | ψ) ∝ exp mean_{i in dom ψ} log p̂(c | ψ \ i):

a state is believed to be like those with one look less, as if s of its records had been seen, so
that it differs from them only where many records say so. In the empty state q is uniform.

Outcomes are weighted by n(ψ) + s Π p(x_i): where nothing was seen, looks are independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice
from askwise.states.layout import Step

_LEAST = 1e-300


class Beliefs(NamedTuple):
    """What is believed of each state, indexed as in the lattice."""

    counts: Integers
    """(states, classes): n_c(ψ)."""
    probability: Floats
    """(states, classes): p̂(c | ψ), the mean reward of predicting c."""
    weight: Floats
    """What the probability of an outcome is proportional to."""
    shrinkage: float
    """s."""


def count(lattice: Lattice, digits: Integers, labels: Integers, classes: int) -> Integers:
    """n_c(ψ) of records with these digits, a row for each observation of the lattice."""
    layout = lattice.layout
    counts = np.empty((lattice.size, classes), np.int64)
    for subset in range(lattice.subsets):
        place = labels.copy()
        for i, stride in zip(lattice.members(subset), layout.strides[subset], strict=False):
            place += digits[i] * (stride * classes)
        block = lattice.states(subset)
        found = np.bincount(place, minlength=len(block) * classes)
        counts[block.start : block.stop] = found.reshape(-1, classes)
    return counts


def believe(lattice: Lattice, counts: Integers, shrinkage: float) -> Beliefs:
    """p̂ of every state, from the empty one up: by then all that it shrinks to is there."""
    classes = counts.shape[1]
    probability, logs = np.empty(counts.shape), np.empty(counts.shape)
    weight = counts.sum(axis=1).astype(np.float64)
    cases = weight[0]
    alone = range(lattice.buyable if lattice.m else 0)
    singles = [weight[slice_of(lattice, 1 + i)] / cases for i in alone]
    for subset in range(lattice.subsets):
        members = lattice.members(subset)
        shape = [int(lattice.layout.radices[i]) for i in members]
        pooled, independent = np.zeros((*shape, classes)), np.ones(1)
        for place, i in enumerate(members):
            without = slice_of(lattice, lattice.subset(members[:place] + members[place + 1 :]))
            one_less = [*shape[:place], 1, *shape[place + 1 :], classes]
            pooled += logs[without].reshape(one_less)
            independent = np.multiply.outer(independent, singles[i])
        here = slice_of(lattice, subset)
        pooled = pooled.reshape(-1, classes) / max(len(members), 1)
        probability[here] = shrunk(counts[here], pooled, shrinkage)
        logs[here] = np.log(np.maximum(probability[here], _LEAST))
        weight[here] += shrinkage * independent.ravel()
    return Beliefs(counts, probability, weight, shrinkage)


def slice_of(lattice: Lattice, subset: int) -> slice:
    """The states of a subset."""
    states = lattice.states(subset)
    return slice(states.start, states.stop)


def shrunk(counts: Integers, pooled: Floats, shrinkage: float) -> Floats:
    """p̂ from counts and the mean logarithm of what is shrunk to; classes along the last axis."""
    prior = np.exp(pooled - pooled.max(axis=-1, keepdims=True))
    prior /= prior.sum(axis=-1, keepdims=True)
    total = counts.sum(axis=-1, keepdims=True) + shrinkage
    found: Floats = (counts + shrinkage * prior) / total
    return found


class LeftOut:
    """p̂ as it would be without one case: the same recursion, one record of a class less.

    A case that is in ψ is in every state that ψ contains, so what its absence does to a state
    depends on nothing but its class.
    """

    def __init__(self, lattice: Lattice, beliefs: Beliefs) -> None:
        self._lattice = lattice
        self._beliefs = beliefs
        self._logs: dict[int, Floats] = {}
        self._steps: dict[int, list[Step]] = {}

    def right(self, state: int) -> int:
        """How many of the cases in a state the others there would have classified rightly."""
        guesses = self._logs_without(state).argmax(axis=1)
        counts = self._beliefs.counts[state]
        return int(counts[guesses == np.arange(len(counts))].sum())

    def _logs_without(self, state: int) -> Floats:
        """(classes, classes): log p̂(· | ψ) without one case of each class."""
        if state not in self._logs:
            counts = self._beliefs.counts[state]
            less = np.maximum(counts - np.eye(len(counts), dtype=np.int64), 0)
            parents = self._parents(state)
            pooled = np.zeros(less.shape)
            for parent in parents:
                pooled += self._logs_without(parent)
            without = shrunk(less, pooled / max(len(parents), 1), self._beliefs.shrinkage)
            self._logs[state] = np.log(np.maximum(without, _LEAST))
        return self._logs[state]

    def _parents(self, state: int) -> list[int]:
        """The states with one look less: ψ without a digit, by arithmetic."""
        subset = self._lattice.subset_of(state)
        if subset not in self._steps:
            members = self._lattice.members(subset)
            rests = [members[:j] + members[j + 1 :] for j in range(len(members))]
            self._steps[subset] = [
                self._lattice.step(self._lattice.subset(rest), i)
                for rest, i in zip(rests, members, strict=True)
            ]
        parents = []
        for _, _, stride, radix, start, above in self._steps[subset]:
            high, low = divmod(state - above, stride * radix)
            parents.append(start + high * stride + low % stride)
        return parents
