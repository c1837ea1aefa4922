"""Complete records are cases with the value of every observation and the reward of every action.

A record is one case, however many states it agrees with. If a model has a number for every full
state, a record is evidence for exactly that one. If there are too many full states, the record
counts in every state ψ of a lattice that it agrees with. States are then estimated one by one, and
each is shrunk towards the states with one value less (`estimation/shrinkage.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT
from askwise.states import Lattice

MOST_RECORDS = 20_000
"""The most different complete records that a model keeps. Of more, it keeps a random sample."""


class CompleteRecords(NamedTuple):
    """Complete records, with equal ones grouped."""

    digits: Choices
    """(n, D): the index of each value, given observations last."""
    counts: Integers
    units: Integers
    """(n, A): the sum of the rewards of each action, in units of 2⁻³⁰."""
    graded: Integers
    """(n, A): Σr(1 − r) of each action, in the same units."""

    @property
    def cases(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def sample(self, most: int) -> CompleteRecords:
        """At most so many different records, drawn with equal probabilities."""
        if len(self.counts) <= most:
            return self
        kept = np.sort(np.random.default_rng(0).choice(len(self.counts), most, replace=False))
        sums = self.units[kept], self.graded[kept]
        return CompleteRecords(self.digits[kept], self.counts[kept], *sums)

    def thinned(self, part: float, rng: np.random.Generator) -> CompleteRecords:
        """An even draw of about that part of the records. Equal records keep their mean reward."""
        kept = rng.binomial(self.counts, part)
        some = kept > 0
        share = (kept[some] / self.counts[some])[:, None]
        units = np.rint(self.units[some] * share).astype(np.int64)
        graded = np.rint(self.graded[some] * share).astype(np.int64)
        return CompleteRecords(self.digits[some], kept[some], units, graded)

    def of(self, observations: Sequence[int]) -> CompleteRecords:
        """The records of a few observations only."""
        return grouped(self.digits[:, list(observations)], self.counts, self.units, self.graded)


class Log(NamedTuple):
    """The log that a learner began with."""

    cases: int = 0
    records: CompleteRecords | None = None
    """Complete records; logged decisions are counted like any other case."""
    weight: float = 1.0
    """The share of a longer log's cases that these were drawn from, for an old log."""
    drawn_from: int = 0
    """The number of cases of that longer log; 0 if all cases of the log count."""
    stake: float = 1.0
    """The mean stake of its cases; 1 if it does not say stakes."""

    @property
    def words(self) -> str:
        """Says how many cases of which kind it has, and how much they weigh.

        >>> Log(928, weight=0.3, drawn_from=3_000).words
        '30% of 3,000 logged decisions'
        """
        kind = "logged decisions" if self.records is None else "complete records"
        if not self.drawn_from:
            return f"{self.cases:,} {kind}"
        return f"{100 * self.weight:.3g}% of {self.drawn_from:,} {kind}"

    @property
    def different(self) -> int:
        """The number of different records that are kept."""
        return 0 if self.records is None else len(self.records.counts)


NO_LOG = Log()


def grouped(
    digits: Choices, counts: Integers, units: Integers, graded: Integers
) -> CompleteRecords:
    """Records with equal rows grouped. Their counts and rewards are summed."""
    distinct, place = np.unique(digits, axis=0, return_inverse=True)
    n = np.zeros(len(distinct), np.int64)
    sums, rest = np.zeros((2, len(distinct), units.shape[1]), np.int64)
    np.add.at(n, place.ravel(), counts)
    np.add.at(sums, place.ravel(), units)
    np.add.at(rest, place.ravel(), graded)
    return CompleteRecords(distinct, n, sums, rest)


def agreeing(lattice: Lattice, records: CompleteRecords, visits: Floats, steps: int) -> Floats:
    """The weight of each record, so that together they agree with cases that saw only a part.

    w(φ) ∝ n(φ) + Σ_ψ N(ψ) w(φ) / Σ_{φ' ~ ψ} w(φ'), repeated a few times. This is the most likely
    population that has only the full states of the records. States that no record agrees with are
    left out.
    """
    weight: Floats = records.counts.astype(np.float64)
    parts, firsts = [], lattice.layout.offsets[:-1]
    visited = np.flatnonzero(np.add.reduceat(visits, firsts))
    for subset in visited[visited > 0] if lattice.contexts == 1 else visited:
        states = lattice.block(subset)
        place = lattice.states_of(subset, records.digits) - states.start
        parts.append((place, visits[states]))
    for _ in range(steps if parts else 0):
        more = records.counts.astype(np.float64)
        for place, here in parts:
            total = np.bincount(place, weight, len(here))
            more += weight * (here / np.maximum(total, 1e-300))[place]
        weight = more
    return weight


def weigh_states(lattice: Lattice, records: CompleteRecords, weight: Floats) -> Floats:
    """The total weight of the records of every state."""
    from askwise._kernels.estimation.records import add_records

    found = np.zeros((lattice.size, 1))
    add_records(lattice.layout, records.digits, weight[:, None], found)
    return found[:, 0]


def count_in_states(lattice: Lattice, records: CompleteRecords) -> tuple[Floats, Floats, Floats]:
    """N(ψ), and Σr(a, ψ) and Σr(1 − r) at [ψ, a], of every state."""
    from askwise._kernels.estimation.records import add_records

    counts, actions = records.counts[:, None], records.units.shape[1]
    amounts = np.hstack([counts, records.units * UNIT, records.graded * UNIT])
    found = np.zeros((lattice.size, amounts.shape[1]))
    add_records(lattice.layout, records.digits, amounts, found)
    sums, graded = np.hsplit(found[:, 1:], [actions])
    return found[:, 0].copy(), sums.copy(), graded.copy()
