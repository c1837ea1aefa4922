"""Exploration: what a policy tries besides its plan, by the tag of the case, with probabilities.

Without exploration a learner cannot correct a wrong policy. The probabilities shrink as a state
becomes familiar. What a case explores depends only on the tables and on its tag, which is one
random number. `tree` and `evaluate` show the policy without its exploration.

    PathExploration   buy another observation, or take another action
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
    """The interface of an exploration. The table is the policy's own."""

    kind: ClassVar[str]
    """The name in saved policies."""

    def looks(self, table: Any, state: int, tag: int) -> tuple[int, ...]:
        """Returns what a case with that tag buys now; none means act."""

    def action(self, table: Any, state: int, tag: int) -> int:
        """Returns the action of a case with that tag when nothing more is bought."""

    def propensities(
        self, table: Any, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """Returns the probability of each step of a case; None if it is unknown.

        The case began in a state, bought along a path, and now wants these observations or has
        acted (−1: not yet).
        """

    def header(self) -> dict[str, Any]:
        """Returns what `restored` needs besides the arrays, for JSON."""

    def arrays(self) -> dict[str, Array]:
        """Returns its arrays by name."""

    @classmethod
    def restored(cls, header: Mapping[str, Any], read: ReadArray, table: Any) -> Self:
        """Returns the saved exploration. An invalid one raises a `FileError`."""


class _OfEveryState:
    """The common part of explorations with an entry for every state. They are tuples of arrays."""

    __slots__ = ()
    other_action: Choices
    action_probability: Floats

    def action(self, table: Table, state: int, tag: int) -> int:
        """Returns the policy's action, or the other one."""
        probability = self.action_probability.item(state)
        if probability and uniform(tag, 4 * state + ACTS) < probability:
            return self.other_action.item(state)
        return table.actions.item(state)

    def action_propensity(self, table: Table, state: int, action: int) -> float:
        """Returns the probability of the action, the policy's or the other one."""
        other = self.action_probability.item(state)
        probability = 1.0 - other if table.actions.item(state) == action else 0.0
        return probability + other if self.other_action.item(state) == action else probability

    def header(self) -> dict[str, Any]:
        """Returns nothing, because the arrays have an entry for every state."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Returns its arrays by name."""
        arrays: dict[str, Array] = self._asdict()  # type: ignore[attr-defined]
        return arrays


class _PathArrays(NamedTuple):
    other_look: Integers
    """Another observation for each state, −1 for any."""
    look_probability: Floats
    """The probability that a case explores in each state, with that observation or any."""
    other_action: Choices
    """Another action for each state."""
    action_probability: Floats
    """The probability that it is taken."""


class PathExploration(_OfEveryState, _PathArrays):
    """A case may buy another observation, where the policy would buy or act, and take another
    action.
    """

    __slots__ = ()
    kind: ClassVar[str] = "another look"

    @classmethod
    def none(cls, lattice: Lattice) -> PathExploration:
        """Returns arrays of the right shape, with all probabilities 0."""
        size = lattice.size
        looks = np.full(size, -1, np.int64), np.zeros(size)
        return cls(*looks, np.zeros(size, np.int16), np.zeros(size))

    def scaled(self, part: float) -> PathExploration:
        """Returns the same exploration with all probabilities multiplied."""
        looks, actions = part * self.look_probability, part * self.action_probability
        return self._replace(look_probability=looks, action_probability=actions)

    def looks(self, table: PathTable, state: int, tag: int) -> tuple[int, ...]:
        """Returns the one observation to buy now."""
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
        """Returns the probability of each observation, then of stopping and the action."""
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
        """Returns the probability of buying i in a state, or of acting (STOP)."""
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
        """Decides and counts a case for each tag. Returns the states acted in, and the actions."""
        from askwise._kernels.learners.explored_runs import run_exploring_sequential

        out = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        plan = (table.lattice.layout, table.look, table.actions, *self)
        run_exploring_sequential(*plan, tags, values, rewards, UNIT, statistics.counters, *out)
        return out

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], read: ReadArray, table: PathTable
    ) -> PathExploration:
        """Returns the saved exploration. An invalid one raises a `FileError`."""
        lattice = table.lattice
        found = cls(**_read(read, cls.none(_of_a_size(lattice, table))._asdict()))
        _check_probabilities(found.look_probability, found.action_probability)
        check_choices("other_action", found.other_action, 0, len(lattice.problem.actions))
        check_choices("other_look", found.other_look, -1, lattice.buyable)
        states = np.arange(lattice.size)
        check_looks(lattice, states, found.other_look)
        anything = lattice.buyable  # an observation that no state contains
        check_looks(lattice, states, np.where(found.look_probability > 0, anything, -1))
        return found


