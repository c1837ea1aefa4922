"""A plan for a few observations as a compact tree over all of them: only what can be reached."""

from typing import NamedTuple

import numpy as np

from askwise._typing import Choices, Floats, Integers
from askwise.estimation.estimates import Estimates
from askwise.lattice import Lattice


class CompactTree(NamedTuple):
    """What to do in each node; node 0 is the empty state."""

    look: Choices
    """The observation of the full problem to look at, −1 to act."""
    action: Choices
    child: Integers
    """(nodes, values): where each value leads."""
    value: Floats
    """What is expected from each node on: β r̂* where it acts, else −c_i + Σ p̂ · value."""


def compact_tree(
    lattice: Lattice,
    observations: tuple[int, ...],
    following: Choices,
    estimates: Estimates,
    values: int,
) -> CompactTree:
    """The nodes that a policy over the lattice of the few can reach, in the order they are met.

    `observations` are the few as places in the full problem, `values` the most that one of its
    observations has. The estimates have one weight a state.
    """
    states = [0]
    for state in states:  # grows
        if following[state] >= 0:
            states.extend(lattice.children(state, int(following[state])))
    look = following[states]
    child = children_of(look, lattice.layout.radices)
    value = lattice.problem.reward_value * estimates.reward[states]
    weight = estimates.weight[states]
    for node in range(len(states) - 1, -1, -1):  # children come after their parents
        if look[node] >= 0:
            after = child[node][child[node] >= 0]
            value[node] = weight[after] @ value[after] / weight[after].sum()
            value[node] -= lattice.costs[look[node]]
    in_full = np.array([*observations, -1], np.int16)[look]
    wide = np.full((len(states), values), -1)
    wide[:, : child.shape[1]] = child
    return CompactTree(in_full, estimates.action[states], wide, value)


def children_of(look: Choices, radices: Integers) -> Integers:
    """(nodes, values): where each value leads, if nodes are numbered in the order they are met."""
    ways = np.where(look >= 0, radices[look], 0)
    first = 1 + np.cumsum(ways) - ways
    value = np.arange(int(radices.max()))
    return np.where(value < ways[:, None], first[:, None] + value, -1)


def follow_set(lattice: Lattice, subset: int) -> Choices:
    """The sequential plan that looks at the members of a set in order, whatever they show."""
    following = np.full(lattice.size, -1, np.int16)
    members = lattice.members(subset)
    for k in range(len(members)):
        states = lattice.states(lattice.subset(members[:k]))
        following[states.start : states.stop] = members[k]
    return following
