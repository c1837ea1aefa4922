"""Which observations of a case may be counted, also if people observed without being asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from askwise.counting import Statistics
from askwise.policy.tables import Path
from askwise.states import Lattice

Pairs = list[tuple[int, int]]
"""(state, choice) pairs that were counted. A choice is an action, or −1 − i for buying i."""


class CasePath(Protocol):
    """The observations of a case so far."""

    start: int
    state_index: int
    subset: int

    @property
    def path(self) -> Path:
        """The purchases in order: (observation, the state it led to)."""

    @property
    def lattice(self) -> Lattice:
        """The lattice of its states."""

    @property
    def unasked(self) -> Mapping[int, bool]:
        """The observations that people made without being asked, and whether people knew more than
        the case.
        """


def count_looks(statistics: Statistics, case: CasePath) -> Pairs:
    """N(ψ, i, ψ') of the steps of a case that are fair samples. Returns their pairs."""
    if not case.unasked:
        return _count_path(statistics, case.lattice, case.start, case.path)
    pairs: Pairs = []
    for start, path in _fair_parts(case):
        pairs += _count_path(statistics, case.lattice, start, path)
    return pairs


def _count_path(statistics: Statistics, lattice: Lattice, start: int, path: Path) -> Pairs:
    subset = 0 if start < lattice.contexts else lattice.subset_of(start)
    statistics.count_steps(path, start, subset)
    return _pairs(start, path)


def _pairs(start: int, path: Path) -> Pairs:
    pairs, state = [], start
    for observation, child in path:
        pairs.append((state, -1 - observation))
        state = child
    return pairs


def _fair_parts(case: CasePath) -> Iterator[tuple[int, Path]]:
    """The parts of the path that are fair samples. An observation of people who knew more is
    not.
    """
    start, part = case.start, list[tuple[int, int]]()
    for observation, state in case.path:
        if case.unasked.get(observation):
            yield start, part
            start, part = state, []
        else:
            part.append((observation, state))
    yield start, part


def count_asked(statistics: Statistics, case: CasePath) -> None:
    """Counts the set of a case in which people observed more than was asked.

    The set was chosen before any of its values was known. Without what people added, it is a fair
    sample. It is not, if people used up the allowed number of observations and a part of the set
    was left out.
    """
    lattice = case.lattice
    if case.start >= lattice.contexts or lattice.layout.sizes[case.subset] == lattice.m:
        statistics.count_case()
        return
    digits = {i: x for i, x in lattice.digits(case.state_index) if i not in case.unasked}
    statistics.count_set(lattice.index_of(digits))