class _SetArrays(NamedTuple):
    other_set: Integers
    """Another subset in each context."""
    set_probability: Floats
    """The probability that a case buys another set, that one or any."""
    other_action: Choices
    """Another action for each state."""
    action_probability: Floats
    """The probability that it is taken."""


class SetExploration(_OfEveryState, _SetArrays):
    """A case may buy another set, and may take another action."""

    __slots__ = ()
    kind: ClassVar[str] = "another set"

    @classmethod
    def none(cls, lattice: Lattice) -> SetExploration:
        """Returns arrays of the right shape, with all probabilities 0."""
        sets = np.zeros(lattice.contexts, np.int64), np.zeros(lattice.contexts)
        return cls(*sets, np.zeros(lattice.size, np.int16), np.zeros(lattice.size))

    def scaled(self, part: float) -> SetExploration:
        """Returns the same exploration with all probabilities multiplied."""
        sets, actions = part * self.set_probability, part * self.action_probability
        return self._replace(set_probability=sets, action_probability=actions)

    def looks(self, table: SetTable, state: int, tag: int) -> tuple[int, ...]:
        """Returns what of the case's set is not known yet."""
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
        """Returns the probabilities of the set, then of the action. They need only a few cells of
        the tables.
        """
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
        """Decides and counts a case for each tag. Returns the states acted in, and the actions."""
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
        """Returns the saved exploration. An invalid one raises a `FileError`."""
        lattice = table.lattice
        found = cls(**_read(read, cls.none(_of_a_size(lattice, table))._asdict()))
        _check_probabilities(found.set_probability, found.action_probability)
        check_choices("other_action", found.other_action, 0, len(lattice.problem.actions))
        check_choices("other_set", found.other_set, 0, lattice.subsets)
        return found


TableExploration = PathExploration | SetExploration


class UniformDraw:
    """The policy was drawn uniformly for one case. Its propensities are those of the draw."""

    kind: ClassVar[str] = "uniform draw"

    def looks(self, table: SetTable, state: int, tag: int) -> tuple[int, ...]:
        """Returns the policy's choice, because the policy was drawn already."""
        return table.looks(state)

    def action(self, table: SetTable, state: int, tag: int) -> int:
        """Returns the policy's action, because the policy was drawn already."""
        return table.act(state)

    def propensities(
        self, table: SetTable, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities:
        """Returns the probabilities of the set, then of the action, before the policy was drawn."""
        return partial(uniform_draw_propensities, table.lattice, start, path, looks, action)

    def header(self) -> dict[str, Any]:
        """Returns nothing, because the kind is enough."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Returns an empty dictionary, because it has no arrays."""
        return {}

    @classmethod
    def restored(cls, header: Mapping[str, Any], read: ReadArray, table: SetTable) -> UniformDraw:
        """Returns this exploration, because all of them are equal."""
        return cls()


def frozen(exploration: TableExploration) -> TableExploration:
    """Returns the exploration with arrays that cannot be changed."""
    for array in exploration:
        array.setflags(write=False)
    return exploration


def _of_a_size(lattice: Lattice, table: Table) -> Lattice:
    """Returns the lattice if arrays of its size fit into memory and the table has as many rows."""
    if lattice.size > MOST_STATES or len(table.actions) != lattice.size:
        raise FileError("a policy explores in more states than there can be")
    return lattice


def _read(read: ReadArray, like: Mapping[str, Array]) -> dict[str, Array]:
    return {name: read(name, array.shape, array.dtype) for name, array in like.items()}


def _check_probabilities(*probabilities: Floats) -> None:
    if not all(((x >= 0) & (x <= 1)).all() for x in probabilities):  # NaN is neither
        raise FileError("a policy's probabilities are not all from 0 to 1")
