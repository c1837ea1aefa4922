"""The tables of a policy: what to buy in a state, and what to do when nothing more is bought.

    SetTable    π = (I, h): buy the set I at once, then take h(ψ)          (simultaneous)
    PathTable   π = (g, h): buy g(ψ) until it is nothing, then take h(ψ)   (sequential)

Both have an entry for every state, or a row for each visited state. `tree_table.py` has the third
kind, with a row for each node of a tree. A table is frozen. It converts itself to arrays and back,
and it refuses arrays that would lead a kernel out of its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from askwise._support.arrays import Array
from askwise._support.typing import AcquisitionName, Choices, Floats, Integers
from askwise.counting import MOST_STATES, Statistics
from askwise.errors import FileError
from askwise.planning.trees import follow_sets
from askwise.states import Lattice

RowOf: TypeAlias = Callable[[int], int]
"""A function that returns the row of a state in the tables."""

Path: TypeAlias = Sequence[tuple[int, int]]
"""The purchases in order: (observation, the state it led to)."""

Propensities: TypeAlias = tuple[float, ...] | Callable[[], tuple[float, ...]]
"""A probability for each step, or a function that computes them if that takes long."""

ReadArray: TypeAlias = Callable[[str, tuple[int, ...], npt.DTypeLike], Array]
"""A function that returns an array of a saved policy by its name, with this shape and type."""


class Table(Protocol):
    """The interface of a policy's table. States are integers of the lattice."""

    kind: ClassVar[str]
    """The name in saved policies."""
    lattice: Lattice
    actions: Choices
    """h(ψ), by row."""
    values: Floats
    """The values of the plan: V̂(I) of every subset (in every context), or F̂(ψ) by row."""

    @property
    def acquisition(self) -> AcquisitionName:
        """How it buys: a set at once, or one after the other."""

    def row(self, state: int) -> int:
        """Returns the row of a state."""

    def looks(self, state: int) -> tuple[int, ...]:
        """Returns the observations to buy now; none means act."""

    def act(self, state: int) -> int:
        """Returns h(ψ), the action when nothing more is bought."""

    def value_from(self, context: int) -> float:
        """Returns the planned expected gain of cases that begin in that state."""

    def propensities(self, path: Path, looks: tuple[int, ...], action: int) -> tuple[float, ...]:
        """Returns 1 for every step, because a table alone is deterministic."""

    def copy(self) -> Self:
        """Returns the same table with its own arrays."""

    def header(self, statistics: Statistics | None) -> dict[str, Any]:
        """Returns what `restored` needs besides the arrays, for JSON."""

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns its arrays by name, without unused rows."""

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> Self:
        """Returns the saved table. An invalid one raises a `FileError`."""


class _ByState:
    """The common part of tables with an entry for a state.

    `row_of` finds the row of a state (`states/rows.py`). Without it the tables are indexed by the
    state itself. A state without a row was never visited, and its action is the first one.
    """

    kind: ClassVar[str]

    def __init__(
        self, lattice: Lattice, actions: Choices, values: Floats, row_of: RowOf | None = None
    ) -> None:
        for array in (actions, values):
            array.setflags(write=False)
        self.lattice = lattice
        self.actions = actions
        self.values = values
        self.row_of = row_of

    def row(self, state: int) -> int:
        """Returns the row of a state."""
        if self.row_of is None:
            return state
        row = self.row_of(state)
        return row if row < len(self.actions) else 0  # visited only after this plan was made

    def act(self, state: int) -> int:
        """Returns h(ψ), the action when nothing more is bought."""
        return self.actions.item(state if self.row_of is None else self.row(state))

    def header(self, statistics: Statistics | None) -> dict[str, Any]:
        """Returns the number of rows in use, and whether every state has one though the counters
        may not.
        """
        rows, dense = len(self.actions), self.row_of is None
        if not dense and statistics is not None:  # other rows were never visited
            rows = min(rows, statistics.visited)
        return {"rows": rows, "dense": dense}


class SetTable(_ByState):
    """The policy buys the set Î at once, then acts on its values."""

    kind: ClassVar[str] = "simultaneous"
    acquisition: AcquisitionName = "simultaneous"

    def __init__(
        self,
        lattice: Lattice,
        sets: Integers | int,
        actions: Choices,
        values: Floats,
        row_of: RowOf | None = None,
    ) -> None:
        super().__init__(lattice, actions, values, row_of)
        self.sets: Integers = np.broadcast_to(np.asarray(sets, np.int64), lattice.contexts).copy()
        """Î in each context."""
        self.sets.setflags(write=False)
        only = lattice.contexts == 1
        self._after = lattice.states(int(self.sets[0])) if only else range(0)
        """The states after the set was bought, if there is one context."""

    def value_from(self, context: int) -> float:
        """Returns V̂(Î), the planned gain of the set of that context."""
        return float(self.values[self.lattice.context_subset(int(self.sets[context]), context)])

    def looks(self, state: int) -> tuple[int, ...]:
        """Returns what of the set is not known yet, as far as m allows."""
        if state in self._after:  # the usual case, fast
            return ()
        lattice = self.lattice
        if state < lattice.contexts:
            return lattice.members(self.sets.item(state))
        chosen = self.sets.item(lattice.context(state) if lattice.contexts > 1 else 0)
        return rest_of_set(lattice, chosen, state)

    def as_path(self) -> Choices:
        """Returns the members of each set in order, as g(ψ)."""
        return follow_sets(self.lattice, self.sets)

    def propensities(self, path: Path, looks: tuple[int, ...], action: int) -> tuple[float, ...]:
        """Returns 1 for the set, if there is one to buy, and 1 for the action."""
        return (1.0,) * (bool(path or looks) + (action >= 0))

    def copy(self) -> SetTable:
        """Returns the same table with its own arrays."""
        arrays = (self.sets.copy(), self.actions.copy(), self.values.copy())
        return SetTable(self.lattice, *arrays, self.row_of)

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns the sets, the actions of the used rows, and V̂ of every subset."""
        actions = self.actions[: header["rows"]]
        return {"sets": self.sets, "actions": actions, "values": self.values}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> SetTable:
        """Returns the saved table. An invalid one raises a `FileError`."""
        rows, row_of = restored_rows(header, lattice, statistics)
        actions = read("actions", (rows,), np.int16)
        check_choices("actions", actions, 0, len(lattice.problem.actions))
        sets = read("sets", (lattice.contexts,), np.int64)
        check_choices("sets", sets, 0, lattice.subsets)
        values = read_values(read, lattice.context_subsets, of_sets=True)
        return cls(lattice, sets, actions, values, row_of)


