"""What may be counted of the looks of a case, also where people looked without being asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from askwise.counting import Statistics
from askwise.policy.tables import Path
from askwise.states import Lattice

Pairs = list[tuple[int, int]]
"""(state, choice) pairs that were counted; a choice is an action, or looking at i as −1 − i."""


class CasePath(Protocol):
    """What a case has seen so far."""

    start: int
    state_index: int
    subset: int

    @property
    def path(self) -> Path:
        """What was bought, in order: (observation, the state it led to)."""

    @property
    def lattice(self) -> Lattice:
        """The states that it can be in."""

    @property
    def unasked(self) -> Mapping[int, bool]:
        """What people looked at without being asked: whether they knew more than the case."""


def count_looks(statistics: Statistics, case: CasePath) -> Pairs:
    """N(ψ, i, ψ') of the steps of a case that are fair samples; returns the pairs of these."""
    pairs, lattice = [], case.lattice
    for start, path in _fair_parts(case) if case.unasked else ((case.start, case.path),):
        subset = 0 if start < lattice.contexts else lattice.subset_of(start)
        statistics.count_steps(path, start, subset)
        pairs += _pairs(start, path)
    return pairs


def _pairs(start: int, path: Path) -> Pairs:
    pairs, state = [], start
    for observation, child in path:
        pairs.append((state, -1 - observation))
        state = child
    return pairs


def _fair_parts(case: CasePath) -> Iterator[tuple[int, Path]]:
    """The stretches of its path that are fair samples: a look of one who knew more is none."""
    start, part = case.start, list[tuple[int, int]]()
    for observation, state in case.path:
        if case.unasked.get(observation):
            yield start, part
            start, part = state, []
        else:
            part.append((observation, state))
    yield start, part


def count_asked(statistics: Statistics, case: CasePath) -> None:
    """Count the set of a case in which people looked at more than was asked.

    The set was chosen before any of it was seen: without what they added it is a fair sample,
    unless they used up what may be looked at and some of the set was left out.
    """
    lattice = case.lattice
    if case.start >= lattice.contexts or lattice.layout.sizes[case.subset] == lattice.m:
        statistics.count_case()
        return
    digits = {i: x for i, x in lattice.digits(case.state_index) if i not in case.unasked}
    statistics.count_set(lattice.index_of(digits))
