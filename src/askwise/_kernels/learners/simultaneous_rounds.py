"""These kernels run Sim-OOS: they decide and count cases, and plan whenever a round is over."""

from askwise._kernels.counting.counting import count_reward, count_set
from askwise._kernels.jit import jit_no_arrays
from askwise._kernels.learners.runs import count_in_round
from askwise._kernels.planning.plan_inputs import Setting, horizon_of, inputs_at
from askwise._kernels.planning.simultaneous_search import search_sets
from askwise._kernels.planning.simultaneous_updates import (
    SetTables,
    queue_subsets,
    refresh_sets,
    update_sets,
)
from askwise._kernels.states.lattices import start_of, state_of_set
from askwise._kernels.states.rows import has_room
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_no_arrays
def plan_sets(
    layout: Layout, counters: Counters, tables: SetTables, setting: Setting, t: int, horizon: int
) -> int:
    """Plan a round that begins with case t. Return the last case for which its tables hold."""
    if t <= horizon:
        update_sets(layout, counters, tables, inputs_at(setting, horizon, setting.is_exact))
    else:
        horizon = horizon_of(setting, t)
        refresh_sets(layout, counters, tables, inputs_at(setting, horizon, setting.is_exact))
    if setting.is_exact:
        search_sets(layout, counters, tables, inputs_at(setting, t, False))
    else:
        for context in range(len(tables.best)):
            tables.best[context] = tables.tree[context, 1]
    return horizon


@jit_no_arrays
def run_sets(
    layout: Layout,
    counters: Counters,
    tables: SetTables,
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

    `control` is as in `run_paths`.
    """
    most = 1 << layout.members.shape[1]
    for t in range(start, len(values)):
        if not has_room(counters.rows, most):
            return t
        if control[2] != 0:
            control[0] += 1
            control[2] = 0
            control[3] = plan_sets(layout, counters, tables, setting, control[1] + 1, control[3])
        current = control[0]
        context = start_of(layout, values, t)
        subset = tables.best[context]
        if tables.noted[context] != current:
            tables.noted[context] = current
            queue_subsets(layout, tables, subset, context)
        state = state_of_set(layout, values, t, subset, context)
        row = count_set(layout, counters, subset, state)
        action = tables.action[row]
        if counted_in[row] != current:
            tables.rewarded[tables.queued[0]] = row
            tables.queued[0] += 1
        control[2] = count_in_round(
            row, counters.action_counts[row, action], current, before, within, counted_in
        )
        count_reward(counters, row, action, rewards[t, action], setting.unit)
        control[1] += 1
        out_state[t] = state
        out_action[t] = action
        out_round[t] = current
    return len(values)