class PathTable(_ByState):
    """The policy buys ĝ(ψ) one after the other until it is nothing, then acts."""

    kind: ClassVar[str] = "sequential"
    acquisition: AcquisitionName = "sequential"

    def __init__(
        self,
        lattice: Lattice,
        look: Choices,
        actions: Choices,
        values: Floats,
        row_of: RowOf | None = None,
    ) -> None:
        super().__init__(lattice, actions, values, row_of)
        look.setflags(write=False)
        self.look = look
        """g(ψ), by row: an observation, or −1 to act."""

    def value_from(self, context: int) -> float:
        """Returns F̂ of the state in which nothing was bought."""
        return float(self.values[self.row(context)])

    def looks(self, state: int) -> tuple[int, ...]:
        """Returns the one observation to buy now."""
        i = self.look.item(state if self.row_of is None else self.row(state))
        return () if i < 0 else (i,)

    def as_path(self) -> Choices:
        """Returns g(ψ)."""
        return self.look

    def propensities(self, path: Path, looks: tuple[int, ...], action: int) -> tuple[float, ...]:
        """Returns 1 for every observation, and 1 for the action."""
        return (1.0,) * (len(path) + len(looks) + (action >= 0))

    def copy(self) -> PathTable:
        """Returns the same table with its own arrays."""
        arrays = (self.look.copy(), self.actions.copy(), self.values.copy())
        return PathTable(self.lattice, *arrays, self.row_of)

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns the observations, actions and values of the used rows."""
        rows = header["rows"]
        return {
            "look": self.look[:rows],
            "actions": self.actions[:rows],
            "values": self.values[:rows],
        }

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> PathTable:
        """Returns the saved table. An invalid one raises a `FileError`."""
        rows, row_of = restored_rows(header, lattice, statistics)
        actions = read("actions", (rows,), np.int16)
        check_choices("actions", actions, 0, len(lattice.problem.actions))
        look = read("look", (rows,), np.int16)
        check_choices("look", look, -1, lattice.buyable)
        states = np.arange(rows)
        if row_of is not None and statistics is not None:
            states = statistics.states[:rows]
        check_looks(lattice, states, look)
        return cls(lattice, look, actions, read_values(read, rows), row_of)


def rest_of_set(lattice: Lattice, chosen: int, state: int) -> tuple[int, ...]:
    """Returns what of a set is not known in a state, as far as m allows."""
    subset = lattice.subset_of(state)
    if subset == chosen:
        return ()
    return remaining(lattice, lattice.members(chosen), lattice.members(subset))


def remaining(lattice: Lattice, bought: tuple[int, ...], known: tuple[int, ...]) -> tuple[int, ...]:
    """Returns what a case with known values still buys of a set, in ascending order."""
    if not known:
        return bought
    rest, room = tuple(i for i in bought if i not in known), lattice.m - len(known)
    if len(rest) <= room or not lattice.has_requirements:
        return rest[:room]
    kept: set[int] = set()  # as many as fit, each after what it requires
    while more := [
        i for i in rest if i not in kept and kept.union(known) >= set(lattice.requires[i])
    ]:
        if len(kept) == room:
            break
        kept.add(more[0])
    return tuple(sorted(kept))


def restored_rows(
    header: Mapping[str, Any], lattice: Lattice, statistics: Statistics | None
) -> tuple[int, RowOf | None]:
    """Returns the number of rows of a saved table, and how the row of a state is found."""
    rows, dense = header.get("rows"), header.get("dense")
    if type(rows) is not int or type(dense) is not bool:
        raise FileError(f"a policy has {rows!r} rows")
    row_of, most = None, 0
    if statistics is not None and statistics.is_sparse and not dense:
        row_of, most = statistics.row, statistics.visited
    if rows != lattice.size and not 0 < rows <= most:
        raise FileError(f"a policy has {rows} rows")
    if row_of is None and lattice.size > MOST_STATES:
        raise FileError(f"a policy has {rows:,} rows, more than there can be")
    return rows, row_of


def read_values(read: ReadArray, number: int, *, of_sets: bool = False) -> Floats:
    """Returns the values of a saved plan, which must be finite.

    A set that a plan never buys is worth −∞. A policy that chose its set without a plan has no
    values, so all are NaN.
    """
    values = read("values", (number,), np.float64)
    never_bought, has_none = np.isneginf(values), np.isnan(values).all()
    if not (np.isfinite(values) | (of_sets & (never_bought | has_none))).all():
        raise FileError("a policy's values are not all finite numbers")
    return values


def check_choices(name: str, choices: Array, low: int, high: int) -> None:
    """Raises if a choice is not one of those that exist."""
    if choices.min() < low or choices.max() >= high:
        raise FileError(f"a policy's {name} are not all from {low} to {high - 1}")


def check_looks(lattice: Lattice, states: Array, looks: Array) -> None:
    """Raises if a known observation is bought, or more than m: this leads out of the lattice.

    It also raises if an observation lacks what it requires.
    """
    subset = np.searchsorted(lattice.layout.offsets, states, side="right") - 1
    known = (lattice.layout.members[subset] == looks[:, None]).any(axis=1)
    cannot_look = known | (lattice.layout.sizes[subset] == lattice.m) | (states < 0)
    if ((looks >= 0) & cannot_look).any():
        raise FileError("a policy looks at what is known already, or at more than it may")
    for i, requires in enumerate(lattice.requires):
        for other in requires:
            lacks = ~(lattice.layout.members[subset] == other).any(axis=1)
            if (lacks & (looks == i)).any():
                raise FileError("a policy looks at something before what that requires")
