"""These kernels run Seq-OOS: they decide and count cases, and plan whenever a round is over."""

from askwise._kernels.counting.counting import (
    begin_path,
    count_reward,
    take_look,
    times_looked,
)
from askwise._kernels.jit import jit_no_arrays
from askwise._kernels.learners.runs import count_in_round
from askwise._kernels.planning.plan_inputs import Setting, horizon_of, inputs_at
from askwise._kernels.planning.sequential_search import search_plan
from askwise._kernels.planning.sequential_updates import (
    Tables,
    queue_change,
    refresh_plan,
    update_plan,
)
from askwise._kernels.states.rows import has_room
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_no_arrays
def plan_paths(
    layout: Layout, counters: Counters, tables: Tables, setting: Setting, t: int, horizon: int
) -> int:
    """Plan a round that begins with case t. Return the last case for which its tables hold."""
    if t <= horizon:
        update_plan(layout, counters, tables, inputs_at(setting, horizon, setting.is_exact))
    else:
        horizon = horizon_of(setting, t)
        refresh_plan(layout, counters, tables, inputs_at(setting, horizon, setting.is_exact))
    if setting.is_exact:
        search_plan(layout, counters, tables, inputs_at(setting, t, False))
    return horizon


@jit_no_arrays
def run_paths(
    layout: Layout,
    counters: Counters,
    tables: Tables,
    setting: Setting,
    values: Choices,
    rewards: Floats,
    start: int,
    before: Integers,
    within: Integers,
    counted_in: Integers,
    control: Integers,
    out_state: Integers,
    out_action: Choices,
    out_round: Integers,
) -> int:
    """Decide cases from `start` on, as long as there are free rows. Return the case to continue
    with.

    `control` holds the round, the number of cases so far, whether the round is over, and the last
    case for which the tables hold.
    """
    m = layout.members.shape[1]
    for t in range(start, len(values)):
        if not has_room(counters.rows, m + 1):
            return t
        if control[2] != 0:
            control[0] += 1
            control[2] = 0
            control[3] = plan_paths(layout, counters, tables, setting, control[1] + 1, control[3])
        current = control[0]
        over = False
        state, row = begin_path(layout, counters, values, t)
        subset = 0
        level = 0
        i = tables.look[row]
        while i >= 0:
            now = 0
            if counted_in[row] != current:
                now = times_looked(layout, counters, subset, state, i)
                queue_change(layout, tables, level, row, i)
            over |= count_in_round(row, now, current, before, within, counted_in)
            subset, state, row = take_look(layout, counters, values, t, subset, state, i)
            level += 1
            i = tables.look[row]
        action = tables.action[row]
        if counted_in[row] != current:
            queue_change(layout, tables, level, row, len(layout.radices))
        over |= count_in_round(
            row, counters.action_counts[row, action], current, before, within, counted_in
        )
        count_reward(counters, row, action, rewards[t, action], setting.unit)
        control[1] += 1
        control[2] = over
        out_state[t] = state
        out_action[t] = action
        out_round[t] = current
    return len(values)
