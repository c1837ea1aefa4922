"""A plan for a few observations as a compact tree over all of them: only what can be reached."""

from typing import NamedTuple

import numpy as np

from askwise._typing import Choices, Integers
from askwise.lattice import Lattice


class CompactTree(NamedTuple):
    """What to do in each node; node 0 is the empty state."""

    look: Integers
    """The observation of the full problem to look at, −1 to act."""
    action: Integers
    child: Integers
    """(nodes, values): where each value leads."""


def compact_tree(
    lattice: Lattice,
    observations: tuple[int, ...],
    following: Choices,
    action: Choices,
    values: int,
) -> CompactTree:
    """The nodes that a policy over the lattice of the few can reach, in the order they are met.

    `observations` are the few as places in the full problem, `values` the most that one of its
    observations has.
    """
    states = [0]
    look, act, child = [], [], []
    for state in states:  # grows
        i = int(following[state])
        children = list(lattice.children(state, i)) if i >= 0 else []
        first = len(states)
        look.append(observations[i] if i >= 0 else -1)
        act.append(int(action[state]))
        child.append([first + x if x < len(children) else -1 for x in range(values)])
        states.extend(children)
    return CompactTree(np.array(look), np.array(act), np.array(child))


def follow_set(lattice: Lattice, subset: int) -> Choices:
    """The sequential plan that looks at the members of a set in order, whatever they show."""
    following = np.full(lattice.size, -1, np.int16)
    members = lattice.members(subset)
    for k in range(len(members)):
        states = lattice.states(lattice.subset(members[:k]))
        following[states.start : states.stop] = members[k]
    return following
