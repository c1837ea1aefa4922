"""These kernels run many cases under one policy, until its round is over.

`values[t]` is the full state of case t, and `rewards[t, a]` is what action a would earn in it. The
policy is fixed within a round, so a state has one choice, and one count decides whether the round
is over. `before[state]` is its N_k and `within[state]` its ν_k. Both are valid if
`counted_in[state]` is the round. `over` is 1 when a ν_k has reached max(1, N_k). Rows are dense
here: row = state.
"""

from askwise._kernels.counting.counting import (
    begin_path,
    count_reward,
    count_set,
    take_look,
    times_looked,
)
from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.states.lattices import start_of, state_of_set
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_internal
def count_in_round(
    state: int, now: int, round: int, before: Integers, within: Integers, counted_in: Integers
) -> bool:
    """Count a state whose choice was counted `now` times before. Return whether the round is
    over.
    """
    if counted_in[state] != round:
        counted_in[state] = round
        before[state] = now
        within[state] = 0
    within[state] += 1
    return within[state] >= max(1, before[state])


@jit_no_arrays
def run_sequential(
    layout: Layout,
    look: Choices,
    actions: Choices,
    values: Choices,
    rewards: Floats,
    start: int,
    unit: float,
    counters: Counters,
    round: int,
    before: Integers,
    within: Integers,
    counted_in: Integers,
    out_state: Integers,
    out_action: Choices,
) -> tuple[int, bool]:
    """Run from case `start` on. Return the case to continue with, and whether the round is over."""
    over = False
    t = start
    while t < len(values) and not over:
        state, _ = begin_path(layout, counters, values, t)
        subset = 0
        i = look[state]
        while i >= 0:
            now = 0
            if counted_in[state] != round:
                now = times_looked(layout, counters, subset, state, i)
            over |= count_in_round(state, now, round, before, within, counted_in)
            subset, state, _ = take_look(layout, counters, values, t, subset, state, i)
            i = look[state]
        action = actions[state]
        now = counters.action_counts[state, action]
        over |= count_in_round(state, now, round, before, within, counted_in)
        count_reward(counters, state, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
        t += 1
    return t, over


@jit_no_arrays
def run_simultaneous(
    layout: Layout,
    sets: Integers,
    actions: Choices,
    values: Choices,
    rewards: Floats,
    start: int,
    unit: float,
    counters: Counters,
    round: int,
    before: Integers,
    within: Integers,
    counted_in: Integers,
    out_state: Integers,
    out_action: Choices,
) -> tuple[int, bool]:
    """Run from case `start` on. Return the case to continue with, and whether the round is over."""
    over = False
    t = start
    while t < len(values) and not over:
        context = start_of(layout, values, t)
        subset = sets[context]
        state = state_of_set(layout, values, t, subset, context)
        count_set(layout, counters, subset, state)
        action = actions[state]
        now = counters.action_counts[state, action]
        over |= count_in_round(state, now, round, before, within, counted_in)
        count_reward(counters, state, action, rewards[t, action], unit)
        out_state[t] = state
        out_action[t] = action
        t += 1
    return t, over
