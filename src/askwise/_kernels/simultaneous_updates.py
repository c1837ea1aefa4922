"""The simultaneous plan, kept up to date at the cost of what changed.

A case that bought I changes N(ψ) in the subsets of I, and one reward. So V̂ is worked out again for
those subsets, and the best of all is kept in a tournament tree, in which the left of two equals
wins: the one with fewer observations, then the one declared first.

V̂(I) is a mean over the states of I. If rows are sparse, those that were visited hang in a list, in
the order of their states, so that the sum has the same bits; all others are worth β.
"""

from typing import NamedTuple

from askwise._kernels.jit import bare
from askwise._kernels.lattices import subset_at
from askwise._kernels.optimism import FEW, optimistic_mean, optimistic_reward
from askwise._kernels.rows import is_sparse
from askwise._kernels.terms import Terms
from askwise._typing import Choices, Floats, Integers
from askwise.lattice import Layout
from askwise.rows import Counters


class SetTables(NamedTuple):
    """The plan; and what it takes to change it."""

    stop: Floats
    """β r̂*(ψ), by row."""
    action: Choices
    """ĥ(ψ), by row."""
    value: Floats
    """V̂(I)"""
    tree: Integers
    """A tournament: tree[1] is the best subset, tree[k] the better of tree[2k] and tree[2k+1]."""
    rewarded: Integers
    """The rows whose rewards have changed."""
    subsets: Integers
    """The subsets whose value has."""
    queued: Integers
    """How many of both there are."""
    is_rewarded: Choices
    """By subset: 1 if there may be rewards in states of it that nobody bought at once."""
    head: Integers
    """By subset: the first row of its list; 0 if there is none. Only if rows are sparse."""
    tail: Integers
    """By row: the row after it in its list."""
    listed: Integers
    """How many rows are in lists, as an array of one."""
    rows: Integers
    """Room to collect the rows of a subset in, and what they are worth, and one more."""
    values: Floats
    weights: Integers
    best: Integers
    """Î, as an array of one."""
    waiting: Integers
    """Room for the nodes that a search still has to visit: at most two a level."""
    found: Floats
    """V̂(I) at the exact t, where it was worked out."""


@bare
def refresh_reward(counters: Counters, tables: SetTables, terms: Terms, row: int) -> None:
    """β r̂*(ψ) and ĥ(ψ)."""
    reward, action = optimistic_reward(
        counters.action_counts, counters.reward_sums, row, terms.unit, terms.reward_width
    )
    tables.stop[row] = terms.beta * reward
    tables.action[row] = action


@bare
def list_new_rows(layout: Layout, counters: Counters, tables: SetTables) -> None:
    """Put every row that was given out since the last time into the list of its subset."""
    if not is_sparse(counters.rows):
        return
    states = counters.rows.states
    for row in range(tables.listed[0], counters.rows.used[0]):
        subset = subset_at(layout, states[row])
        before = 0
        after = tables.head[subset]
        while after != 0 and states[after] < states[row]:
            before = after
            after = tables.tail[after]
        tables.tail[row] = after
        if before == 0:
            tables.head[subset] = row
        else:
            tables.tail[before] = row
    tables.listed[0] = counters.rows.used[0]


@bare
def collect_rows(offsets: Integers, counters: Counters, tables: SetTables, subset: int) -> int:
    """Put the rows of a subset into `rows`; returns how many there are."""
    seen = 0
    if is_sparse(counters.rows):
        row = tables.head[subset]
        while row != 0:
            tables.rows[seen] = row
            seen += 1
            row = tables.tail[row]
    else:
        for row in range(offsets[subset], offsets[subset + 1]):
            tables.rows[seen] = row
            seen += 1
    return seen


@bare
def mean_of_rows(
    offsets: Integers,
    counters: Counters,
    tables: SetTables,
    terms: Terms,
    subset: int,
    seen: int,
) -> float:
    """V̂(I), from the first so many `rows` and their `values`."""
    outcomes = offsets[subset + 1] - offsets[subset]
    width = terms.width + terms.width_per_outcome * outcomes
    for entry in range(seen):
        tables.weights[entry] = counters.visits[tables.rows[entry]]
    if seen < outcomes:  # one stands for all that were never seen
        tables.values[seen] = terms.beta
        tables.weights[seen] = 0
        seen += 1
    few = outcomes <= FEW
    mean = optimistic_mean(tables.values, tables.weights, 0, 1, 0, 1, seen, width, few)
    return min(mean + terms.slack, terms.beta) - terms.cost[subset]


@bare
def refresh_subset(
    offsets: Integers, counters: Counters, tables: SetTables, terms: Terms, subset: int
) -> None:
    """V̂(I), from the values in `stop`."""
    seen = collect_rows(offsets, counters, tables, subset)
    for entry in range(seen):
        tables.values[entry] = tables.stop[tables.rows[entry]]
    tables.value[subset] = mean_of_rows(offsets, counters, tables, terms, subset, seen)


@bare
def better(tables: SetTables, left: int, right: int) -> int:
    """The winner of two subsets; −1 is nobody."""
    if right < 0 or (left >= 0 and tables.value[left] >= tables.value[right]):
        return left
    return right


@bare
def update_sets(layout: Layout, counters: Counters, tables: SetTables, terms: Terms) -> None:
    """Work the queued changes into the plan."""
    list_new_rows(layout, counters, tables)
    for entry in range(tables.queued[0]):
        refresh_reward(counters, tables, terms, tables.rewarded[entry])
    leaves = len(tables.tree) // 2
    for entry in range(tables.queued[1]):
        subset = tables.subsets[entry]
        refresh_subset(layout.offsets, counters, tables, terms, subset)
        node = (leaves + subset) // 2
        concerned = True
        while node > 0 and concerned:
            before = tables.tree[node]
            winner = better(tables, tables.tree[2 * node], tables.tree[2 * node + 1])
            tables.tree[node] = winner
            concerned = subset in (before, winner)  # else all above stays as it is
            node //= 2
    tables.queued[:] = 0


@bare
def refresh_sets(layout: Layout, counters: Counters, tables: SetTables, terms: Terms) -> None:
    """Work the whole plan out again, for other radii."""
    list_new_rows(layout, counters, tables)
    leaves = len(tables.tree) // 2
    for subset in range(leaves):
        tables.tree[leaves + subset] = subset if subset < len(tables.value) else -1
        if subset >= len(tables.value):
            continue
        if counters.subset_visits[subset] == 0 and tables.is_rewarded[subset] == 0:
            # nothing is known of it: worth β
            tables.value[subset] = terms.beta - terms.cost[subset]
            continue
        for entry in range(collect_rows(layout.offsets, counters, tables, subset)):
            refresh_reward(counters, tables, terms, tables.rows[entry])
        refresh_subset(layout.offsets, counters, tables, terms, subset)
    for node in range(leaves - 1, 0, -1):
        tables.tree[node] = better(tables, tables.tree[2 * node], tables.tree[2 * node + 1])
    tables.queued[:] = 0


@bare
def queue_subsets(layout: Layout, tables: SetTables, subset: int) -> None:
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
