"""Many cases under the policy of a round, a compact tree of the states that it can reach.

Whatever is random within a case is a function of its tag, 64 bits drawn when it opens: the n-th
uniform number of a case is scramble(tag + (n + 1) · golden) / 2⁶⁴, as in splitmix64. So a case can
be replayed, and the order in which cases are answered does not matter.

With probability `explore` a case tries something: a coin decides between a random set of m
observations (then acting by a bold draw of additive effects), and following the tree, then looking
at random ones until m are known. One in `REASHED` of them acts at random.
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

FOLLOW, FILL, RANDOM = 0, 1, 2
"""What a case does: the tree; the tree and then random looks; random looks."""

_KIND, _DIE, _ACTION, _LOOKS = 0, 1, 2, 8
"""Which uniform number of a case decides what."""


class Tree(NamedTuple):
    """The policy of a round."""

    look: Integers
    """What to look at in each node, −1 to act; node 0 is the root."""
    action: Integers
    """What to do in each node, if nothing more is looked at."""
    child: Integers
    """(nodes, values): the node that a value leads to."""
    bold: Floats
    """(D, values, A): a draw of every effect, by which random looks are acted upon."""
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
    return RANDOM if luck < 0.5 * tree.explore else FILL


@jit
def random_look(layout: Layout, subset: int, tag: np.uint64) -> int:
    """An observation that is not in the subset, all equally likely."""
    size = layout.sizes[subset]
    n = _LOOKS
    while True:
        i = int(uniform(tag, n) * len(layout.radices))
        known = False
        for j in range(size):
            known |= layout.members[subset, j] == i
        if not known:
            return i
        n += 1


@jit
def next_look(layout: Layout, tree: Tree, tag: np.uint64, kind: int, node: int, subset: int) -> int:
    """What a case looks at next; −1 to act."""
    if kind != RANDOM and tree.look[node] >= 0:
        return tree.look[node]
    if kind != FOLLOW and layout.sizes[subset] < layout.members.shape[1]:
        return random_look(layout, subset, tag)
    return -1


@jit
def action_of(tree: Tree, tag: np.uint64, kind: int, node: int, effect: Floats) -> int:
    """What a case does in the end; `effect` is the sum of the bold effects of what it saw."""
    if kind != FOLLOW and uniform(tag, _DIE) < RANDOM_ACTIONS:
        return int(uniform(tag, _ACTION) * len(effect))
    return np.argmax(effect) if kind == RANDOM else tree.action[node]


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
    effect = np.empty(rewards.shape[1])
    for t in range(len(values)):
        kind = kind_of(tree, tags[t])
        effect[:] = tree.bold[-1, 0]
        state = 0
        subset = 0
        node = 0
        level = 0
        i = next_look(layout, tree, tags[t], kind, node, subset)
        while i >= 0:
            union, first, stride, _ = child(layout, subset, state, i)
            x = values[t, i]
            effect += tree.bold[i, x]
            if kind == RANDOM or tree.look[node] < 0:
                tallies.tried[i] += 1
            if kind == RANDOM or level == 0 or tree.blind:
                tallies.marginal[i, x] += 1
            if tree.look[node] >= 0:
                node = tree.child[node, x] if kind != RANDOM else node
            state = first + x * stride
            subset = union
            level += 1
            i = next_look(layout, tree, tags[t], kind, node, subset)
        tallies.tried[-1] += kind != FOLLOW
        action = action_of(tree, tags[t], kind, node, effect)
        row = row_of(rows, used, state)
        used += row == used
        rows.counts[row, action] += 1
        rows.sums[row, action] += np.int64(np.rint(rewards[t, action] * scale))
        out_state[t] = state
        out_action[t] = action
    return used
