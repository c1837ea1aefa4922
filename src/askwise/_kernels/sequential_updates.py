"""The sequential plan, kept up to date at the cost of what changed.

A plan changes where counters did, and from there towards the empty state only as far as values
really change. Two facts keep that short. A state with an action that may still earn 1 is worth β,
whatever lies below it: only the others, the sober ones, need their looks valued, and each keeps
Q̂(ψ, i) of every look. And a change in a child touches one Q̂ of each of its at most m parents.

Changes wait in a queue for each level: `row · (D + 1) + i` for a look that was counted or whose
child changed, `row · (D + 1) + D` for an action that was rewarded.
"""

import math
from typing import NamedTuple

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.lattices import child, parent
from askwise._kernels.optimism import optimistic_mean, optimistic_reward
from askwise._kernels.rows import Rows, find
from askwise._kernels.terms import Terms, clock_of
from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Layout


class Counters(NamedTuple):
    """The statistics, by row."""

    transitions: Integers
    action_counts: Integers
    reward_sums: Integers


class Tables(NamedTuple):
    """The plan, by row; and what it takes to change it."""

    subset: Integers
    value: Floats
    """F̂(ψ)"""
    stop: Floats
    """β r̂*(ψ)"""
    following: Choices
    action: Choices
    cache_of: Integers
    """Which row of `cache` is the state's; −1 if none is."""
    cache: Floats
    """(sober states, D): Q̂(ψ, i); −∞ for what is known already."""
    cached: Integers
    """How many rows of the cache are given out, as an array of one."""
    queue: Integers
    """(m + 1, …): the changes of each level."""
    queued: Integers
    """(m + 1): how many there are."""
    touched: Integers
    """The rows of a level whose value must be worked out again."""
    mark: Integers
    """By row: 1 while it is among them."""
    acted: Integers
    """The rows in which an action was ever rewarded: all others are worth β."""
    is_acted: Choices
    """By row: 1 if it is among those."""
    acted_in: Integers
    """How many they are, as an array of one."""


@jit
def refresh_stop(counters: Counters, tables: Tables, terms: Terms, row: int) -> None:
    """β r̂*(ψ) and ĥ(ψ)."""
    reward, action = optimistic_reward(
        counters.action_counts, counters.reward_sums, row, terms.unit, terms.reward_width
    )
    tables.stop[row] = terms.beta * reward
    tables.action[row] = action


@jit
def remember_acted(tables: Tables, row: int) -> None:
    """An action was rewarded in this state, perhaps for the first time."""
    if tables.is_acted[row] == 0:
        tables.is_acted[row] = 1
        tables.acted[tables.acted_in[0]] = row
        tables.acted_in[0] += 1


@jit
def look_value(
    layout: Layout,
    rows: Rows,
    counters: Counters,
    tables: Tables,
    terms: Terms,
    state: int,
    subset: int,
    i: int,
    values: Floats,
    weights: Integers,
) -> float:
    """Q̂(ψ, i): a child that was never visited is worth β."""
    _, first, stride, slot = child(layout, subset, state, i)
    outcomes = layout.radices[i]
    for x in range(outcomes):
        row = find(rows, first + x * stride)
        values[x] = terms.beta if row < 0 else tables.value[row]
        weights[x] = 0 if row < 0 else counters.transitions[row, slot]
    width = terms.width + terms.width_per_outcome * outcomes
    return optimistic_mean(values, weights, 0, 1, 0, 1, outcomes, width) - terms.cost[i]


@jit
def refresh_looks(
    layout: Layout,
    rows: Rows,
    counters: Counters,
    tables: Tables,
    terms: Terms,
    row: int,
    state: int,
    values: Floats,
    weights: Integers,
) -> None:
    """Every Q̂(ψ, i) of a sober state."""
    subset = tables.subset[row]
    if tables.cache_of[row] < 0:
        tables.cache_of[row] = tables.cached[0]
        tables.cached[0] += 1
    cache = tables.cache_of[row]
    slot = 0
    for i in range(len(terms.cost)):
        if slot < layout.sizes[subset] and layout.members[subset, slot] == i:
            tables.cache[cache, i] = -math.inf
            slot += 1
        else:
            tables.cache[cache, i] = look_value(
                layout, rows, counters, tables, terms, state, subset, i, values, weights
            )


@jit
def refresh_value(tables: Tables, terms: Terms, row: int, is_last: bool) -> bool:
    """F̂(ψ) and ĝ(ψ) from what is kept; whether F̂ has changed."""
    value = tables.stop[row]
    following = -1
    if value < terms.beta and not is_last:
        cache = tables.cache_of[row]
        for i in range(len(terms.cost)):
            if tables.cache[cache, i] > value:
                value = tables.cache[cache, i]
                following = i
    tables.following[row] = following
    changed = value != tables.value[row]
    tables.value[row] = value
    return changed


