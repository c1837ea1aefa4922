"""These kernels run many cases under the policy of a round, a compact tree of reachable states.

All randomness within a case is a function of its tag, as in `learners/explored_runs.py`. So a case
with the same tag and the same values repeats the same choices in every loop.

Some cases explore a set from a list that the plan made. They buy the first r of its m members, then
follow the tree as far as m purchases allow, then buy the others. With probability `replacing` a
case buys the whole set in place of the tree, r = m. With probability `beside` r is 0, 1 or 2, which
loses less of the tree's value. Members that are bought last extend what the tree has seen, and two
members that are bought first are seen together. Such cases act as the tree says with what the tree
asked for, but sometimes they take another action.
"""

from typing import NamedTuple

from askwise._kernels.counting.counting import count_reward
from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.learners.explored_runs import uniform
from askwise._kernels.states.lattices import child, start_of, union_of
from askwise._kernels.states.rows import insert
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters

ACTING_REPLACING = 0.25
ACTING_BESIDE = 0.1
"""The share of the exploring cases that act by `Tree.acts`, in place of the tree and beside it."""

FOLLOW = -1
"""The behaviour of a case that does not explore. Else it is r, the members bought before the
tree.
"""

FEW = 3
"""A case that explores beside the tree buys fewer than so many members before it."""

_KIND, _DIE, _ACTION, _SET = 0, 1, 2, 3
"""The index of each uniform number of a case."""


class Tree(NamedTuple):
    """The policy of a round as a tree."""

    look: Choices
    """The observation to buy in each node, or −1 to act. Node 0 is the root."""
    action: Choices
    """The action in each node, if nothing more is bought."""
    child: Integers
    """(nodes, values): the node that a value leads to."""
    sets: Integers
    """(n, m): sets to explore, each repeated in proportion to its weight."""
    acts: Floats
    """(A): the probability of each action where a case takes another action, among the allowed
    ones.
    """
    replacing: float
    beside: float
    """The shares of the cases that explore a set in place of the tree, and beside it."""
    is_set: bool
    """Whether the tree buys a set that is chosen beforehand (simultaneous)."""
    needs: Integers
    """(A, …): what each action requires, padded with −1."""


class Tallies(NamedTuple):
    """Counters that are kept beside the statistics."""

    marginal: Integers
    """(D, values): given values, and values of purchases that did not depend on anything."""


@jit_no_arrays
def behaviour_of(tree: Tree, tag: int) -> int:
    """Return the behaviour of a case with this tag: FOLLOW, or r."""
    luck = uniform(tag, _KIND)
    if luck < tree.replacing:
        return tree.sets.shape[1]
    luck -= tree.replacing
    if luck < tree.beside:
        return min(int(FEW * luck / tree.beside), tree.sets.shape[1])
    return FOLLOW


@jit_internal
def is_known(layout: Layout, subset: int, i: int) -> bool:
    """Return whether i is a member of the subset, or given."""
    known = i >= len(layout.radices)
    for j in range(layout.sizes[subset]):
        known |= layout.members[subset, j] == i
    return known


@jit_no_arrays
def node_after(layout: Layout, tree: Tree, values: Choices, t: int, subset: int, node: int) -> int:
    """Return the node that is reached from a node with case t's values of the subset."""
    while tree.look[node] >= 0 and is_known(layout, subset, tree.look[node]):
        node = tree.child[node, values[t, tree.look[node]]]
    return node


@jit_internal
def first_unknown(layout: Layout, tree: Tree, tag: int, members: int, subset: int) -> int:
    """Return the first of the leading members of a case's set that the subset lacks, or −1."""
    k = int(uniform(tag, _SET) * len(tree.sets))
    for j in range(members):
        if not is_known(layout, subset, tree.sets[k, j]):
            return tree.sets[k, j]
    return -1


@jit_no_arrays
def next_look(layout: Layout, tree: Tree, tag: int, behaviour: int, node: int, subset: int) -> int:
    """Return what a case buys next, or −1 to act."""
    if layout.sizes[subset] == layout.members.shape[1]:
        return -1
    i = first_unknown(layout, tree, tag, behaviour, subset)  # none, if the case follows the tree
    if i < 0:
        i = tree.look[node]
    if i < 0 and behaviour != FOLLOW:
        i = first_unknown(layout, tree, tag, tree.sets.shape[1], subset)
    return i


@jit_no_arrays
def set_of(layout: Layout, tree: Tree, tag: int, values: Choices, subset: int) -> int:
    """Return the final subset of a case under a tree of sets, if it begins with this subset.

    The values that are bought do not change what is bought.
    """
    behaviour = behaviour_of(tree, tag)
    node = node_after(layout, tree, values, 0, subset, 0)
    i = next_look(layout, tree, tag, behaviour, node, subset)
    while i >= 0:
        subset = union_of(layout, subset, i)[0]
        node = node_after(layout, tree, values, 0, subset, node)
        i = next_look(layout, tree, tag, behaviour, node, subset)
    return subset


@jit_internal
def is_allowed(layout: Layout, tree: Tree, subset: int, action: int) -> bool:
    """Return whether the subset has all that the action requires."""
    for j in range(tree.needs.shape[1]):
        i = tree.needs[action, j]
        if i >= 0 and not is_known(layout, subset, i):
            return False
    return True


@jit_no_arrays
def action_of(layout: Layout, tree: Tree, tag: int, behaviour: int, node: int, subset: int) -> int:
    """Return the action of a case that has bought the subset."""
    share = ACTING_REPLACING if behaviour == tree.sets.shape[1] else ACTING_BESIDE
    if behaviour == FOLLOW or uniform(tag, _DIE) >= share:
        return tree.action[node]
    luck = uniform(tag, _ACTION)
    if tree.needs.shape[1] > 0:
        total = 0.0
        for action in range(len(tree.acts)):
            total += tree.acts[action] if is_allowed(layout, tree, subset, action) else 0.0
        luck *= total
    last = tree.action[node]
    for action in range(len(tree.acts)):
        if is_allowed(layout, tree, subset, action):
            last = action
            if luck < tree.acts[action]:
                break
            luck -= tree.acts[action]
    return last


@jit_no_arrays
def decide(
    layout: Layout,
    tree: Tree,
    tag: int,
    values: Choices,
    t: int,
    state: int,
    subset: int,
    tallies: Tallies,
) -> tuple[int, int]:
    """Return the state in which case t acts, and its action, from its start state and subset.

    What the case bought is tallied.
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
        before_tree = i == first_unknown(layout, tree, tag, behaviour, subset)
        if before_tree or level == 0 or tree.is_set:
            tallies.marginal[i, values[t, i]] += 1
        state = first + values[t, i] * stride
        subset = union
        level += 1
        node = node_after(layout, tree, values, t, subset, node)
        i = next_look(layout, tree, tag, behaviour, node, subset)
    return state, action_of(layout, tree, tag, behaviour, node, subset)


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
    """Decide and count one case for each tag. Each is rewarded at once."""
    for t in range(len(tags)):
        start = start_of(layout, values, t)
        state, action = decide(layout, tree, tags[t], values, t, start, 0, tallies)
        row = insert(counters.rows, state)
        count_reward(counters, row, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
