"""Policies as trees have a row for each reachable node, for a problem of any size.

A plan for many observations buys few of them. The row of a state is the node that its values lead
to. Some cases explore (`_kernels/policy/tree_cases.py`): they buy a set of observations in place of
the tree, or beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from askwise._support.arrays import Array
from askwise._support.typing import AcquisitionName, Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import FileError
from askwise.planning.trees import children_of
from askwise.policy.propensities import node_in, set_tree_propensities, tree_propensities
from askwise.policy.tables import (
    Path,
    Propensities,
    ReadArray,
    check_choices,
    read_values,
    remaining,
    rest_of_set,
)
from askwise.states import Lattice

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.policy.tree_cases import Tallies, Tree

MOST_NODES = 250_000
MOST_SETS = 10_000
"""The most sets of a tree, far more than a shortlist has (`estimation/additive.py`)."""


class TreeTable:
    """What to buy and do in each node. In node 0 nothing is known."""

    kind: ClassVar[str] = "tree"

    def __init__(
        self,
        lattice: Lattice,
        look: Choices,
        actions: Choices,
        child: Integers,
        values: Floats,
        *,
        acquisition: AcquisitionName,
    ) -> None:
        for array in (look, actions, child, values):
            array.setflags(write=False)
        self.lattice = lattice
        self.look = look
        """The observation to buy in each node, free if it is given; −1 to act."""
        self.actions = actions
        self.child = child
        """(nodes, values): the node that a value leads to."""
        self.values = values
        self.acquisition = acquisition
        self._sets: Integers | None = None
        if acquisition == "simultaneous":
            self._sets = _sets_of(lattice, look, child)

    def row(self, state: int) -> int:
        """Returns the node that the values of a state lead to."""
        return node_in(self.lattice, self.look, self.child, state)

    def looks(self, state: int) -> tuple[int, ...]:
        """Returns the one observation to buy now, or what of the set is not known yet."""
        lattice = self.lattice
        if self._sets is not None:
            return rest_of_set(lattice, self._sets.item(lattice.context(state)), state)
        if lattice.layout.sizes[lattice.subset_of(state)] == lattice.m:
            return ()
        i = self.look.item(self.row(state))
        return () if i < 0 else (i,)

    def act(self, state: int) -> int:
        """Returns the action in the node that a state leads to."""
        return self.actions.item(self.row(state))

    def value_from(self, context: int) -> float:
        """Returns the expected value of the node that the context leads to."""
        return self.values.item(self.row(context))

    def propensities(self, path: Path, looks: tuple[int, ...], action: int) -> tuple[float, ...]:
        """Returns 1 for every observation, or for the set, and 1 for the action."""
        steps = len(path) + len(looks) if self._sets is None else bool(path or looks)
        return (1.0,) * (steps + (action >= 0))

    def copy(self) -> TreeTable:
        """Returns the same table with its own arrays."""
        arrays = (self.look.copy(), self.actions.copy(), self.child.copy(), self.values.copy())
        return TreeTable(self.lattice, *arrays, acquisition=self.acquisition)

    def header(self, statistics: Statistics | None) -> dict[str, Any]:
        """Returns the number of nodes, and the acquisition."""
        return {"nodes": len(self.look), "acquisition": self.acquisition}

    def arrays(self, header: Mapping[str, Any]) -> dict[str, Array]:
        """Returns the choices of each node. The order of the nodes determines where values lead."""
        return {"look": self.look, "actions": self.actions, "values": self.values}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        read: ReadArray,
        lattice: Lattice,
        statistics: Statistics | None,
    ) -> TreeTable:
        """Returns the saved table. An invalid one raises a `FileError`."""
        nodes, acquisition = header.get("nodes"), header.get("acquisition")
        if type(nodes) is not int or not 0 < nodes <= MOST_NODES:
            raise FileError(f"a policy has {nodes} nodes")
        if acquisition not in ("simultaneous", "sequential"):
            raise FileError(f"a policy buys {acquisition!r}")
        look, actions = read("look", (nodes,), np.int16), read("actions", (nodes,), np.int16)
        check_choices("look", look, -1, len(lattice.observations))
        check_choices("actions", actions, 0, len(lattice.problem.actions))
        child = children_of(look, lattice.outcomes)
        _check_tree(lattice, look, child, is_set=acquisition == "simultaneous")
        values = read_values(read, nodes)
        return cls(lattice, look, actions, child, values, acquisition=acquisition)


class _Tried(NamedTuple):
    sets: Integers
    """(n, m): sets to explore, each repeated in proportion to its weight."""
    acts: Floats
    """(A): the probability of each action where an exploring case takes another action."""
    replacing: float
    beside: float
    """The shares of the cases that explore a set in place of the tree, and beside it."""


class TreeExploration(_Tried):
    """A share of the cases buys a set, in place of what the tree says or beside it."""

    __slots__ = ()
    kind: ClassVar[str] = "sets beside a tree"

    def tree(self, table: TreeTable) -> Tree:
        """Returns both as the kernels take them."""
        from askwise._kernels.policy.tree_cases import Tree

        is_set = table.acquisition == "simultaneous"
        needs = table.lattice.action_needs
        return Tree(table.look, table.actions, table.child, *self, is_set, needs)

    def looks(self, table: TreeTable, state: int, tag: int) -> tuple[int, ...]:
        """Returns the one observation that a case with that tag buys now, or what of its set is
        unknown.
        """
        from askwise._kernels.policy.tree_cases import behaviour_of, next_look, set_of

        tree, lattice = self.tree(table), table.lattice
        if tree.is_set:
            values = values_in(lattice, lattice.context(state))
            bought = lattice.members(int(set_of(lattice.layout, tree, tag, values, 0)))
            return remaining(lattice, bought, lattice.domain(state))
        node, subset = table.row(state), lattice.subset_of(state)
        i = int(next_look(lattice.layout, tree, tag, behaviour_of(tree, tag), node, subset))
        return () if i < 0 else (i,)

    def action(self, table: TreeTable, state: int, tag: int) -> int:
        """Returns the action of a case with that tag."""
        from askwise._kernels.policy.tree_cases import action_of, behaviour_of

        tree, lattice = self.tree(table), table.lattice
        case = behaviour_of(tree, tag), table.row(state), lattice.subset_of(state)
        return int(action_of(lattice.layout, tree, tag, *case))

    def propensities(
        self, table: TreeTable, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities:
        """Returns the probability of each step, computed on demand, because a tree is small."""
        tree = self.tree(table)
        kind = set_tree_propensities if tree.is_set else tree_propensities
        return partial(kind, table.lattice, tree, start, path, looks, action)

    def tally(self, table: TreeTable, start: int, state: int, tag: int, tallies: Tallies) -> None:
        """Counts the observations of a case with that tag that began in one state and acted in
        another.
        """
        from askwise._kernels.policy.tree_cases import decide

        lattice = table.lattice
        tree, case = self.tree(table), (start, lattice.subset_of(start))
        decide(lattice.layout, tree, tag, values_in(lattice, state), 0, *case, tallies)

    def run(
        self,
        table: TreeTable,
        statistics: Statistics,
        tallies: Tallies,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decides and counts a case for each tag. Returns the states acted in, and the actions."""
        from askwise._kernels.policy.tree_cases import run_tree

        statistics.make_room(len(tags))
        out = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        plan, counters = (table.lattice.layout, self.tree(table)), statistics.counters
        run_tree(*plan, tags, values, rewards, UNIT, counters, tallies, *out)
        return out

    def header(self) -> dict[str, Any]:
        """Returns the number of sets, and the probabilities of exploring."""
        return {"sets": len(self.sets), "replacing": self.replacing, "beside": self.beside}

    def arrays(self) -> dict[str, Array]:
        """Returns the sets to explore, and the probabilities of actions then."""
        return {"sets": self.sets, "acts": self.acts}

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], read: ReadArray, table: TreeTable
    ) -> TreeExploration:
        """Returns the saved exploration. An invalid one raises a `FileError`."""
        number, replacing = header.get("sets"), header.get("replacing")
        beside = header.get("beside")
        if type(number) is not int or not 0 < number <= MOST_SETS:
            raise FileError(f"a policy has {number} sets")
        if type(replacing) is not float or type(beside) is not float:
            raise FileError(f"a policy tries sets in {replacing} and {beside} of the cases")
        if not (replacing >= 0 and beside >= 0 and replacing + beside <= 1):  # NaN is not, either
            raise FileError(f"a policy tries sets in {replacing} and {beside} of the cases")
        lattice = table.lattice
        sets = read("sets", (number, lattice.m), np.int64)
        if lattice.m:
            check_choices("sets", sets, 0, lattice.buyable)
        if (np.diff(np.sort(sets, axis=1), axis=1) == 0).any():
            raise FileError("a policy tries a set in which something is twice")
        if any(lattice.in_order(members) != members for members in sets.tolist()):
            raise FileError("a policy tries a set in which something comes before what it requires")
        acts = read("acts", (len(lattice.problem.actions),), np.float64)
        if not ((acts >= 0).all() and abs(acts.sum() - 1) < 1e-6):  # NaN is neither
            raise FileError("how a policy acts otherwise are not probabilities")
        return cls(sets, acts, replacing, beside)