@jit
def update_plan(
    layout: Layout, rows: Rows, counters: Counters, tables: Tables, terms: Terms
) -> None:
    """Work the queued changes into the plan, from the largest states down to the empty one."""
    observations = len(layout.radices)
    m = layout.members.shape[1]
    values = np.empty(layout.radices.max())
    weights = np.empty(layout.radices.max(), np.int64)
    for level in range(m, -1, -1):
        touched = 0
        for entry in range(tables.queued[level]):
            row = tables.queue[level, entry] // (observations + 1)
            i = tables.queue[level, entry] % (observations + 1)
            state = row if len(rows.table) == 0 else rows.keys[row]
            if i == observations:
                remember_acted(tables, row)
                was_sober = tables.stop[row] < terms.beta
                refresh_stop(counters, tables, terms, row)
                if tables.stop[row] < terms.beta and not was_sober and level < m:
                    refresh_looks(
                        layout, rows, counters, tables, terms, row, state, values, weights
                    )
            elif tables.stop[row] < terms.beta:
                tables.cache[tables.cache_of[row], i] = look_value(
                    layout,
                    rows,
                    counters,
                    tables,
                    terms,
                    state,
                    tables.subset[row],
                    i,
                    values,
                    weights,
                )
            if tables.mark[row] == 0:
                tables.mark[row] = 1
                tables.touched[touched] = row
                touched += 1
        tables.queued[level] = 0
        for entry in range(touched):
            row = tables.touched[entry]
            tables.mark[row] = 0
            if not refresh_value(tables, terms, row, level == m):
                continue
            state = row if len(rows.table) == 0 else rows.keys[row]
            for slot in range(level):
                _, before = parent(layout, tables.subset[row], state, slot)
                parent_row = find(rows, before)
                if parent_row >= 0 and tables.stop[parent_row] < terms.beta:
                    place = tables.queued[level - 1]
                    changed = layout.members[tables.subset[row], slot]
                    tables.queue[level - 1, place] = parent_row * (observations + 1) + changed
                    tables.queued[level - 1] += 1


@jit
def refresh_plan(
    layout: Layout, rows: Rows, counters: Counters, tables: Tables, terms: Terms
) -> None:
    """Work the whole plan out again, for other radii."""
    m = layout.members.shape[1]
    values = np.empty(layout.radices.max())
    weights = np.empty(layout.radices.max(), np.int64)
    observations = len(layout.radices)
    for level in range(m + 1):
        for entry in range(tables.queued[level]):
            if tables.queue[level, entry] % (observations + 1) == observations:
                remember_acted(tables, tables.queue[level, entry] // (observations + 1))
        tables.queued[level] = 0
    for entry in range(tables.acted_in[0]):
        refresh_stop(counters, tables, terms, tables.acted[entry])
    for level in range(m, -1, -1):
        for entry in range(tables.acted_in[0]):
            row = tables.acted[entry]
            if layout.sizes[tables.subset[row]] != level:
                continue
            if tables.stop[row] < terms.beta and level < m:
                state = row if len(rows.table) == 0 else rows.keys[row]
                refresh_looks(layout, rows, counters, tables, terms, row, state, values, weights)
            refresh_value(tables, terms, row, level == m)


@jit
def run_sequential_rounds(
    layout: Layout,
    rows: Rows,
    counters: Counters,
    tables: Tables,
    cost: Floats,
    beta: float,
    unit: float,
    widths: Floats,
    values: Choices,
    rewards: Floats,
    began: Integers,
    nu: Integers,
    stamp: Integers,
    control: Integers,
    out_state: Integers,
    out_action: Choices,
    out_round: Integers,
) -> None:
    """Decide all these cases, planning anew whenever a round is over.

    `widths[k]` are the reward, outcome and per-outcome widths while t ≤ 2^k. `control` holds the
    round, the number of cases so far, whether the round is over, and the k of the plan.
    """
    observations = len(layout.radices)
    for t in range(len(values)):
        if control[2] != 0:
            control[0] += 1
            control[2] = 0
            k = clock_of(control[1] + 1)
            terms = Terms(cost, beta, unit, widths[k, 0], widths[k, 1], widths[k, 2])
            if k == control[3]:
                update_plan(layout, rows, counters, tables, terms)
            else:
                control[3] = k
                refresh_plan(layout, rows, counters, tables, terms)
        current = control[0]
        over = False
        state = 0
        row = 0
        subset = 0
        level = 0
        i = tables.following[row]
        while i >= 0:
            union, first, stride, slot = child(layout, subset, state, i)
            if stamp[row] != current:
                now = 0
                for x in range(layout.radices[i]):
                    child_row = find(rows, first + x * stride)
                    now += 0 if child_row < 0 else counters.transitions[child_row, slot]
                stamp[row] = current
                began[row] = now
                nu[row] = 0
                tables.queue[level, tables.queued[level]] = row * (observations + 1) + i
                tables.queued[level] += 1
            nu[row] += 1
            over |= nu[row] >= max(1, began[row])
            state = first + values[t, i] * stride
            subset = union
            level += 1
            row = find(rows, state)
            counters.transitions[row, slot] += 1
            i = tables.following[row]
        action = tables.action[row]
        if stamp[row] != current:
            stamp[row] = current
            began[row] = counters.action_counts[row, action]
            nu[row] = 0
            tables.queue[level, tables.queued[level]] = row * (observations + 1) + observations
            tables.queued[level] += 1
        nu[row] += 1
        over |= nu[row] >= max(1, began[row])
        counters.action_counts[row, action] += 1
        counters.reward_sums[row, action] += np.int64(np.rint(rewards[t, action] / unit))
        control[1] += 1
        control[2] = over
        out_state[t] = state
        out_action[t] = action
        out_round[t] = current
