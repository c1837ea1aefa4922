"""Many cases under the policy of a round, a compact tree of the states that it can reach.

Whatever is random within a case is a function of its tag, as in `learners/explored_runs.py`: a case
with the same tag, shown the same, does the same again, in whichever loop.

Some cases try something: a set from a list that the plan made. Of its m members they look at the
first r, then follow the tree as far as m looks allow, then look at the others. With probability
`replacing` that is the whole set in place of the tree, r = m. With probability `beside` r is 0, 1
or 2, which costs less of what the tree is worth: what is looked at last leads on from there, and
two that are looked at first are seen together. They act as the tree says with what the tree asked
for, but now and then otherwise.
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
"""The share of the trying cases that act by `Tree.acts`, in place of the tree and beside it."""

FOLLOW = -1
"""What a case does that tries nothing; else r, how many of a set it looks at before the tree."""

FEW = 3
"""A case that tries something beside the tree looks at fewer than so many before it."""

_KIND, _DIE, _ACTION, _SET = 0, 1, 2, 3
"""Which uniform number of a case decides what."""


class Tree(NamedTuple):
    """The policy of a round."""

    look: Choices
    """What to look at in each node, −1 to act; node 0 is the root."""
    action: Choices
    """What to do in each node, if nothing more is looked at."""
    child: Integers
    """(nodes, values): the node that a value leads to."""
    sets: Integers
    """(n, m): sets worth trying, as often as they are."""
    acts: Floats
    """(A): how likely each action is where a case acts otherwise, of those that are allowed."""
    replacing: float
    beside: float
    """The shares of the cases that try a set in place of the tree, and beside it."""
    is_set: bool
    """Whether the tree looks at a set chosen beforehand (simultaneous)."""
    needs: Integers
    """(A, …): what each action requires; −1 fills up."""


class Tallies(NamedTuple):
    """Counters beside the statistics."""

    marginal: Integers
    """(D, values): what was given, and seen in looks that did not depend on anything."""


@jit_no_arrays
def behaviour_of(tree: Tree, tag: int) -> int:
    """What a case with this tag does: FOLLOW, or r."""
    luck = uniform(tag, _KIND)
    if luck < tree.replacing:
        return tree.sets.shape[1]
    luck -= tree.replacing
    if luck < tree.beside:
        return min(int(FEW * luck / tree.beside), tree.sets.shape[1])
    return FOLLOW


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


@jit_internal
def first_unknown(layout: Layout, tree: Tree, tag: int, members: int, subset: int) -> int:
    """The first of the first members of a case's set that the subset does not have, or −1."""
    k = int(uniform(tag, _SET) * len(tree.sets))
    for j in range(members):
        if not is_known(layout, subset, tree.sets[k, j]):
            return tree.sets[k, j]
    return -1


@jit_no_arrays
def next_look(layout: Layout, tree: Tree, tag: int, behaviour: int, node: int, subset: int) -> int:
    """What a case looks at next; −1 to act."""
    if layout.sizes[subset] == layout.members.shape[1]:
        return -1
    i = first_unknown(layout, tree, tag, behaviour, subset)  # none, if it follows
    if i < 0:
        i = tree.look[node]
    if i < 0 and behaviour != FOLLOW:
        i = first_unknown(layout, tree, tag, tree.sets.shape[1], subset)
    return i


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


@jit_internal
def is_allowed(layout: Layout, tree: Tree, subset: int, action: int) -> bool:
    """Whether the subset has all that the action requires."""
    for j in range(tree.needs.shape[1]):
        i = tree.needs[action, j]
        if i >= 0 and not is_known(layout, subset, i):
            return False
    return True


@jit_no_arrays
def action_of(layout: Layout, tree: Tree, tag: int, behaviour: int, node: int, subset: int) -> int:
    """What a case does in the end that knows the subset."""
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
    """Decide and count one case for each tag, each rewarded at once."""
    for t in range(len(tags)):
        start = start_of(layout, values, t)
        state, action = decide(layout, tree, tags[t], values, t, start, 0, tallies)
        row = insert(counters.rows, state)
        count_reward(counters, row, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
