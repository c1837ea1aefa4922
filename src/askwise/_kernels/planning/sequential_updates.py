"""The sequential plan is updated at the cost of what changed.

A plan changes where counters changed, and from there towards the empty state only as far as values
change. Two facts keep updates short. First, consider a state with an action that may still earn 1
and costs no more than any other. Such a state is worth β less that cost, for any values below it.
Only the other states, called bounded, need the values of their observations, and each keeps Q̂(ψ,
i) of all of them. Second, a change in a child changes one Q̂ of each of its at most m parents.

Changes wait in a queue for each level. The entry `row · (D + 1) + i` is for an observation that was
counted or whose child changed. The entry `row · (D + 1) + D` is for an action that was rewarded.

All tables are by row. A state without a row was never visited. It is worth as much as an untried
state, and no plan needs its observations. This requires that the cheapest action is allowed in
every state, because otherwise a case might buy what that action requires. `planning/incremental.py`
checks this.
"""

import math
from typing import NamedTuple

from askwise._kernels.jit import jit_internal
from askwise._kernels.planning.optimism import FEW, optimistic_mean, optimistic_reward
from askwise._kernels.planning.plan_inputs import PlanInputs
from askwise._kernels.states.lattices import child, is_open, parent, subset_at
from askwise._kernels.states.prices import has_panels, price
from askwise._kernels.states.rows import find, state_of
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


class Tables(NamedTuple):
    """The plan by row, and the tables that are needed to update it."""

    subset: Integers
    """The row's subset, or −1 until it is computed."""
    value: Floats
    """F̂(ψ)"""
    stop: Floats
    """β r̂*(ψ)"""
    look: Choices
    action: Choices
    cache_of: Integers
    """The row's line of `cache`, or −1."""
    cache: Floats
    """(bounded states, D): Q̂(ψ, i); −∞ for what may not be bought."""
    cached: Integers
    """The number of lines of `cache` in use, as an array of one."""
    queue: Integers
    """(m + 1, …): the changes of each level."""
    queued: Integers
    """(m + 1): the number of changes in each queue."""
    touched: Integers
    """The rows of a level whose value must be computed again."""
    mark: Integers
    """1 while the row is among `touched`."""
    acted: Integers
    """The rows of states in which an action was ever rewarded. All other states are worth the
    most.
    """
    is_acted: Choices
    """1 if the row is among `acted`."""
    acted_in: Integers
    """The number of rows in `acted`, as an array of one."""
    values: Floats
    """(m + 1, Ψ_max): work space for the values of the outcomes of one observation at each
    level.
    """
    weights: Integers
    """(m + 1, Ψ_max): how often these outcomes were seen."""
    search_at: Integers
    """(3, m + 1): the row, the observation and the outcome that a search has reached on each
    level.
    """
    untried: Choices
    """(m + 1, D): 1 for the observations that the search has not tried on that level."""
    found: Floats
    """F̂(ψ) at the exact t, valid if `search` is the number of the last search."""
    search: Integers
    searches: Integers
    """The number of searches so far, as an array of one."""


@jit_internal
def refresh_stop(
    layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs, row: int
) -> None:
    """Compute β r̂*(ψ) and ĥ(ψ)."""
    subset = 0
    if len(inputs.action_offsets) > 0:
        subset = subset_of(layout, counters, tables, row)
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
    tables.stop[row] = inputs.beta * reward
    tables.action[row] = action


@jit_internal
def remember_acted(tables: Tables, row: int) -> None:
    """Note that an action was rewarded in this row's state, perhaps for the first time."""
    if tables.is_acted[row] == 0:
        tables.is_acted[row] = 1
        tables.acted[tables.acted_in[0]] = row
        tables.acted_in[0] += 1


@jit_internal
def look_value(
    layout: Layout,
    counters: Counters,
    tables: Tables,
    inputs: PlanInputs,
    state: int,
    subset: int,
    i: int,
) -> float:
    """Return Q̂(ψ, i), the value of buying i in a state, from the values of its children."""
    _, first, stride, slot = child(layout, subset, state, i)
    outcomes = layout.radices[i]
    for x in range(outcomes):
        row = find(counters.rows, first + x * stride)
        tables.values[0, x] = tables.value[row]
        tables.weights[0, x] = counters.transitions[row, slot]
    cost = inputs.cost[i]
    if has_panels(inputs.tariff):
        cost = price(layout, inputs.tariff, subset, state, i)
    return mean_of_look(tables, inputs, i, 0, outcomes, cost)


@jit_internal
def mean_of_look(
    tables: Tables, inputs: PlanInputs, i: int, level: int, outcomes: int, cost: float
) -> float:
    """Return Q̂(ψ, i) from the values of its outcomes and how often they were seen."""
    refunded = inputs.tariff.refunded[i]
    most = inputs.most
    if refunded >= 0:
        tables.values[level, refunded] += cost
        most += cost
    mean = optimistic_mean(
        tables.values[level],
        tables.weights[level],
        0,
        1,
        0,
        1,
        outcomes,
        inputs.width + inputs.width_per_outcome * outcomes,
        inputs.cap,
        outcomes <= FEW,
    )
    worth = min(mean + inputs.slack, most) - cost
    # rounding must not raise it above `most`
    return worth if refunded < 0 else min(worth, inputs.most)


