"""Many cases under the policy of a round, a compact tree of the states that it can reach.

Whatever is random within a case is a function of its tag, as in `learners/explored_runs.py`: a case
with the same tag, shown the same, does the same again, in whichever loop.

With probability `explore` a case tries something. A coin decides whether it first looks at a pair
and then follows the tree as far as m looks allow, or follows the tree and then looks at single ones
until m are known. Pairs come from a list that the plan made, single ones are any. Either way it
acts as the tree says with what the tree asked for, but now and then at random.
"""

from typing import NamedTuple

from askwise._kernels.counting.counting import count_reward
from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.learners.explored_runs import any_unknown, uniform
from askwise._kernels.states.lattices import child, start_of, union_of
from askwise._kernels.states.rows import insert
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters

RANDOM_ACTIONS = 0.25
"""The share of the trying cases that act at random."""

FOLLOW, PAIR_FIRST, SINGLES_LAST = 0, 1, 2
"""What a case does: just follow the tree, or something before or after it."""

_KIND, _DIE, _ACTION, _PAIR, _LOOKS = 0, 1, 2, 3, 8
"""Which uniform number of a case decides what."""


class Tree(NamedTuple):
    """The policy of a round."""

    look: Choices
    """What to look at in each node, −1 to act; node 0 is the root."""
    action: Choices
    """What to do in each node, if nothing more is looked at."""
    child: Integers
    """(nodes, values): the node that a value leads to."""
    pairs: Integers
    """(n, 2): pairs worth trying, as often as they are."""
    explore: float
    """The share of the cases that try something."""
    is_set: bool
    """Whether the tree looks at a set chosen beforehand (simultaneous)."""


class Tallies(NamedTuple):
    """Counters beside the statistics."""

    marginal: Integers
    """(D, values): what was given, and seen in looks that did not depend on anything."""
    tried: Integers
    """(D + 1): random looks at each observation, and cases that made any."""


@jit_no_arrays
def behaviour_of(tree: Tree, tag: int) -> int:
    """What a case with this tag does."""
    luck = uniform(tag, _KIND)
    if luck >= tree.explore:
        return FOLLOW
    return PAIR_FIRST if luck < 0.5 * tree.explore else SINGLES_LAST


@jit_internal
def is_known(layout: Layout, subset: int, i: int) -> bool:
    """Whether i is a member of the subset, or given."""
    known = i >= len(layout.radices)
    for j in range(layout.sizes[subset]):
        known |= layout.members[subset, j] == i
    return known


@jit_no_arrays
def node_after(layout: Layout, tree: Tree, values: Choices, t: int, subset: int, node: int) -> int:
    """The node that is reached from a node when case t knows its values of the subset."""
    while tree.look[node] >= 0 and is_known(layout, subset, tree.look[node]):
        node = tree.child[node, values[t, tree.look[node]]]
    return node


@jit_no_arrays
def next_look(layout: Layout, tree: Tree, tag: int, behaviour: int, node: int, subset: int) -> int:
    """What a case looks at next; −1 to act."""
    size = layout.sizes[subset]
    if size == layout.members.shape[1]:
        return -1
    if behaviour == PAIR_FIRST and size < 2:
        i = tree.pairs[int(uniform(tag, _PAIR) * len(tree.pairs)), size]
        if not is_known(layout, subset, i):  # it may have been on file
            return i
    if tree.look[node] < 0 and behaviour == SINGLES_LAST:
        return any_unknown(layout, subset, uniform(tag, _LOOKS + size))
    return tree.look[node]


@jit_no_arrays
def set_of(layout: Layout, tree: Tree, tag: int, values: Choices, subset: int) -> int:
    """The subset that a case knows in the end under a tree of sets, if it knows this one before.

    No value that is bought changes what is bought.
    """
    behaviour = behaviour_of(tree, tag)
    node = node_after(layout, tree, values, 0, subset, 0)
    i = next_look(layout, tree, tag, behaviour, node, subset)
    while i >= 0:
        subset = union_of(layout, subset, i)[0]
        node = node_after(layout, tree, values, 0, subset, node)
        i = next_look(layout, tree, tag, behaviour, node, subset)
    return subset


@jit_no_arrays
def action_of(tree: Tree, tag: int, behaviour: int, node: int, actions: int) -> int:
    """What a case does in the end."""
    if behaviour != FOLLOW and uniform(tag, _DIE) < RANDOM_ACTIONS:
        return int(uniform(tag, _ACTION) * actions)
    return tree.action[node]


@jit_no_arrays
def decide(
    layout: Layout,
    tree: Tree,
    tag: int,
    values: Choices,
    t: int,
    state: int,
    subset: int,
    actions: int,
    tallies: Tallies,
) -> tuple[int, int]:
    """The state that case t acts in and its action, if it begins in this state of that subset.

    What it looked at is tallied.
    """
    behaviour = behaviour_of(tree, tag)
    node = node_after(layout, tree, values, t, subset, 0)
    level = layout.sizes[subset]
    first = len(layout.radices)
    for j in range(len(layout.given)):
        tallies.marginal[first + j, values[t, first + j]] += 1
    i = next_look(layout, tree, tag, behaviour, node, subset)
    while i >= 0:
        union, first, stride, _ = child(layout, subset, state, i)
        first_two = behaviour == PAIR_FIRST and level < 2
        if first_two or tree.look[node] != i:
            tallies.tried[i] += 1
        if first_two or level == 0 or tree.is_set:
            tallies.marginal[i, values[t, i]] += 1
        state = first + values[t, i] * stride
        subset = union
        level += 1
        node = node_after(layout, tree, values, t, subset, node)
        i = next_look(layout, tree, tag, behaviour, node, subset)
    if behaviour != FOLLOW:
        tallies.tried[len(tallies.tried) - 1] += 1
    return state, action_of(tree, tag, behaviour, node, actions)


@jit_no_arrays
def run_tree(
    layout: Layout,
    tree: Tree,
    tags: Integers,
    values: Choices,
    rewards: Floats,
    unit: float,
    counters: Counters,
    tallies: Tallies,
    out_state: Integers,
    out_action: Choices,
) -> None:
    """Decide and count one case for each tag, each rewarded at once."""
    actions = rewards.shape[1]
    for t in range(len(tags)):
        start = start_of(layout, values, t)
        state, action = decide(layout, tree, tags[t], values, t, start, 0, actions, tallies)
        row = insert(counters.rows, state)
        count_reward(counters, row, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
