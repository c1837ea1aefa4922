"""These kernels run many cases under one policy that explores, by the tags of the cases.

`look_of`, `set_of` and `action_of` return what a case does in a state. `policy/exploration.py` does
the same for single cases.
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
    """Do as `any_unknown`, for problems in which observations require others."""
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
    """Return an observation that can be bought next, with equal probabilities. There must be
    one.
    """
    size = layout.sizes[subset]
    if len(layout.required) > 0:
        return any_open(layout, subset, luck)
    chosen = int(luck * (len(layout.radices) - size))
    for j in range(size):  # members ascend: skip the known ones
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
    """Return what to buy in a state, or −1 to act.

    The case may explore another observation, both where the policy would buy and where it would
    act. Half of the time it is the policy's other observation, else any unknown one.
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
    """Return the set to buy: the policy's set, or sometimes the other set, or any allowed set."""
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
    """Return the action in a state: the policy's action, or sometimes the other one."""
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
    """Decide and count one sequential case for each tag."""
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
    """Decide and count one simultaneous case for each tag."""
    for t in range(len(tags)):
        context = start_of(layout, values, t)
        bought = set_of(tags[t], context, sets, open_subsets, other, probability)
        state = state_of_set(layout, values, t, bought, context)
        count_set(layout, counters, bought, state)
        action = action_of(state, tags[t], actions, other_action, action_probability)
        count_reward(counters, state, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