@jit_internal
def subset_of(layout: Layout, counters: Counters, tables: Tables, row: int) -> int:
    """Return the subset of a row's state."""
    if tables.subset[row] < 0:
        tables.subset[row] = subset_at(layout, state_of(counters.rows, row))
    return tables.subset[row]


@jit_internal
def refresh_looks(
    layout: Layout,
    counters: Counters,
    tables: Tables,
    inputs: PlanInputs,
    row: int,
) -> None:
    """Compute every Q̂(ψ, i) of a state in which no action may still earn 1."""
    subset = subset_of(layout, counters, tables, row)
    state = state_of(counters.rows, row)
    if tables.cache_of[row] < 0:
        tables.cache_of[row] = tables.cached[0]
        tables.cached[0] += 1
    cache = tables.cache_of[row]
    slot = 0
    for i in range(len(inputs.cost)):
        if slot < layout.sizes[subset] and layout.members[subset, slot] == i:
            tables.cache[cache, i] = -math.inf
            slot += 1
        elif not is_open(layout, subset, i):
            tables.cache[cache, i] = -math.inf
        else:
            tables.cache[cache, i] = look_value(layout, counters, tables, inputs, state, subset, i)


@jit_internal
def refresh_value(tables: Tables, inputs: PlanInputs, row: int, is_last: bool) -> bool:
    """Compute F̂(ψ) and ĝ(ψ) from the tables. Return whether F̂ has changed."""
    value = tables.stop[row]
    look = -1
    if value < inputs.most and not is_last:
        cache = tables.cache_of[row]
        for i in range(len(inputs.cost)):
            if tables.cache[cache, i] > value:
                value = tables.cache[cache, i]
                look = i
    tables.look[row] = look
    changed = value != tables.value[row]
    tables.value[row] = value
    return changed


@jit_internal
def queue_change(layout: Layout, tables: Tables, level: int, row: int, change: int) -> None:
    """Queue a change of the observation, or (D) of the action, of a row."""
    place = tables.queued[level]
    tables.queue[level, place] = row * (len(layout.radices) + 1) + change
    tables.queued[level] += 1


@jit_internal
def update_plan(layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs) -> None:
    """Apply the queued changes to the plan, from the largest states down to the empty one."""
    observations = len(layout.radices)
    m = layout.members.shape[1]
    for level in range(m, -1, -1):
        touched = 0
        for entry in range(tables.queued[level]):
            row = tables.queue[level, entry] // (observations + 1)
            i = tables.queue[level, entry] % (observations + 1)
            if i == observations:
                remember_acted(tables, row)
                was_bounded = tables.stop[row] < inputs.most
                refresh_stop(layout, counters, tables, inputs, row)
                if tables.stop[row] < inputs.most and not was_bounded and level < m:
                    refresh_looks(layout, counters, tables, inputs, row)
            elif tables.stop[row] < inputs.most:
                subset = subset_of(layout, counters, tables, row)
                state = state_of(counters.rows, row)
                tables.cache[tables.cache_of[row], i] = look_value(
                    layout, counters, tables, inputs, state, subset, i
                )
            if tables.mark[row] == 0:
                tables.mark[row] = 1
                tables.touched[touched] = row
                touched += 1
        tables.queued[level] = 0
        for entry in range(touched):
            row = tables.touched[entry]
            tables.mark[row] = 0
            if not refresh_value(tables, inputs, row, level == m):
                continue
            subset = subset_of(layout, counters, tables, row)
            for slot in range(level):
                smaller, before = parent(layout, subset, state_of(counters.rows, row), slot)
                parent_row = find(counters.rows, before)
                looked_at = layout.members[subset, slot]
                if tables.stop[parent_row] < inputs.most and is_open(layout, smaller, looked_at):
                    queue_change(layout, tables, level - 1, parent_row, looked_at)


@jit_internal
def refresh_plan(layout: Layout, counters: Counters, tables: Tables, inputs: PlanInputs) -> None:
    """Compute the whole plan again, for other radii."""
    m = layout.members.shape[1]
    observations = len(layout.radices)
    for level in range(m + 1):
        for entry in range(tables.queued[level]):
            if tables.queue[level, entry] % (observations + 1) == observations:
                remember_acted(tables, tables.queue[level, entry] // (observations + 1))
        tables.queued[level] = 0
    for entry in range(tables.acted_in[0]):
        refresh_stop(layout, counters, tables, inputs, tables.acted[entry])
    for level in range(m, -1, -1):
        for entry in range(tables.acted_in[0]):
            row = tables.acted[entry]
            if layout.sizes[subset_of(layout, counters, tables, row)] != level:
                continue
            if tables.stop[row] < inputs.most and level < m:
                refresh_looks(layout, counters, tables, inputs, row)
            refresh_value(tables, inputs, row, level == m)
