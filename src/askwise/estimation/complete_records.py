"""Complete records: cases in which everything was seen, and what every action would have earned.

A record is one case, whatever the number of states that it agrees with. Where a model has a number
for every full state, a record is evidence for just that one. Where there are too many, it counts
in every state ψ of a lattice that it agrees with, and each state is estimated by itself:

    r(a, ψ) = (Σr(a, ψ) + κ r̄(a, parents of ψ)) / (N(a, ψ) + κ)

A state with few records is believed to be much like the states with one look less, and these like
theirs: without that the best of many thin estimates would be a matter of luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT
from askwise.states import Lattice

OF_PARENTS = 10.0
"""κ: for how many records the states with one look less stand."""


MOST_RECORDS = 20_000
"""Different complete records that a model keeps; of more, a fair sample."""


class CompleteRecords(NamedTuple):
    """Records as they are, equal ones together."""

    digits: Choices
    """(n, D): the place of each value, what is given last."""
    counts: Integers
    units: Integers
    """(n, A): the sum of what each action earned, in units of 2⁻³⁰."""

    @property
    def cases(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    def sample(self, most: int) -> CompleteRecords:
        """At most so many different ones, each as likely as any other: a fair sample."""
        if len(self.counts) <= most:
            return self
        kept = np.sort(np.random.default_rng(0).choice(len(self.counts), most, replace=False))
        return CompleteRecords(self.digits[kept], self.counts[kept], self.units[kept])

    def of(self, observations: Sequence[int]) -> CompleteRecords:
        """What they say of a few observations alone."""
        return grouped(self.digits[:, list(observations)], self.counts, self.units)


class Log(NamedTuple):
    """What a learner began with."""

    cases: int = 0
    records: CompleteRecords | None = None
    """Complete records as they are; decisions are counted like any other case."""

    @property
    def different(self) -> int:
        """How many different records it keeps."""
        return 0 if self.records is None else len(self.records.counts)


NO_LOG = Log()


def grouped(digits: Choices, counts: Integers, units: Integers) -> CompleteRecords:
    """Equal rows together."""
    distinct, place = np.unique(digits, axis=0, return_inverse=True)
    n = np.zeros(len(distinct), np.int64)
    sums = np.zeros((len(distinct), units.shape[1]), np.int64)
    np.add.at(n, place.ravel(), counts)
    np.add.at(sums, place.ravel(), units)
    return CompleteRecords(distinct, n, sums)


def states_in(lattice: Lattice, subset: int, digits: Choices) -> Integers:
    """The states of rows in which all of a subset is known, whatever else is."""
    layout, members = lattice.layout, list(lattice.members(subset))
    first, end = layout.offsets[subset : subset + 2].tolist()
    context = digits[:, lattice.buyable :].astype(np.int64) @ layout.given
    place = digits[:, members].astype(np.int64) @ layout.strides[subset, : len(members)]
    states: Integers = first + context * ((end - first) // lattice.contexts) + place
    return states


def agreeing(lattice: Lattice, records: CompleteRecords, visits: Floats, steps: int) -> Floats:
    """What each record weighs, so that together they agree with cases that saw only a part.

    w(φ) ∝ n(φ) + Σ_ψ N(ψ) w(φ) / Σ_{φ' ~ ψ} w(φ'), a few times over: the likeliest population of
    nothing but the full states of the records. States that no record agrees with are left out.
    """
    weight: Floats = records.counts.astype(np.float64)
    parts = []
    for subset in range(1 if lattice.contexts == 1 else 0, lattice.subsets):
        states = lattice.states(subset)
        here = visits[states.start : states.stop]
        if here.any():
            parts.append((states_in(lattice, subset, records.digits) - states.start, here))
    for _ in range(steps if parts else 0):
        more = records.counts.astype(np.float64)
        for place, here in parts:
            total = np.bincount(place, weight, len(here))
            more += weight * (here / np.maximum(total, 1e-300))[place]
        weight = more
    return weight


def weigh_states(lattice: Lattice, records: CompleteRecords, weight: Floats) -> Floats:
    """What the records of every state weigh together."""
    found = np.empty(lattice.size)
    for subset in range(lattice.subsets):
        states = lattice.states(subset)
        place = states_in(lattice, subset, records.digits) - states.start
        found[states.start : states.stop] = np.bincount(place, weight, len(states))
    return found


def count_in_states(lattice: Lattice, records: CompleteRecords) -> tuple[Floats, Floats]:
    """N(ψ), and Σr(a, ψ) at [ψ, a], of every state."""
    actions = records.units.shape[1]
    counts, sums = np.zeros(lattice.size), np.zeros((lattice.size, actions))
    earned = np.asarray(records.units * UNIT, np.float64)
    for subset in range(lattice.subsets):
        states = lattice.states(subset)
        place = states_in(lattice, subset, records.digits) - states.start
        here = slice(states.start, states.stop)
        counts[here] = np.bincount(place, records.counts, len(states))
        for action in range(actions):
            sums[here, action] = np.bincount(place, earned[:, action], len(states))
    return counts, sums


def lean_on_parents(lattice: Lattice, counts: Floats | Integers, sums: Floats) -> Floats:
    """r(a, ψ) at [ψ, a], from N(a, ψ) and Σr(a, ψ)."""
    actions = counts.shape[1]
    reward = np.empty((lattice.size, actions))
    for subset in range(lattice.subsets):
        members, states = lattice.members(subset), lattice.states(subset)
        block = slice(states.start, states.stop)
        radices = [int(lattice.layout.radices[i]) for i in members]
        prior = np.zeros((lattice.contexts, *radices, actions))
        for k in range(len(members)):
            fewer = lattice.states(lattice.subset(members[:k] + members[k + 1 :]))
            shape = (lattice.contexts, *radices[:k], 1, *radices[k + 1 :], actions)
            prior += reward[fewer.start : fewer.stop].reshape(shape) / len(members)
        if not members:
            prior += (sums[block].sum(axis=0) + 0.5) / (counts[block].sum(axis=0) + 1)
        own = sums[block] + OF_PARENTS * prior.reshape(len(states), -1)
        reward[block] = own / (counts[block] + OF_PARENTS)
    return reward


def variance_of_means(reward: Floats, counts: Floats | Integers) -> Floats:
    """Of those means, by a Beta(½, ½) prior's posterior of as many cases."""
    n = counts + OF_PARENTS
    middle = (reward * n + 0.5) / (n + 1)
    variance: Floats = middle * (1 - middle) / (n + 2)
    return variance
