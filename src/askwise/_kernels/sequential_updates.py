"""The sequential plan, kept up to date at the cost of what changed.

A plan changes where counters did, and from there towards the empty state only as far as values
really change. Two facts keep that short. A state with an action that may still earn 1 is worth β,
whatever lies below it: only the others, the sober ones, need their looks valued, and each keeps
Q̂(ψ, i) of every look. And a change in a child touches one Q̂ of each of its at most m parents.

Changes wait in a queue for each level: `ψ · (D + 1) + i` for a look that was counted or whose
child changed, `ψ · (D + 1) + D` for an action that was rewarded.
"""

import math
from typing import NamedTuple

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.lattices import child, parent
from askwise._kernels.optimism import optimistic_mean, optimistic_reward
from askwise._kernels.terms import Terms, clock_of
from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Layout


class Counters(NamedTuple):
    """The statistics, by state."""

    transitions: Integers
    action_counts: Integers
    reward_sums: Integers


class Tables(NamedTuple):
    """The plan, by state; and what it takes to change it."""

    subset: Integers
    value: Floats
    """F̂(ψ)"""
    stop: Floats
    """β r̂*(ψ)"""
    following: Choices
    action: Choices
    cache_of: Integers
    """Which line of `cache` is the state's; −1 if none is."""
    cache: Floats
    """(sober states, D): Q̂(ψ, i); −∞ for what is known already."""
    cached: Integers
    """How many lines of it are given out, as an array of one."""
    queue: Integers
    """(m + 1, …): the changes of each level."""
    queued: Integers
    """(m + 1): how many there are."""
    touched: Integers
    """The states of a level whose value must be worked out again."""
    mark: Integers
    """By state: 1 while it is among them."""
    acted: Integers
    """The states in which an action was ever rewarded: all others are worth β."""
    is_acted: Choices
    """By state: 1 if it is among those."""
    acted_in: Integers
    """How many they are, as an array of one."""


@jit
def refresh_stop(counters: Counters, tables: Tables, terms: Terms, state: int) -> None:
    """β r̂*(ψ) and ĥ(ψ)."""
    reward, action = optimistic_reward(
        counters.action_counts, counters.reward_sums, state, terms.unit, terms.reward_width
    )
    tables.stop[state] = terms.beta * reward
    tables.action[state] = action


@jit
def remember_acted(tables: Tables, state: int) -> None:
    """An action was rewarded in this state, perhaps for the first time."""
    if tables.is_acted[state] == 0:
        tables.is_acted[state] = 1
        tables.acted[tables.acted_in[0]] = state
        tables.acted_in[0] += 1


@jit
def look_value(
    layout: Layout,
    counters: Counters,
    tables: Tables,
    terms: Terms,
    state: int,
    subset: int,
    i: int,
    values: Floats,
    weights: Integers,
) -> float:
    """Q̂(ψ, i)."""
    _, first, stride, slot = child(layout, subset, state, i)
    outcomes = layout.radices[i]
    for x in range(outcomes):
        values[x] = tables.value[first + x * stride]
        weights[x] = counters.transitions[first + x * stride, slot]
    width = terms.width + terms.width_per_outcome * outcomes
    return optimistic_mean(values, weights, 0, 1, 0, 1, outcomes, width) - terms.cost[i]


@jit
def refresh_looks(
    layout: Layout,
    counters: Counters,
    tables: Tables,
    terms: Terms,
    state: int,
    values: Floats,
    weights: Integers,
) -> None:
    """Every Q̂(ψ, i) of a sober state."""
    subset = tables.subset[state]
    if tables.cache_of[state] < 0:
        tables.cache_of[state] = tables.cached[0]
        tables.cached[0] += 1
    cache = tables.cache_of[state]
    slot = 0
    for i in range(len(terms.cost)):
        if slot < layout.sizes[subset] and layout.members[subset, slot] == i:
            tables.cache[cache, i] = -math.inf
            slot += 1
        else:
            tables.cache[cache, i] = look_value(
                layout, counters, tables, terms, state, subset, i, values, weights
            )


