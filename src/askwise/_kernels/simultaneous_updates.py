"""The simultaneous plan, kept up to date at the cost of what changed.

A case that bought I changes N(ψ) in the subsets of I, and one reward. So V̂ is worked out again for
those subsets, and the best of all is kept in a tournament tree, in which the left of two equals
wins: the one with fewer observations, then the one declared first.
"""

from typing import NamedTuple

import numpy as np

from askwise._kernels.counting import count_set
from askwise._kernels.jit import jit
from askwise._kernels.optimism import optimistic_mean, optimistic_reward
from askwise._kernels.terms import Terms, clock_of
from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Layout


class SetCounters(NamedTuple):
    """The statistics."""

    visits: Integers
    subset_visits: Integers
    action_counts: Integers
    reward_sums: Integers


class SetTables(NamedTuple):
    """The plan; and what it takes to change it."""

    stop: Floats
    """β r̂*(ψ)"""
    action: Choices
    value: Floats
    """V̂(I)"""
    tree: Integers
    """A tournament: tree[1] is the best subset, tree[k] the better of tree[2k] and tree[2k+1]."""
    states: Integers
    """The states whose rewards have changed."""
    subsets: Integers
    """The subsets whose value has."""
    queued: Integers
    """How many of both there are."""


@jit
def refresh_reward(counters: SetCounters, tables: SetTables, terms: Terms, state: int) -> None:
    """β r̂*(ψ) and ĥ(ψ)."""
    reward, action = optimistic_reward(
        counters.action_counts, counters.reward_sums, state, terms.unit, terms.reward_width
    )
    tables.stop[state] = terms.beta * reward
    tables.action[state] = action


@jit
def refresh_subset(
    offsets: Integers, counters: SetCounters, tables: SetTables, terms: Terms, subset: int
) -> None:
    """V̂(I)."""
    first = offsets[subset]
    outcomes = offsets[subset + 1] - first
    width = terms.width + terms.width_per_outcome * outcomes
    mean = optimistic_mean(tables.stop, counters.visits, first, 1, first, 1, outcomes, width)
    tables.value[subset] = mean - terms.cost[subset]


@jit
def better(tables: SetTables, left: int, right: int) -> int:
    """The winner of two subsets; −1 is nobody."""
    if right < 0 or (left >= 0 and tables.value[left] >= tables.value[right]):
        return left
    return right


@jit
def update_sets(offsets: Integers, counters: SetCounters, tables: SetTables, terms: Terms) -> None:
    """Work the queued changes into the plan."""
    for entry in range(tables.queued[0]):
        refresh_reward(counters, tables, terms, tables.states[entry])
    leaves = len(tables.tree) // 2
    for entry in range(tables.queued[1]):
        subset = tables.subsets[entry]
        refresh_subset(offsets, counters, tables, terms, subset)
        node = (leaves + subset) // 2
        concerned = True
        while node > 0 and concerned:
            before = tables.tree[node]
            winner = better(tables, tables.tree[2 * node], tables.tree[2 * node + 1])
            tables.tree[node] = winner
            concerned = subset in (before, winner)  # else all above stays as it is
            node //= 2
    tables.queued[:] = 0


@jit
def refresh_sets(offsets: Integers, counters: SetCounters, tables: SetTables, terms: Terms) -> None:
    """Work the whole plan out again, for other radii."""
    leaves = len(tables.tree) // 2
    for subset in range(leaves):
        tables.tree[leaves + subset] = subset if subset < len(tables.value) else -1
        if subset >= len(tables.value):
            continue
        if counters.subset_visits[subset] == 0:  # nothing is known of it: worth β
            tables.value[subset] = terms.beta - terms.cost[subset]
            continue
        for state in range(offsets[subset], offsets[subset + 1]):
            refresh_reward(counters, tables, terms, state)
        refresh_subset(offsets, counters, tables, terms, subset)
    for node in range(leaves - 1, 0, -1):
        tables.tree[node] = better(tables, tables.tree[2 * node], tables.tree[2 * node + 1])
    tables.queued[:] = 0


@jit
def queue_subsets(
    layout: Layout,
    tables: SetTables,
    subset: int,
) -> None:
    """A case bought this subset: every part of it was counted."""
    size = layout.sizes[subset]
    last = len(layout.radices) - 1
    for chosen in range(1 << size):
        kept = 0
        for j in range(size):
            kept += chosen >> j & 1
        part = layout.levels[kept + 1] - 1
        for j in range(size):
            if chosen >> j & 1:
                part -= layout.binomials[last - layout.members[subset, j], kept]
                kept -= 1
        tables.subsets[tables.queued[1]] = part
        tables.queued[1] += 1


@jit
def run_simultaneous_rounds(
    layout: Layout,
    counters: SetCounters,
    tables: SetTables,
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

    `widths` and `control` are as in `run_sequential_rounds`; `control[4]` is the round whose
    subsets are queued.
    """
    for t in range(len(values)):
        if control[2] != 0:
            control[0] += 1
            control[2] = 0
            k = clock_of(control[1] + 1)
            terms = Terms(cost, beta, unit, widths[k, 0], widths[k, 1], widths[k, 2])
            if k == control[3]:
                update_sets(layout.offsets, counters, tables, terms)
            else:
                control[3] = k
                refresh_sets(layout.offsets, counters, tables, terms)
        current = control[0]
        subset = tables.tree[1]
        if control[4] != current:
            control[4] = current
            queue_subsets(layout, tables, subset)
        state = layout.offsets[subset]
        for j in range(layout.sizes[subset]):
            state += values[t, layout.members[subset, j]] * layout.strides[subset, j]
        count_set(layout, state, counters.visits, counters.subset_visits)
        action = tables.action[state]
        if stamp[state] != current:
            stamp[state] = current
            began[state] = counters.action_counts[state, action]
            nu[state] = 0
            tables.states[tables.queued[0]] = state
            tables.queued[0] += 1
        nu[state] += 1
        counters.action_counts[state, action] += 1
        counters.reward_sums[state, action] += np.int64(np.rint(rewards[t, action] / unit))
        control[1] += 1
        control[2] = nu[state] >= max(1, began[state])
        out_state[t] = state
        out_action[t] = action
        out_round[t] = current
