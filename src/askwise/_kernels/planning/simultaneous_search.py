"""The simultaneous plan at the exact t is searched in tables that bound it.

With t itself in the radii every V̂(I) changes in every round. But the tables of
`simultaneous_updates`, made for a somewhat later t, are upper bounds. Their tournament tree leads
to the promising subsets, the higher bound first. V̂ is computed at the exact t for every subset
whose bound is not below the best value found. The first of the best subsets is that of the full
plan.
"""

import math

from askwise._kernels.jit import jit_internal
from askwise._kernels.planning.optimism import optimistic_reward
from askwise._kernels.planning.plan_inputs import PlanInputs
from askwise._kernels.planning.simultaneous_updates import SetTables, collect_rows, mean_of_rows
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_internal
def exact_value(
    layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs, context_subset: int
) -> float:
    """Return V̂(I) and compute ĥ of its states at the exact t. The bounds do not change."""
    seen = collect_rows(layout.context_offsets, counters, tables, context_subset)
    subset = context_subset // len(tables.best)
    for entry in range(seen):
        row = tables.rows[entry]
        reward, action = optimistic_reward(
            counters.action_counts,
            counters.reward_sums,
            counters.graded_sums,
            row,
            inputs.unit,
            inputs.reward_width,
            inputs.by_variance,
            inputs.measured,
            subset,
            inputs.action_offsets,
        )
        tables.values[entry] = inputs.beta * reward
        if len(tables.refund) > 0:
            tables.values[entry] += tables.refund[row]
        tables.action[row] = action
    return mean_of_rows(layout, counters, tables, inputs, context_subset, seen)


@jit_internal
def search_sets(layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs) -> None:
    """Compute Î, and ĥ of its states, in every context."""
    for context in range(len(tables.best)):
        tables.best[context] = search_set(layout, counters, tables, inputs, context)


@jit_internal
def search_set(
    layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs, context: int
) -> int:
    """Return Î in one context, and compute ĥ of its states."""
    contexts = len(tables.best)
    tree = tables.tree[context]
    leaves = len(tree) // 2
    waiting = tables.waiting
    waiting[0] = 1
    waits = 1
    best = -math.inf
    choice = -1
    while waits > 0:
        waits -= 1
        node = waiting[waits]
        subset = tree[node]
        if subset < 0:
            continue
        # The winner of a node is the first of its best: if it cannot win, none there can.
        context_subset = subset * contexts + context
        bound = tables.value[context_subset]
        if bound < best or (bound == best and subset > choice):
            continue
        if node >= leaves:
            value = exact_value(layout, counters, tables, inputs, context_subset)
            tables.found[context_subset] = value
            if value > best or (value == best and subset < choice):
                best = value
                choice = subset
            continue
        # the side with the higher bound is searched first
        winner_is_left = tree[2 * node] == subset
        waiting[waits] = 2 * node + 1 if winner_is_left else 2 * node
        waiting[waits + 1] = 2 * node if winner_is_left else 2 * node + 1
        waits += 2
    return choice
