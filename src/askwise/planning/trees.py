"""Turns a plan for a few observations into a compact tree over all of them, with reachable nodes
only.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice


class CompactTree(NamedTuple):
    """The choice in each node; in node 0 nothing is known yet."""

    look: Choices
    """The observation of the full problem to buy, free if it is given; −1 to act."""
    action: Choices
    child: Integers
    """(nodes, values): where each value leads."""
    value: Floats
    """The expected value from each node on: β r̂* where it acts, else −c_i + Σ p̂ · value."""


def compact_tree(
    lattice: Lattice,
    observations: tuple[int, ...],
    look: Choices,
    estimates: Estimates,
    values: int,
) -> CompactTree:
    """Returns the nodes that a policy over the lattice of the few can reach, in the order of
    visits.

    `observations` are the few as indices in the full problem, and `values` is the most values of
    any of its observations. The estimates have one weight a state.
    """
    of_nodes, states = _given_first(lattice)
    first = len(states) - lattice.contexts
    for state in states[first:]:
        of_nodes.append(int(look[state]))
    for node, state in enumerate(states):  # grows
        if node >= first and of_nodes[node] >= 0:
            children = lattice.children(state, of_nodes[node])
            states.extend(children)
            of_nodes.extend(int(look[below]) for below in children)
    looks = np.array(of_nodes, np.int16)
    child = children_of(looks, lattice.outcomes)
    value = lattice.problem.reward_value * estimates.reward[states]
    weight = estimates.weight[states]
    for node in range(len(states) - 1, -1, -1):  # children come after their parents
        if of_nodes[node] >= 0:
            after = child[node][child[node] >= 0]
            price, worth = 0.0, value[after]
            if node >= first:
                price = lattice.price(states[node], (of_nodes[node],))
                refunded = lattice.tariff.refunded[of_nodes[node]]
                if refunded >= 0:
                    worth[refunded] += price
            else:
                weight[node] = weight[after].sum()
            value[node] = weight[after] @ worth / weight[after].sum()
            value[node] -= price
    in_full = np.array([*observations, -1], np.int16)[looks]
    wide = np.full((len(states), values), -1)
    wide[:, : child.shape[1]] = child
    return CompactTree(in_full, estimates.action[states], wide, value)


def _given_first(lattice: Lattice) -> tuple[list[int], list[int]]:
    """The nodes that lead to each context, level by level, and the contexts as the last level.

    Returns what each of the former looks at, and a state for every node.
    """
    look: list[int] = []
    level = [0]
    states: list[int] = []
    for i, stride in enumerate(lattice.layout.given.tolist(), start=lattice.buyable):
        look += [i] * len(level)
        states += level
        level = [g + x * stride for g in level for x in range(int(lattice.outcomes[i]))]
    return look, states + level


def without_idle_looks(lattice: Lattice, look: Choices, action: Choices) -> tuple[Choices, Choices]:
    """Returns the plan (g and h) without observations after which the action is always the same.

    An observation that this action requires stays.
    """
    look, action = look.copy(), action.copy()

    def matters(state: int, i: int, done: set[int]) -> bool:
        if len(done) > 1 or not lattice.allows(state, *done):
            return True
        (action[state],) = done
        return False

    for context in range(lattice.contexts):
        prune_looks(lattice, look, action, context, matters)
    return look, action


def prune_looks(
    lattice: Lattice,
    look: Choices,
    action: Choices,
    state: int,
    keeps: Callable[[int, int, set[int]], bool],
) -> set[int]:
    """Removes observations from a plan in place, from the last ones up; returns the possible
    actions.

    `keeps(ψ, i, done)` says whether an observation stays, where `done` are the actions that may
    follow it in what was kept.
    """
    i = int(look[state])
    if i >= 0:
        children = lattice.children(state, i)
        after = (prune_looks(lattice, look, action, child, keeps) for child in children)
        done = set().union(*after)
        if keeps(state, i, done):
            return done
        look[state] = -1
    return {int(action[state])}


def children_of(look: Choices, radices: Integers) -> Integers:
    """(nodes, values): where each value leads, if nodes are numbered in the order they are met."""
    ways = np.where(look >= 0, radices[look], 0)
    first = 1 + np.cumsum(ways) - ways
    value = np.arange(int(radices.max()))
    return np.where(value < ways[:, None], first[:, None] + value, -1)


def follow_sets(lattice: Lattice, sets: Integers) -> Choices:
    """Returns the sequential plan that buys the members of each context's set in order, whatever
    their values; what a member requires comes before it.
    """
    look = np.full(lattice.size, -1, np.int16)
    for context, subset in enumerate(sets.tolist()):
        members = lattice.in_order(lattice.members(subset))
        for k in range(len(members)):
            known = lattice.subset(tuple(sorted(members[:k])))
            context_subset = lattice.context_subset(known, context)
            first, end = lattice.layout.context_offsets[context_subset : context_subset + 2]
            look[first:end] = members[k]
    return look
