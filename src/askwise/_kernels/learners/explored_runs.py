"""Many cases under one policy that explores now and then, by the tags of the cases.

`look_of`, `set_of` and `action_of` say what a case does in a state; `policy/exploration.py` does
the same for cases that are played one by one.
"""

from askwise._kernels.counting.counting import begin_path, count_reward, count_set, take_look
from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.policy import draws as choices
from askwise._kernels.policy.draws import ACTS, ANY, LOOKS, STOP, WHICH
from askwise._kernels.states.lattices import is_open, start_of, state_of_set, union_of
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters

uniform = jit_no_arrays(choices.uniform)
tried = jit_no_arrays(choices.tried)


@jit_internal
def any_open(layout: Layout, subset: int, luck: float) -> int:
    """`any_unknown` where observations require others."""
    found = 0
    for i in range(len(layout.radices)):
        found += union_of(layout, subset, i)[1] >= 0 and is_open(layout, subset, i)
    chosen = int(luck * found)
    for i in range(len(layout.radices)):
        if union_of(layout, subset, i)[1] >= 0 and is_open(layout, subset, i):
            if chosen == 0:
                return i
            chosen -= 1
    return -1


@jit_internal
def any_unknown(layout: Layout, subset: int, luck: float) -> int:
    """An observation that can be bought next, each as likely; there must be one."""
    size = layout.sizes[subset]
    if len(layout.required) > 0:
        return any_open(layout, subset, luck)
    chosen = int(luck * (len(layout.radices) - size))
    for j in range(size):  # members ascend: step over those that are known
        if layout.members[subset, j] <= chosen:
            chosen += 1
    return chosen


@jit_internal
def look_of(
    layout: Layout,
    subset: int,
    state: int,
    tag: int,
    look: Choices,
    other: Integers,
    probability: Floats,
) -> int:
    """What to buy in a state, or −1 to act.

    Whether the policy would look or act, the case may take another look: half of the time the other
    look, else anything that is not known.
    """
    i = tried(uniform(tag, 4 * state + LOOKS), probability[state], other[state])
    if i == STOP:
        return look[state]
    if i == ANY:
        return any_unknown(layout, subset, uniform(tag, 4 * state + WHICH))
    return i


@jit_internal
def set_of(
    tag: int,
    context: int,
    sets: Integers,
    open_subsets: Integers,
    other: Integers,
    probability: Floats,
) -> int:
    """What to buy at once: the policy's set, or sometimes the other set, or any that is open."""
    subset = tried(uniform(tag, LOOKS), probability[context], other[context])
    if subset == STOP:
        return sets[context]
    if subset == ANY:
        return open_subsets[int(uniform(tag, WHICH) * len(open_subsets))]
    return subset


@jit_internal
def action_of(
    state: int, tag: int, actions: Choices, other_action: Choices, action_probability: Floats
) -> int:
    """What to do in a state: the policy's action, or sometimes the other one."""
    if uniform(tag, 4 * state + ACTS) < action_probability[state]:
        return other_action[state]
    return actions[state]


@jit_no_arrays
def run_exploring_sequential(
    layout: Layout,
    look: Choices,
    actions: Choices,
    other: Integers,
    probability: Floats,
    other_action: Choices,
    action_probability: Floats,
    tags: Integers,
    values: Choices,
    rewards: Floats,
    unit: float,
    counters: Counters,
    out_state: Integers,
    out_action: Choices,
) -> None:
    """Decide and count one case for each tag."""
    for t in range(len(tags)):
        state, _ = begin_path(layout, counters, values, t)
        subset = 0
        i = look_of(layout, subset, state, tags[t], look, other, probability)
        while i >= 0:
            subset, state, _ = take_look(layout, counters, values, t, subset, state, i)
            i = look_of(layout, subset, state, tags[t], look, other, probability)
        action = action_of(state, tags[t], actions, other_action, action_probability)
        count_reward(counters, state, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action


@jit_no_arrays
def run_exploring_simultaneous(
    layout: Layout,
    open_subsets: Integers,
    sets: Integers,
    actions: Choices,
    other: Integers,
    probability: Floats,
    other_action: Choices,
    action_probability: Floats,
    tags: Integers,
    values: Choices,
    rewards: Floats,
    unit: float,
    counters: Counters,
    out_state: Integers,
    out_action: Choices,
) -> None:
    """Decide and count one case for each tag."""
    for t in range(len(tags)):
        context = start_of(layout, values, t)
        bought = set_of(tags[t], context, sets, open_subsets, other, probability)
        state = state_of_set(layout, values, t, bought, context)
        count_set(layout, counters, bought, state)
        action = action_of(state, tags[t], actions, other_action, action_probability)
        count_reward(counters, state, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