def values_in(lattice: Lattice, state: int) -> Choices:
    """(1, D): the values that are known in a state. The others are 0, and are not used."""
    values = np.zeros((1, len(lattice.observations)), np.int16)
    for i, x in lattice.digits(state):
        values[0, i] = x
    return values


def _sets_of(lattice: Lattice, look: Choices, child: Integers) -> Integers:
    """The set that a tree buys in each context, as a subset of the lattice."""
    nodes: Integers = np.zeros(lattice.contexts, np.int64)
    context = np.arange(lattice.contexts)
    while (given := look[nodes] >= lattice.buyable).any():
        place = np.where(given, look[nodes] - lattice.buyable, 0)
        digit = context // lattice.layout.given[place] % lattice.outcomes[lattice.buyable + place]
        nodes = np.where(given, child[nodes, digit], nodes)
    sets = {node: _set_below(lattice, look, child, node) for node in set(nodes.tolist())}
    return np.array([sets[node] for node in nodes.tolist()])


def _set_below(lattice: Lattice, look: Choices, child: Integers, node: int) -> int:
    members = []
    while look[node] >= 0:
        members.append(int(look[node]))
        node = int(child[node, 0])
    return lattice.subset(tuple(sorted(members)))


def _check_tree(lattice: Lattice, look: Array, child: Array, *, is_set: bool) -> None:
    if child.max(initial=0) != len(look) - 1:
        raise FileError("a policy's tree has not as many nodes as it should have")
    known: list[tuple[int, ...]] = [()] * len(look)
    bought, context = [0] * len(look), [0] * len(look)
    sets: dict[tuple[int, int], int] = {}
    for node, i in enumerate(look.tolist()):  # parents come first
        before = known[node]
        if i >= lattice.buyable:
            if i in before or bought[node]:
                raise FileError("a policy asks twice, or too late, for what is given")
        else:
            if i >= 0 and (i in before or bought[node] == lattice.m):
                raise FileError("a policy looks at what is known already, or at more than it may")
            if is_set and sets.setdefault((context[node], bought[node]), i) != i:
                raise FileError("a policy that buys a set does not buy the same whatever it shows")
        for after in child[node][child[node] >= 0].tolist():
            known[after] = (*before, i)
            bought[after] = bought[node] + (i < lattice.buyable)
            context[after] = after if i >= lattice.buyable else context[node]
