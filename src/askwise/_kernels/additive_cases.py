"""Many cases under the policy of a round, a compact tree of the states that it can reach.

Whatever is random within a case is a function of its tag, 64 bits drawn when it opens: the n-th
uniform number of a case is scramble(tag + (n + 1) · golden) / 2⁶⁴, as in splitmix64. So a case can
be replayed, and the order in which cases are answered does not matter.

With probability `explore` a case tries something. A coin decides whether it first looks at a pair
and then follows the tree as far as m looks allow, or follows the tree and then looks at single ones
until m are known. Pairs come from a list that the plan made, single ones are any. Either way it
acts as the tree says with what the tree asked for, but now and then at random.
"""

from typing import NamedTuple

import numpy as np

from askwise._kernels.additive_rows import Rows, row_of, scramble
from askwise._kernels.jit import jit
from askwise._kernels.lattices import child
from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Layout

GOLDEN = 0x9E3779B97F4A7C15
RANDOM_ACTIONS = 0.25
"""The share of the trying cases that act at random."""

FOLLOW, PAIR_FIRST, SINGLES_LAST = 0, 1, 2
"""What a case does: just follow the tree, or something before or after it."""

_KIND, _DIE, _ACTION, _PAIR, _LOOKS = 0, 1, 2, 3, 8
"""Which uniform number of a case decides what."""


class Tree(NamedTuple):
    """The policy of a round."""

    look: Integers
    """What to look at in each node, −1 to act; node 0 is the root."""
    action: Integers
    """What to do in each node, if nothing more is looked at."""
    child: Integers
    """(nodes, values): the node that a value leads to."""
    pairs: Integers
    """(n, 2): pairs worth trying, as often as they are."""
    explore: float
    """The share of the cases that try something."""
    blind: bool
    """Whether the tree looks at a set chosen beforehand (simultaneous)."""


class Tallies(NamedTuple):
    """Counters beside the rows."""

    marginal: Integers
    """(D, values): what was seen in looks that did not depend on anything seen before."""
    tried: Integers
    """(D + 1): random looks at each observation, and cases that made any."""


@jit
def uniform(tag: np.uint64, n: int) -> float:
    """The n-th uniform number of a case."""
    bits = scramble(tag + np.uint64(n + 1) * np.uint64(GOLDEN))
    return (bits >> np.uint64(11)) * 2.0**-53


@jit
def kind_of(tree: Tree, tag: np.uint64) -> int:
    """What a case with this tag does."""
    luck = uniform(tag, _KIND)
    if luck >= tree.explore:
        return FOLLOW
    return PAIR_FIRST if luck < 0.5 * tree.explore else SINGLES_LAST


@jit
def is_known(layout: Layout, subset: int, i: int) -> bool:
    """Whether i is a member of the subset."""
    known = False
    for j in range(layout.sizes[subset]):
        known |= layout.members[subset, j] == i
    return known


@jit
def untold_look(layout: Layout, tree: Tree, tag: np.uint64, kind: int, subset: int) -> int:
    """What a case looks at before (or after) it follows the tree; −1 for nothing more."""
    size = layout.sizes[subset]
    if kind == PAIR_FIRST:
        pair = int(uniform(tag, _PAIR) * len(tree.pairs))
        return tree.pairs[pair, size] if size < 2 else -1
    n = 0
    while True:
        i = int(uniform(tag, _LOOKS + n) * len(layout.radices))
        if not is_known(layout, subset, i):
            return i
        n += 1


@jit
def descend(layout: Layout, tree: Tree, values: Choices, subset: int, node: int) -> int:
    """The node that is reached by what is known already."""
    while tree.look[node] >= 0 and is_known(layout, subset, tree.look[node]):
        node = tree.child[node, values[tree.look[node]]]
    return node


@jit
def next_look(layout: Layout, tree: Tree, tag: np.uint64, kind: int, node: int, subset: int) -> int:
    """What a case looks at next; −1 to act."""
    if layout.sizes[subset] == layout.members.shape[1]:
        return -1
    if kind == PAIR_FIRST:
        i = untold_look(layout, tree, tag, kind, subset)
        if i >= 0:
            return i
    if tree.look[node] >= 0:
        return tree.look[node]
    return untold_look(layout, tree, tag, kind, subset) if kind == SINGLES_LAST else -1


@jit
def action_of(tree: Tree, tag: np.uint64, kind: int, node: int, actions: int) -> int:
    """What a case does in the end."""
    if kind != FOLLOW and uniform(tag, _DIE) < RANDOM_ACTIONS:
        return int(uniform(tag, _ACTION) * actions)
    return tree.action[node]


@jit
def run_tree(
    layout: Layout,
    tree: Tree,
    tags: np.ndarray,
    values: Choices,
    rewards: Floats,
    scale: float,
    rows: Rows,
    used: int,
    tallies: Tallies,
    out_state: Integers,
    out_action: Choices,
) -> int:
    """Decide and count every case, each rewarded at once; returns the number of rows then used."""
    for t in range(len(values)):
        kind = kind_of(tree, tags[t])
        state = 0
        subset = 0
        node = 0
        level = 0
        i = next_look(layout, tree, tags[t], kind, node, subset)
        while i >= 0:
            union, first, stride, _ = child(layout, subset, state, i)
            x = values[t, i]
            first_two = kind == PAIR_FIRST and level < 2
            tallies.tried[i] += first_two or tree.look[node] != i
            if first_two or level == 0 or tree.blind:
                tallies.marginal[i, x] += 1
            state = first + x * stride
            subset = union
            level += 1
            if kind != PAIR_FIRST or level >= 2:
                node = descend(layout, tree, values[t], subset, node)
            i = next_look(layout, tree, tags[t], kind, node, subset)
        tallies.tried[-1] += kind != FOLLOW
        action = action_of(tree, tags[t], kind, node, rewards.shape[1])
        row = row_of(rows, used, state)
        used += row == used
        rows.counts[row, action] += 1
        rows.sums[row, action] += np.int64(np.rint(rewards[t, action] * scale))
        out_state[t] = state
        out_action[t] = action
    return used
