"""Tables whose rows are those of listed states: of a rule, or of a policy on its own.

The table of a learner with many states has a row for each visited state, which its counters find. A
policy that is saved or sent without the counters must find its rows itself, so it lists the states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from askwise._support.arrays import Array
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.errors import CaseError, FileError
from askwise.policy.tables import (
    PathTable,
    ReadArray,
    RowOf,
    SetTable,
    Table,
    check_choices,
    check_looks,
    read_values,
)
from askwise.states import Lattice

MOST_LISTED = 10_000_000
"""The most states that a saved table lists."""


class ListedRows:
    """Finds the row of a state among listed ones."""

    def __init__(self, lattice: Lattice, states: Integers, *, is_rule: bool) -> None:
        self.states = states
        self.is_rule = is_rule
        """Whether other states raise an error. Else they have row 0, which stands for them."""
        self._lattice = lattice
        self._order: Integers = np.argsort(states)
        self._sorted: Integers = states[self._order]

    def row(self, state: int) -> int:
        """Returns the row of a state."""
        place = int(np.searchsorted(self._sorted, state))
        if place < len(self._sorted) and self._sorted[place] == state:
            return int(self._order[place])
        if self.is_rule:
            known = self._lattice.state(state)
            raise CaseError(f"the rule was not asked about {known!r}: it does not lead there")
        return 0


class ListedPaths(PathTable):
    """g(ψ) and h(ψ) of listed states. Those of a rule have no values."""

    kind: ClassVar[str] = "listed paths"

    def __init__(
        self, rows: ListedRows, lattice: Lattice, look: Choices, actions: Choices, values: Floats
    ) -> None:
        super().__init__(lattice, look, actions, values, rows.row)
        self.rows = rows

    def copy(self) -> ListedPaths:
        """Returns the same table with its own arrays."""
        arrays = (self.look.copy(), self.actions.copy(), self.values.copy())
        return ListedPaths(self.rows, self.lattice, *arrays)

    def header(self, statistics: Statistics | None) -> dict[str, Any]:
        """Returns the number of states, and whether they are those of a rule."""
        return {"rows": len(self.rows.states), "rule": self.rows.is_rule}

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns the states with what is bought and done there."""
        arrays: dict[str, Array] = {"states": self.rows.states}
        arrays |= {"look": self.look, "actions": self.actions}
        return arrays if self.rows.is_rule else arrays | {"values": self.values}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> ListedPaths:
        """Returns the saved table. An invalid one raises a `FileError`."""
        rows = _restored_rows(header, read, lattice)
        number = len(rows.states)
        actions = read("actions", (number,), np.int16)
        check_choices("actions", actions, 0, len(lattice.problem.actions))
        look = read("look", (number,), np.int16)
        check_choices("look", look, -1, lattice.buyable)
        check_looks(lattice, rows.states, look)
        has_values = not rows.is_rule
        values = read_values(read, number) if has_values else np.full(number, np.nan)
        table = cls(rows, lattice, look, actions, values)
        if rows.is_rule:
            _check_rule(table)
        return table


class ListedSets(SetTable):
    """A set for each context, and h(ψ) of listed states."""

    kind: ClassVar[str] = "listed sets"

    def __init__(
        self, rows: ListedRows, lattice: Lattice, sets: Integers, actions: Choices, values: Floats
    ) -> None:
        super().__init__(lattice, sets, actions, values, rows.row)
        self.rows = rows

    def copy(self) -> ListedSets:
        """Returns the same table with its own arrays."""
        arrays = (self.sets.copy(), self.actions.copy(), self.values.copy())
        return ListedSets(self.rows, self.lattice, *arrays)

    def header(self, statistics: Statistics | None) -> dict[str, Any]:
        """Returns the number of states."""
        return {"rows": len(self.rows.states), "rule": False}

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns the sets and their values, and the states with what is done there."""
        sets: dict[str, Array] = {"states": self.rows.states, "sets": self.sets}
        return sets | {"actions": self.actions, "values": self.values}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> ListedSets:
        """Returns the saved table. An invalid one raises a `FileError`."""
        rows = _restored_rows(header, read, lattice)
        if rows.is_rule:
            raise FileError("a rule buys one observation after the other")
        actions = read("actions", (len(rows.states),), np.int16)
        check_choices("actions", actions, 0, len(lattice.problem.actions))
        sets = read("sets", (lattice.contexts,), np.int64)
        check_choices("sets", sets, 0, lattice.subsets)
        values = read_values(read, lattice.context_subsets, of_sets=True)
        return cls(rows, lattice, sets, actions, values)


def listed(table: Table) -> Table:
    """Returns the table as one that needs no counters: the same, if it finds its rows itself."""
    if isinstance(table, ListedPaths | ListedSets):
        return table
    if not isinstance(table, PathTable | SetTable) or table.row_of is None:
        return table
    number, states = len(table.actions), _states_of(table.row_of)
    number = min(number, len(states))
    rows = ListedRows(table.lattice, states[:number].copy(), is_rule=False)
    if isinstance(table, PathTable):
        arrays = table.look[:number], table.actions[:number], table.values[:number]
        return ListedPaths(rows, table.lattice, *arrays)
    return ListedSets(rows, table.lattice, table.sets, table.actions[:number], table.values)


def _states_of(row_of: RowOf) -> Integers:
    """Returns the state of each row, by the counters whose method finds the rows."""
    counters: Statistics = row_of.__self__  # type: ignore[attr-defined]
    return counters.states


def _restored_rows(header: Mapping[str, Any], read: ReadArray, lattice: Lattice) -> ListedRows:
    number, is_rule = header.get("rows"), header.get("rule")
    if type(number) is not int or type(is_rule) is not bool:
        raise FileError(f"a policy lists {number!r} states")
    if not 0 < number <= min(MOST_LISTED, lattice.size + 1):
        raise FileError(f"a policy lists {number:,} states")
    states: Integers = read("states", (number,), np.int64)
    first = 0 if is_rule else 1  # row 0 stands for all other states
    known = states[first:]
    if (not is_rule and states[0] != -1) or len(known) == 0:
        raise FileError("the states that a policy lists are not those of a policy")
    if known.min() < 0 or known.max() >= lattice.size or len(np.unique(known)) < len(known):
        raise FileError("a policy lists a state twice, or one that is not of the problem")
    return ListedRows(lattice, states, is_rule=is_rule)


def _check_rule(table: ListedPaths) -> None:
    """Raises unless every state that a rule leads to is listed."""
    lattice = table.lattice
    listed_states = set(table.rows.states.tolist())
    needed = set(range(lattice.contexts))
    for state, look in zip(table.rows.states.tolist(), table.look.tolist(), strict=True):
        if look >= 0:
            needed.update(lattice.children(state, look))
    if not needed <= listed_states:
        raise FileError("a rule leads to a state that it does not list")