@jit
def refresh_value(tables: Tables, terms: Terms, state: int, is_last: bool) -> bool:
    """F̂(ψ) and ĝ(ψ) from what is kept; whether F̂ has changed."""
    value = tables.stop[state]
    following = -1
    if value < terms.beta and not is_last:
        cache = tables.cache_of[state]
        for i in range(len(terms.cost)):
            if tables.cache[cache, i] > value:
                value = tables.cache[cache, i]
                following = i
    tables.following[state] = following
    changed = value != tables.value[state]
    tables.value[state] = value
    return changed


@jit
def update_plan(layout: Layout, counters: Counters, tables: Tables, terms: Terms) -> None:
    """Work the queued changes into the plan, from the largest states down to the empty one."""
    observations = len(layout.radices)
    m = layout.members.shape[1]
    values = np.empty(layout.radices.max())
    weights = np.empty(layout.radices.max(), np.int64)
    for level in range(m, -1, -1):
        touched = 0
        for entry in range(tables.queued[level]):
            state = tables.queue[level, entry] // (observations + 1)
            i = tables.queue[level, entry] % (observations + 1)
            if i == observations:
                remember_acted(tables, state)
                was_sober = tables.stop[state] < terms.beta
                refresh_stop(counters, tables, terms, state)
                if tables.stop[state] < terms.beta and not was_sober and level < m:
                    refresh_looks(layout, counters, tables, terms, state, values, weights)
            elif tables.stop[state] < terms.beta:
                tables.cache[tables.cache_of[state], i] = look_value(
                    layout,
                    counters,
                    tables,
                    terms,
                    state,
                    tables.subset[state],
                    i,
                    values,
                    weights,
                )
            if tables.mark[state] == 0:
                tables.mark[state] = 1
                tables.touched[touched] = state
                touched += 1
        tables.queued[level] = 0
        for entry in range(touched):
            state = tables.touched[entry]
            tables.mark[state] = 0
            if not refresh_value(tables, terms, state, level == m):
                continue
            for slot in range(level):
                _, before = parent(layout, tables.subset[state], state, slot)
                if tables.stop[before] < terms.beta:
                    place = tables.queued[level - 1]
                    changed = layout.members[tables.subset[state], slot]
                    tables.queue[level - 1, place] = before * (observations + 1) + changed
                    tables.queued[level - 1] += 1


@jit
def refresh_plan(layout: Layout, counters: Counters, tables: Tables, terms: Terms) -> None:
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
            state = tables.acted[entry]
            if layout.sizes[tables.subset[state]] != level:
                continue
            if tables.stop[state] < terms.beta and level < m:
                refresh_looks(layout, counters, tables, terms, state, values, weights)
            refresh_value(tables, terms, state, level == m)


@jit
def run_sequential_rounds(
    layout: Layout,
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
                update_plan(layout, counters, tables, terms)
            else:
                control[3] = k
                refresh_plan(layout, counters, tables, terms)
        current = control[0]
        over = False
        state = 0
        subset = 0
        level = 0
        i = tables.following[state]
        while i >= 0:
            union, first, stride, slot = child(layout, subset, state, i)
            if stamp[state] != current:
                now = 0
                for x in range(layout.radices[i]):
                    now += counters.transitions[first + x * stride, slot]
                stamp[state] = current
                began[state] = now
                nu[state] = 0
                tables.queue[level, tables.queued[level]] = state * (observations + 1) + i
                tables.queued[level] += 1
            nu[state] += 1
            over |= nu[state] >= max(1, began[state])
            state = first + values[t, i] * stride
            subset = union
            level += 1
            counters.transitions[state, slot] += 1
            i = tables.following[state]
        action = tables.action[state]
        if stamp[state] != current:
            stamp[state] = current
            began[state] = counters.action_counts[state, action]
            nu[state] = 0
            tables.queue[level, tables.queued[level]] = state * (observations + 1) + observations
            tables.queued[level] += 1
        nu[state] += 1
        over |= nu[state] >= max(1, began[state])
        counters.action_counts[state, action] += 1
        counters.reward_sums[state, action] += np.int64(np.rint(rewards[t, action] / unit))
        control[1] += 1
        control[2] = over
        out_state[t] = state
        out_action[t] = action
        out_round[t] = current
