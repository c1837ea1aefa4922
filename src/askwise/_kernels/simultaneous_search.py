"""The simultaneous plan at the exact t, from tables that bound it.

With t itself in the radii every V̂(I) changes in every round. But the tables of
`simultaneous_updates`, made for a somewhat later t, are upper bounds, and their tournament tree
leads to the promising subsets: V̂ is worked out at the exact t, the higher bound first, where a
bound is not below the best that was found. The first of the best is what the full plan has.
"""

import math

from askwise._kernels.jit import bare
from askwise._kernels.optimism import optimistic_reward
from askwise._kernels.simultaneous_updates import SetTables, collect_rows, mean_of_rows
from askwise._kernels.terms import Terms
from askwise._typing import Integers
from askwise.rows import Counters


@bare
def exact_value(
    offsets: Integers, counters: Counters, tables: SetTables, terms: Terms, subset: int
) -> float:
    """V̂(I) and ĥ of its states at the exact t; the bounds stay."""
    seen = collect_rows(offsets, counters, tables, subset)
    for entry in range(seen):
        row = tables.rows[entry]
        reward, action = optimistic_reward(
            counters.action_counts, counters.reward_sums, row, terms.unit, terms.reward_width
        )
        tables.values[entry] = terms.beta * reward
        tables.action[row] = action
    return mean_of_rows(offsets, counters, tables, terms, subset, seen)


@bare
def search_sets(offsets: Integers, counters: Counters, tables: SetTables, terms: Terms) -> None:
    """Î and ĥ of its states."""
    leaves = len(tables.tree) // 2
    waiting = tables.waiting
    waiting[0] = 1
    waits = 1
    best = -math.inf
    choice = -1
    while waits > 0:
        waits -= 1
        node = waiting[waits]
        subset = tables.tree[node]
        if subset < 0:
            continue
        # The winner of a node is the first of its best: if it cannot win, nobody there can.
        bound = tables.value[subset]
        if bound < best or (bound == best and subset > choice):
            continue
        if node >= leaves:
            value = exact_value(offsets, counters, tables, terms, subset)
            tables.found[subset] = value
            if value > best or (value == best and subset < choice):
                best = value
                choice = subset
            continue
        # the side with the higher bound is searched first
        winner_is_left = tables.tree[2 * node] == subset
        waiting[waits] = 2 * node + 1 if winner_is_left else 2 * node
        waiting[waits + 1] = 2 * node if winner_is_left else 2 * node + 1
        waits += 2
    tables.best[0] = choice
