"""Counters by state as arrays, with a row for every state or only for visited states.

The counters of a state are in its row (`states/rows.py`). Dense counters have a row for every
state, at the state's own index. Sparse counters have rows for visited states only, so their memory
grows with the cases and not with the size of the problem.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from askwise._support.typing import Integers
from askwise.errors import TooLargeError
from askwise.states import Lattice
from askwise.states.rows import Counters, Rows, extended

MOST_STATES = 20_000_000
"""The most states of a problem with dense counters."""

SPARSE_FROM = 100_000
"""With this many states, sparse counters pay if few states are visited."""

FIRST_ROWS = 1024
"""The number of rows with which sparse counters start."""

MOST_WAITING = 4096
"""The most simultaneous cases that wait to be counted together."""

BY_ROW = ("visits", "transitions", "action_counts", "reward_sums", "graded_sums")
"""The names of the arrays that have a line for each row."""


class RowCounters:
    """The arrays of counters of one problem, with the row of each state."""

    def __init__(self, lattice: Lattice, *, sparse: bool = False) -> None:
        if not sparse and lattice.size > MOST_STATES:
            raise TooLargeError(
                f"{len(lattice.problem.observations)} observations with "
                f"max_observations={lattice.m} make {lattice.size:,} states, more than the "
                f"{MOST_STATES:,} that can be counted one by one: lower max_observations, or the "
                "number of observations or of their values, or count only what is visited, as "
                "SeqOOS and SimOOS do without storage='dense'"
            )
        actions = len(lattice.problem.actions)
        n = FIRST_ROWS if sparse else lattice.size
        self.lattice = lattice
        self.is_sparse = sparse
        self.rows = _sparse_rows(n) if sparse else _dense_rows()
        """The row of each state."""
        self._subset_visits: Integers = np.zeros(lattice.context_subsets, np.int64)
        self._visits: Integers = np.zeros(n, np.int64)
        self._waiting: list[int] = []
        """States seen by simultaneous cases that wait to be counted together."""
        self._counting = threading.Lock()
        self.transitions: Integers = np.zeros((n, lattice.m), np.int64)
        """N(ψ, i, ψ') at [ψ', slot of i in ψ']: a state has one cell for each of its parents."""
        self.action_counts: Integers = np.zeros((n, actions), np.int64)
        """N(a, ψ) at [ψ, a]"""
        self.reward_sums: Integers = np.zeros((n, actions), np.int64)
        """Σr(a, ψ) at [ψ, a], in units of 2⁻³⁰"""
        self.graded_sums: Integers = np.zeros((n, actions), np.int64)
        """Σr(1 − r) at [ψ, a], in units of 2⁻³⁰: how far rewards are from being 0 or 1."""
        self._counters: Counters | None = None

    @property
    def reward_squares(self) -> Integers:
        """Σr²(a, ψ) at [ψ, a], in units of 2⁻³⁰; Σr itself, if rewards are 0 or 1."""
        return self.reward_sums - self.graded_sums

    @property
    def subset_visits(self) -> Integers:
        """N(I), for each context."""
        self._count_waiting()
        return self._subset_visits

    @property
    def visits(self) -> Integers:
        """N(ψ), by row; of sequential cases, if anything is given, those that began there."""
        self._count_waiting()
        return self._visits

    @property
    def counters(self) -> Counters:
        """The arrays for the kernels. `make_room` replaces them."""
        self._count_waiting()
        if self._counters is None:
            self._counters = Counters(self.rows, *(array for _, array in self._all_arrays()))
        return self._counters

    @property
    def capacity(self) -> int:
        """The number of rows that there is room for."""
        return len(self._visits)

    @property
    def visited(self) -> int:
        """The number of rows in use; all of them, if dense."""
        return int(self.rows.used[0]) if self.is_sparse else self.capacity

    def row(self, state: int) -> int:
        """The row of a state; 0 if it has none."""
        if not self.is_sparse:
            return state
        from askwise._kernels.states.rows import find

        return int(find(self.rows, state))

    def rows_of(self, states: Integers) -> Integers:
        """The row of each of these states; 0 for those that have none."""
        if not self.is_sparse:
            return states
        from askwise._kernels.states.rows import find_all

        rows = np.empty_like(states)
        find_all(self.rows, states, rows)
        return rows

    def state(self, row: int) -> int:
        """The state of a row."""
        return int(self.rows.states[row]) if self.is_sparse else row

    @property
    def states(self) -> Integers:
        """The state of every row."""
        return self.rows.states[: self.visited] if self.is_sparse else np.arange(self.capacity)

    def give_rows(self, states: Integers) -> None:
        """Gives a row to each of these states that has none, if the counters are sparse."""
        if self.is_sparse:
            from askwise._kernels.states.rows import insert_all

            self.make_room(len(states))
            insert_all(self.rows, states)

    def make_room(self, more: int) -> None:
        """Makes room for this many more states."""
        if not self.is_sparse or self.visited + more <= self.capacity:
            return
        used, capacity = self.visited, self.capacity
        capacity = max(2 * capacity, used + more)
        self.rows = _sparse_rows(capacity, self.rows.states[:used])
        self._counters = None
        for name in BY_ROW:
            held = "_visits" if name == "visits" else name
            setattr(self, held, extended(getattr(self, held), used, capacity))

    def _own_row(self, state: int) -> int:
        """The row of a state, a new one if it has none."""
        if not self.is_sparse:
            return state
        from askwise._kernels.states.rows import insert

        return int(insert(self.rows, state))

    def _count_later(self, state: int) -> None:
        """Queues the substates of a state, to be counted when they are read or when many wait.

        For a single case, calling a kernel costs more than its work.
        """
        self._waiting.append(state)
        if len(self._waiting) >= MOST_WAITING:
            self._count_waiting()

    def _count_waiting(self) -> None:
        """Count the substates of all states that wait."""
        if not self._waiting:
            return
        from askwise._kernels.counting.counting import count_sets

        with self._counting:
            states = np.array(self._waiting, np.int64)
            arrays = (self._subset_visits, self._visits)
            count_sets(self.lattice.layout, self.rows, *arrays, states)
            del self._waiting[: len(states)]  # others may have been added meanwhile

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Every array of counters with its name, as far as it is used."""
        for name, array in self._all_arrays():
            yield name, array[: self.visited] if name in BY_ROW else array

    def _counted(self) -> list[Integers]:
        """The states at which something was counted, in order, and their counters."""
        by_row = [getattr(self, name)[: self.visited] for name in BY_ROW]
        rows = np.flatnonzero(sum(array.reshape(len(array), -1).any(axis=1) for array in by_row))
        states = self.rows.states[rows] if self.is_sparse else rows
        order = np.argsort(states)
        return [self.subset_visits, states[order], *(array[rows[order]] for array in by_row)]

    def _all_arrays(self) -> Iterator[tuple[str, Integers]]:
        """Every array of counters with its name, room for more rows included."""
        for name in ("subset_visits", *BY_ROW):
            yield name, getattr(self, name)


def _dense_rows() -> Rows:
    """Rows without a table: the row of a state is the state."""
    return Rows(*(np.zeros(n, np.int64) for n in (0, 0, 1)))


def _sparse_rows(capacity: int, states: Integers | None = None) -> Rows:
    """Room for so many rows, given out to these states; at first to the empty one."""
    from askwise._kernels.states.rows import insert_all

    states = np.array([-1, 0]) if states is None else states
    # at most half full: a search seldom takes more than two steps
    table = np.zeros(2 << (capacity - 1).bit_length(), np.int64)
    rows = Rows(table, np.zeros(capacity, np.int64), np.ones(1, np.int64))
    rows.states[0] = -1
    insert_all(rows, states[1:])
    return rows
