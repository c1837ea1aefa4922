"""Groups of equal rows into the counters, as if each row had been recorded by itself.

complete records      N(ψ), N(ψ, i, ψ') from every parent, N(a, ψ) of every action, in every ψ
decisions, at once    N(ψ') of every part of what was seen
decisions, in order   N(ψ, i, ψ') along the way
decisions, both       N(a, ψ) and Σr(a, ψ) in the state acted in, and nowhere else
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName, Choices, Floats, Integers
from askwise.counting import MOST_STATES, SPARSE_FROM, Statistics
from askwise.estimation.complete_records import CompleteRecords
from askwise.states import Lattice

FEW = 4
"""The states in a log are few among all, if there are so many times more."""


class Records(NamedTuple):
    """Complete records, grouped by state: the same row is in the group of each of its substates."""

    states: Integers
    counts: Integers
    units: Integers
    """The sum of what each action earned there, at [group, a], in units of 2⁻³⁰,"""
    graded: Integers
    """and Σr(1 − r) of it."""


class Decisions(NamedTuple):
    """Logged decisions; equal ones may stand together."""

    digits: Choices
    """(rows, D), what is given last; −1 was not looked at."""
    actions: Choices
    counts: Integers
    units: Integers
    """The sum of the rewards,"""
    graded: Integers
    """and Σr(1 − r) of them."""
    orders: Integers
    """Which of the distinct orders each row has."""
    distinct: list[tuple[int, ...]]

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.counts.sum())

    def thinned(self, part: float, rng: np.random.Generator) -> Decisions:
        """An even draw of about that part of them; of equal ones, each earned their average."""
        kept = rng.binomial(self.counts, part)
        some = kept > 0
        share = kept[some] / self.counts[some]
        units = np.rint(self.units[some] * share).astype(np.int64)
        graded = np.rint(self.graded[some] * share).astype(np.int64)
        rows = self.digits[some], self.actions[some], kept[some], units, graded, self.orders[some]
        return Decisions(*rows, self.distinct)


class DecisionsWithPropensities(NamedTuple):
    """Logged decisions row by row, with how probable each was."""

    decisions: Decisions
    propensities: list[tuple[float, ...]]
    """The distinct ones,"""
    which: Integers
    """and which of them each row has."""
    stakes: Floats | None = None
    """How many times the reward of each row counts; None if the log does not say."""


def states_of(lattice: Lattice, digits: Choices) -> tuple[Integers, Integers]:
    """The state of each row of digits, and its subset."""
    states = np.empty(len(digits), np.int64)
    subsets = np.empty(len(digits), np.int64)
    for members, rows in by_looks(lattice, digits):
        subset = lattice.subset(members)
        subsets[rows] = subset
        states[rows] = lattice.states_of(subset, digits[rows])
    return states, subsets


def by_looks(lattice: Lattice, digits: Choices) -> Iterator[tuple[tuple[int, ...], Integers]]:
    """The sets that were looked at, with the rows that did."""
    looked = np.packbits(digits[:, : lattice.buyable] >= 0, axis=1)
    _, first, inverse = np.unique(looked, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.cumsum(np.bincount(inverse, minlength=len(first)))[:-1]
    for row, rows in zip(first.tolist(), np.split(order, bounds), strict=True):
        members = np.flatnonzero(digits[row, : lattice.buyable] >= 0)
        yield tuple(members.tolist()), rows


def records_of(lattice: Lattice, records: CompleteRecords) -> Iterator[Records]:
    """Rows in which all is known, grouped: one subset of the lattice after the other."""
    cells, counts, sums, graded = records
    for subset in range(lattice.subsets):
        states, inverse = np.unique(lattice.states_of(subset, cells), return_inverse=True)
        n = np.zeros(len(states), np.int64)
        earned, rest = np.zeros((2, len(states), sums.shape[1]), np.int64)
        np.add.at(n, inverse, counts)
        np.add.at(earned, inverse, sums)
        np.add.at(rest, inverse, graded)
        yield Records(states, n, earned, rest)


def count_records(lattice: Lattice, groups: Iterable[Records], rows: int) -> Statistics:
    """The counters of complete records."""
    parts = list(groups)
    statistics = _statistics(lattice, sum(len(part.states) for part in parts))
    statistics.cases = statistics.records = rows
    for states, counts, units, graded in parts:
        subsets = np.searchsorted(lattice.layout.offsets, states, side="right") - 1
        place = _given_rows(statistics, states)
        statistics.visits[place] += counts
        slots = np.arange(lattice.m) < lattice.layout.sizes[subsets][:, None]
        statistics.transitions[place] += counts[:, None] * slots
        statistics.action_counts[place] += counts[:, None]
        statistics.reward_sums[place] += units
        statistics.graded_sums[place] += graded
        np.add.at(statistics.subset_visits, _context_subsets(lattice, states), counts)
    return statistics


def count_decisions(
    lattice: Lattice, decisions: Decisions, acquisition: AcquisitionName
) -> Statistics:
    """The counters of logged decisions."""
    states, subsets = states_of(lattice, decisions.digits)
    visited = len(np.unique(states))
    if acquisition == "simultaneous":
        visited <<= min(int(lattice.layout.sizes[subsets].max()), 30)  # no more than that
    statistics = _statistics(lattice, visited)
    statistics.cases = decisions.rows
    place = _given_rows(statistics, states), decisions.actions
    np.add.at(statistics.action_counts, place, decisions.counts)
    np.add.at(statistics.reward_sums, place, decisions.units)
    np.add.at(statistics.graded_sums, place, decisions.graded)
    if acquisition == "simultaneous":
        _count_sets(statistics, decisions, subsets)
    else:
        _count_paths(statistics, decisions)
    return statistics


def _count_sets(statistics: Statistics, decisions: Decisions, subsets: Integers) -> None:
    """N(ψ') += 1 and N(dom ψ') += 1 for every part of what was seen."""
    lattice = statistics.lattice
    for subset in np.unique(subsets).tolist():
        rows = np.flatnonzero(subsets == subset)
        digits, counts = decisions.digits[rows], decisions.counts[rows]
        for part in lattice.parts(subset):
            states = lattice.states_of(part, digits)
            place = _given_rows(statistics, states)  # first: it may replace the arrays
            np.add.at(statistics.visits, place, counts)
            np.add.at(statistics.subset_visits, _context_subsets(lattice, states), counts)


def _count_paths(statistics: Statistics, decisions: Decisions) -> None:
    """N(ψ, i, ψ') += 1 along the way, and where something is given, N of where it began."""
    lattice = statistics.lattice
    for order, looks in enumerate(decisions.distinct):
        rows = np.flatnonzero(decisions.orders == order)
        digits, counts = decisions.digits[rows], decisions.counts[rows]
        if lattice.contexts > 1:
            begun = _given_rows(statistics, lattice.states_of(0, digits))
            np.add.at(statistics.visits, begun, counts)
        subset = 0
        for i in looks:
            step = lattice.step(subset, i)
            subset = step.subset
            reached = _given_rows(statistics, lattice.states_of(subset, digits))
            np.add.at(statistics.transitions[:, step.slot], reached, counts)


def _given_rows(statistics: Statistics, states: Integers) -> Integers:
    """The rows of these states, new ones where they have none."""
    statistics.give_rows(np.unique(states))
    return statistics.rows_of(states)


def _context_subsets(lattice: Lattice, states: Integers) -> Integers:
    return np.searchsorted(lattice.layout.context_offsets, states, side="right") - 1


def _statistics(lattice: Lattice, visited: int) -> Statistics:
    """Counters for every state, or for those that are visited if they are few among many."""
    is_sparse = lattice.size > MOST_STATES or SPARSE_FROM <= lattice.size > FEW * visited
    return Statistics(lattice, sparse=is_sparse)
