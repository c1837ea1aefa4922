"""What a policy tries beside what it believes best, by the tag of the case, and how likely.

A policy that only does what it thinks best never learns that it is wrong. One that explores does,
with probabilities that shrink as a state becomes familiar. What a case tries depends on the tables
and its tag, one random number, and on nothing else. `tree` and `evaluate` show the policy without
what it explores.

    PathExploration   take another look, or another action
    SetExploration    buy another set, or take another action
    UniformDraw       the whole policy was drawn for one case (`baselines/random_choice.py`)

`tree_table.py` has the exploration of policies as trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from askwise._kernels.policy.draws import ACTS, ANY, LOOKS, STOP, WHICH, tried, uniform
from askwise._support.arrays import Array
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import MOST_STATES, UNIT, Statistics
from askwise.errors import FileError
from askwise.policy.propensities import another_look, set_propensities, uniform_draw_propensities
from askwise.policy.tables import (
    Path,
    PathTable,
    Propensities,
    ReadArray,
    SetTable,
    Table,
    check_choices,
    check_looks,
    remaining,
)
from askwise.states import Lattice


class Exploration(Protocol):
    """What a policy asks of its exploration; the table is the policy's own."""

    kind: ClassVar[str]
    """What saved policies call it."""

    def looks(self, table: Any, state: int, tag: int) -> tuple[int, ...]:
        """What a case with that tag buys now; none means act."""

    def action(self, table: Any, state: int, tag: int) -> int:
        """What a case with that tag does when nothing more is bought."""

    def propensities(
        self, table: Any, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """How likely a case took each of its steps; None if that is not known.

        It began in a state, bought along a path, wants these looks now, or (−1: not yet) acted.
        """

    def header(self) -> dict[str, Any]:
        """What `restored` has to know beside the arrays, for JSON."""

    def arrays(self) -> dict[str, Array]:
        """Its arrays by name."""

    @classmethod
    def restored(cls, header: Mapping[str, Any], read: ReadArray, table: Any) -> Self:
        """The exploration that was saved; one that cannot be is a `FileError`."""


class _OfEveryState:
    """What explorations with an entry for every state share; they are tuples of arrays."""

    __slots__ = ()
    other_action: Choices
    action_probability: Floats

    def action(self, table: Table, state: int, tag: int) -> int:
        """The policy's action, or the other one."""
        probability = self.action_probability.item(state)
        if probability and uniform(tag, 4 * state + ACTS) < probability:
            return self.other_action.item(state)
        return table.actions.item(state)

    def action_propensity(self, table: Table, state: int, action: int) -> float:
        """How likely the action is, the policy's or the other one."""
        other = self.action_probability.item(state)
        probability = 1.0 - other if table.actions.item(state) == action else 0.0
        return probability + other if self.other_action.item(state) == action else probability

    def header(self) -> dict[str, Any]:
        """Nothing: its arrays are as long as there are states."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Its arrays by name."""
        arrays: dict[str, Array] = self._asdict()  # type: ignore[attr-defined]
        return arrays


class _PathArrays(NamedTuple):
    other_look: Integers
    """Another look for each state, −1 for anything."""
    look_probability: Floats
    """How likely a case takes another look in each state, that one or any."""
    other_action: Choices
    """Another action for each state."""
    action_probability: Floats
    """How likely it is taken."""


class PathExploration(_OfEveryState, _PathArrays):
    """A case may take another look, whether the policy would look or act, and another action."""

    __slots__ = ()
    kind: ClassVar[str] = "another look"

    @classmethod
    def none(cls, lattice: Lattice) -> PathExploration:
        """Arrays of the right shape, in which nothing is tried."""
        size = lattice.size
        looks = np.full(size, -1, np.int64), np.zeros(size)
        return cls(*looks, np.zeros(size, np.int16), np.zeros(size))

    def scaled(self, part: float) -> PathExploration:
        """The same, that many times as likely."""
        looks, actions = part * self.look_probability, part * self.action_probability
        return self._replace(look_probability=looks, action_probability=actions)

    def looks(self, table: PathTable, state: int, tag: int) -> tuple[int, ...]:
        """The one observation to buy now."""
        i, probability = STOP, self.look_probability.item(state)
        if probability:
            i = tried(uniform(tag, 4 * state + LOOKS), probability, self.other_look.item(state))
        if i == STOP:
            i = table.look.item(state)
        elif i == ANY:
            may_look = table.lattice.may_look(state)
            i = may_look[int(uniform(tag, 4 * state + WHICH) * len(may_look))]
        return () if i < 0 else (i,)

    def propensities(
        self, table: PathTable, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities:
        """Of each look, then of stopping and the action; now, since the tables are large."""
        steps, state = [], start
        for i, reached in path:
            steps.append(self._probability_of(table, state, i))
            state = reached
        if looks:
            steps.append(self._probability_of(table, state, looks[0]))
        if action >= 0:
            stops = self._probability_of(table, state, STOP)
            steps.append(stops * self.action_propensity(table, state, action))
        return tuple(steps)

    def _probability_of(self, table: PathTable, state: int, i: int) -> float:
        """Of looking at i in a state, or of acting (STOP)."""
        probability = self.look_probability.item(state)
        planned = (1.0 - probability) * (table.look.item(state) == i)
        if not probability or i == STOP:
            return planned
        other, may_look = self.other_look.item(state), len(table.lattice.may_look(state))
        return planned + another_look(i, probability, other, may_look)

    def run(
        self,
        table: PathTable,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.learners.explored_runs import run_exploring_sequential

        out = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        plan = (table.lattice.layout, table.look, table.actions, *self)
        run_exploring_sequential(*plan, tags, values, rewards, UNIT, statistics.counters, *out)
        return out

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], read: ReadArray, table: PathTable
    ) -> PathExploration:
        """The exploration that was saved; one that cannot be is a `FileError`."""
        lattice = table.lattice
        found = cls(**_read(read, cls.none(_of_a_size(lattice, table))._asdict()))
        _check_probabilities(found.look_probability, found.action_probability)
        check_choices("other_action", found.other_action, 0, len(lattice.problem.actions))
        check_choices("other_look", found.other_look, -1, lattice.buyable)
        states = np.arange(lattice.size)
        check_looks(lattice, states, found.other_look)
        anything = lattice.buyable  # a look at what no state knows
        check_looks(lattice, states, np.where(found.look_probability > 0, anything, -1))
        return found


class _SetArrays(NamedTuple):
    other_set: Integers
    """Another subset in each context."""
    set_probability: Floats
    """How likely a case buys another set, that one or any."""
    other_action: Choices
    """Another action for each state."""
    action_probability: Floats
    """How likely it is taken."""


class SetExploration(_OfEveryState, _SetArrays):
    """A case may buy another set, and may take another action."""

    __slots__ = ()
    kind: ClassVar[str] = "another set"

    @classmethod
    def none(cls, lattice: Lattice) -> SetExploration:
        """Arrays of the right shape, in which nothing is tried."""
        sets = np.zeros(lattice.contexts, np.int64), np.zeros(lattice.contexts)
        return cls(*sets, np.zeros(lattice.size, np.int16), np.zeros(lattice.size))

    def scaled(self, part: float) -> SetExploration:
        """The same, that many times as likely."""
        sets, actions = part * self.set_probability, part * self.action_probability
        return self._replace(set_probability=sets, action_probability=actions)

    def looks(self, table: SetTable, state: int, tag: int) -> tuple[int, ...]:
        """What of the case's set is not known yet."""
        lattice = table.lattice
        context = lattice.context(state)
        probability, other = self.set_probability.item(context), self.other_set.item(context)
        subset = tried(uniform(tag, LOOKS), probability, other)
        if subset == STOP:
            subset = table.sets.item(context)
        elif subset == ANY:
            which = lattice.open_subsets
            subset = which.item(int(uniform(tag, WHICH) * len(which)))
        return remaining(lattice, lattice.members(subset), lattice.domain(state))

    def propensities(
        self, table: SetTable, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities:
        """Of the set, then of the action; no table is needed later, but a few of their cells."""
        lattice = table.lattice
        context = lattice.context(start) if lattice.contexts > 1 else 0
        sets = (table.sets.item(context), self.other_set.item(context))
        acts = self.action_propensity(table, path[-1][1] if path else start, action)
        cells = (*sets, self.set_probability.item(context), acts)
        return partial(set_propensities, lattice, start, path, looks, action, *cells)

    def run(
        self,
        table: SetTable,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.learners.explored_runs import run_exploring_simultaneous

        out = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        lattice = table.lattice
        plan = (lattice.layout, lattice.open_subsets, table.sets, table.actions, *self)
        run_exploring_simultaneous(*plan, tags, values, rewards, UNIT, statistics.counters, *out)
        return out

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], read: ReadArray, table: SetTable
    ) -> SetExploration:
        """The exploration that was saved; one that cannot be is a `FileError`."""
        lattice = table.lattice
        found = cls(**_read(read, cls.none(_of_a_size(lattice, table))._asdict()))
        _check_probabilities(found.set_probability, found.action_probability)
        check_choices("other_action", found.other_action, 0, len(lattice.problem.actions))
        check_choices("other_set", found.other_set, 0, lattice.subsets)
        return found


TableExploration = PathExploration | SetExploration


class UniformDraw:
    """The policy was drawn evenly for one case: its propensities are those of the draw."""

    kind: ClassVar[str] = "uniform draw"

    def looks(self, table: SetTable, state: int, tag: int) -> tuple[int, ...]:
        """What the policy says: it was drawn already."""
        return table.looks(state)

    def action(self, table: SetTable, state: int, tag: int) -> int:
        """What the policy says: it was drawn already."""
        return table.act(state)

    def propensities(
        self, table: SetTable, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities:
        """Of the set, then of the action, before the policy was drawn."""
        return partial(uniform_draw_propensities, table.lattice, start, path, looks, action)

    def header(self) -> dict[str, Any]:
        """There is nothing to know beside the kind."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """It has no arrays."""
        return {}

    @classmethod
    def restored(cls, header: Mapping[str, Any], read: ReadArray, table: SetTable) -> UniformDraw:
        """All such explorations are alike."""
        return cls()


def frozen(exploration: TableExploration) -> TableExploration:
    """The exploration, whose arrays cannot be changed any more."""
    for array in exploration:
        array.setflags(write=False)
    return exploration


def _of_a_size(lattice: Lattice, table: Table) -> Lattice:
    """The lattice, if arrays of its size can be held and the table has as many rows."""
    if lattice.size > MOST_STATES or len(table.actions) != lattice.size:
        raise FileError("a policy explores in more states than there can be")
    return lattice


def _read(read: ReadArray, like: Mapping[str, Array]) -> dict[str, Array]:
    return {name: read(name, array.shape, array.dtype) for name, array in like.items()}


def _check_probabilities(*probabilities: Floats) -> None:
    if not all(((x >= 0) & (x <= 1)).all() for x in probabilities):  # not a number is neither
        raise FileError("a policy's probabilities are not all from 0 to 1")
