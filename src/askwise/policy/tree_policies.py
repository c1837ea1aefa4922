"""Policies as compact trees: tables of the nodes that can be reached, however large the problem.

A plan for many observations looks at few of them. Its tables have a row for each node of its tree,
and the row of a state is the node that what is known there leads to. Beside it a policy tries
things, by the tag of the case (`_kernels/policy/tree_cases.py`); `tree` and `evaluate` show what it
would do without.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.policy.policy import Path, Policy, Propensities, SequentialPolicy, SimultaneousPolicy
from askwise.policy.propensities import blind_tree_chances, remaining, tree_chances
from askwise.states import Lattice

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.policy.tree_cases import Tallies, Tree


class _OfTree(Policy):
    """What both kinds do with their tree."""

    compact: Tree

    def node(self, state: int) -> int:
        """The node that what is known in a state leads to."""
        from askwise._kernels.policy.tree_cases import node_after

        layout, subset = self.lattice.layout, self.lattice.subset_of(state)
        return int(node_after(layout, self.compact, self._values_in(state), 0, subset, 0))

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with that tag."""
        from askwise._kernels.policy.tree_cases import action_of, kind_of

        tree = self.compact
        actions = len(self.problem.actions)
        return int(action_of(tree, tag, kind_of(tree, tag), self.node(state), actions))

    def chances(self, start: int, path: Path, looks: tuple[int, ...], action: int) -> Propensities:
        """Of each step; when somebody asks, since a tree is small."""
        kind = blind_tree_chances if self.compact.blind else tree_chances
        return partial(kind, self.lattice, self.compact, start, path, looks, action)

    def tally(self, start: int, state: int, tag: int, tallies: Tallies) -> None:
        """A case with that tag began in one state and acted in another: count its looks."""
        from askwise._kernels.policy.tree_cases import decide

        layout, subset = self.lattice.layout, self.lattice.subset_of(start)
        case = (tag, self._values_in(state), 0, start, subset, len(self.problem.actions))
        decide(layout, self.compact, *case, tallies)

    def run(
        self,
        statistics: Statistics,
        tallies: Tallies,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        from askwise._kernels.policy.tree_cases import run_tree

        statistics.make_room(len(tags))
        states, actions = np.empty(len(tags), np.int64), np.empty(len(tags), np.int16)
        run_tree(
            self.lattice.layout,
            self.compact,
            tags,
            values,
            rewards,
            UNIT,
            statistics.counters,
            tallies,
            states,
            actions,
        )
        return states, actions

    def _values_in(self, state: int) -> Choices:
        """(1, D): the values that are known in a state; the others are 0, and nobody asks."""
        values = np.zeros((1, len(self.lattice.observations)), np.int16)
        for i, x in self.lattice.digits(state):
            values[0, i] = x
        return values


class SequentialTree(_OfTree, SequentialPolicy):
    """Buys one after the other as a tree says, and now and then something else."""

    def __init__(
        self, lattice: Lattice, tree: Tree, values: Floats, frequency: Floats | None = None
    ) -> None:
        self.compact = frozen(tree)
        super().__init__(lattice, tree.look, tree.action, values, self.node, frequency)

    def copy(self) -> SequentialTree:
        """The same policy with tables of its own."""
        tables = (copied(self.compact), self.values.copy())
        return SequentialTree(self.lattice, *tables, self.frequency)

    def looks(self, state: int) -> tuple[int, ...]:
        """The one observation to buy now."""
        is_full = self.lattice.layout.sizes[self.lattice.subset_of(state)] == self.lattice.m
        return () if is_full else super().looks(state)

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """The one observation that a case with that tag buys now."""
        from askwise._kernels.policy.tree_cases import kind_of, next_look

        tree, subset = self.compact, self.lattice.subset_of(state)
        kind, node = kind_of(tree, tag), self.node(state)
        i = int(next_look(self.lattice.layout, tree, tag, kind, node, subset))
        return () if i < 0 else (i,)


class SimultaneousTree(_OfTree, SimultaneousPolicy):
    """Buys a set at once, acts as a tree says, and now and then buys another set."""

    def __init__(
        self, lattice: Lattice, tree: Tree, values: Floats, frequency: Floats | None = None
    ) -> None:
        self.compact = frozen(tree)
        sets = sets_of_tree(lattice, tree)
        super().__init__(lattice, sets, tree.action, values, self.node, frequency)

    def value_from(self, context: int) -> float:
        """What is expected where the context leads."""
        return float(self.values[self.node(context)])

    def copy(self) -> SimultaneousTree:
        """The same policy with tables of its own."""
        tables = (copied(self.compact), self.values.copy())
        return SimultaneousTree(self.lattice, *tables, self.frequency)

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """What of the case's set is not known yet."""
        from askwise._kernels.policy.tree_cases import set_of

        layout, tree = self.lattice.layout, self.compact
        start = self.lattice.context(state)
        bought = self.lattice.members(int(set_of(layout, tree, tag, self._values_in(start), 0)))
        return remaining(self.lattice, bought, self.lattice.domain(state))


TreePolicy = SequentialTree | SimultaneousTree


def tree_policy(
    lattice: Lattice, tree: Tree, values: Floats, frequency: Floats | None = None
) -> TreePolicy:
    """The policy of a tree, of the kind that it is for."""
    kind = SimultaneousTree if tree.blind else SequentialTree
    return kind(lattice, tree, values, frequency)


def sets_of_tree(lattice: Lattice, tree: Tree) -> Integers:
    """The set that a blind tree looks at in each context, as a subset of the lattice."""
    nodes: Integers = np.zeros(lattice.contexts, np.int64)
    context = np.arange(lattice.contexts)
    while (given := tree.look[nodes] >= lattice.buyable).any():
        place = np.where(given, tree.look[nodes] - lattice.buyable, 0)
        digit = context // lattice.layout.given[place] % lattice.outcomes[lattice.buyable + place]
        nodes = np.where(given, tree.child[nodes, digit], nodes)
    sets = {node: _set_below(lattice, tree, node) for node in set(nodes.tolist())}
    return np.array([sets[node] for node in nodes.tolist()])


def _set_below(lattice: Lattice, tree: Tree, node: int) -> int:
    members = []
    while tree.look[node] >= 0:
        members.append(int(tree.look[node]))
        node = int(tree.child[node, 0])
    return lattice.subset(tuple(sorted(members)))


def frozen(tree: Tree) -> Tree:
    """The tree, whose tables nobody can change any more."""
    for array in (tree.look, tree.action, tree.child, tree.pairs):
        array.setflags(write=False)
    return tree


def copied(tree: Tree) -> Tree:
    """The same tree with tables of its own."""
    return tree._replace(
        look=tree.look.copy(),
        action=tree.action.copy(),
        child=tree.child.copy(),
        pairs=tree.pairs.copy(),
    )
