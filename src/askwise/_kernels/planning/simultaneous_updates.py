"""The simultaneous plan, kept up to date at the cost of what changed.

A case that bought I changes N(ψ) in the subsets of I, and one reward. So V̂ is worked out again for
those subsets, and the best of all is kept in a tournament tree, in which the left of two equals
wins: the one with fewer observations, then the one declared first. Where something is given, a
subset has a value, and the tree a twin, for each context.

V̂(I) is a mean over the states of I. If rows are sparse, those that were visited hang in a list, in
the order of their states, so that the sum has the same bits; all others are worth β less the cost
of the cheapest action. A subset in which a member lacks what it requires costs ∞.
"""

import math
from typing import NamedTuple

from askwise._kernels.jit import jit_internal
from askwise._kernels.planning.optimism import FEW, optimistic_mean, optimistic_reward
from askwise._kernels.planning.plan_inputs import PlanInputs
from askwise._kernels.states.lattices import context_of, subset_at
from askwise._kernels.states.prices import spent
from askwise._kernels.states.rows import is_sparse, state_of
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


class SetTables(NamedTuple):
    """The plan; and what it takes to change it."""

    stop: Floats
    """β r̂*(ψ), by row."""
    action: Choices
    """ĥ(ψ), by row."""
    value: Floats
    """V̂(I), by subset and context."""
    tree: Integers
    """A tournament for each context: tree[1] is the best subset, tree[k] the better of tree[2k] and
    tree[2k+1]."""
    rewarded: Integers
    """The rows whose rewards have changed."""
    context_subsets: Integers
    """The subsets in contexts whose value has."""
    queued: Integers
    """How many of both there are."""
    is_rewarded: Choices
    """By subset and context: 1 if states that no case bought at once may have rewards."""
    head: Integers
    """By subset and context: the first row of its list, or 0. Only if rows are sparse."""
    tail: Integers
    """By row: the row after it in its list."""
    listed: Integers
    """How many rows are in lists, as an array of one."""
    rows: Integers
    """Room for the rows of a subset in a context, for what they are worth, and for one more."""
    values: Floats
    weights: Integers
    best: Integers
    """Î in each context."""
    noted: Integers
    """By context: the last round whose set the compiled loop has queued."""
    refund: Floats
    """What is given back, by row; empty if nothing ever is."""
    waiting: Integers
    """Room for the nodes that a search still has to visit: at most two a level."""
    found: Floats
    """V̂(I) at the exact t, where it was worked out."""


@jit_internal
def refresh_reward(
    counters: Counters, tables: SetTables, inputs: PlanInputs, row: int, subset: int
) -> None:
    """β r̂*(ψ) and ĥ(ψ) of a state of the subset."""
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
    if len(tables.refund) > 0:
        tables.stop[row] += tables.refund[row]
    tables.action[row] = action


@jit_internal
def list_new_rows(
    layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs
) -> None:
    """Put every row given out since the last time into the list of its subset and context."""
    if not is_sparse(counters.rows):
        return
    states = counters.rows.states
    for row in range(tables.listed[0], counters.rows.used[0]):
        subset = subset_at(layout, states[row])
        context_subset = subset * len(tables.best) + context_of(layout, subset, states[row])
        before = 0
        after = tables.head[context_subset]
        while after != 0 and states[after] < states[row]:
            before = after
            after = tables.tail[after]
        if len(tables.refund) > 0:
            tables.refund[row] = refund_in(layout, inputs, subset, states[row])
            tables.stop[row] = inputs.most + tables.refund[row]
        tables.tail[row] = after
        if before == 0:
            tables.head[context_subset] = row
        else:
            tables.tail[before] = row
    tables.listed[0] = counters.rows.used[0]


@jit_internal
def refund_in(layout: Layout, inputs: PlanInputs, subset: int, state: int) -> float:
    """What is given back in a state."""
    return inputs.cost[subset] - spent(layout, inputs.tariff, subset, state)


@jit_internal
def most_refund_unseen(
    layout: Layout,
    counters: Counters,
    tables: SetTables,
    inputs: PlanInputs,
    context_subset: int,
    seen: int,
) -> float:
    """The most that is given back in a state of a subset and context that is not in `rows`.

    States in which the same members failed and were refunded get the same back: one set of failures
    after the other, it is asked whether all of its states were seen.
    """
    subset = context_subset // len(tables.best)
    size = layout.sizes[subset]
    most = 0.0
    for failed in range(1 << size):
        states = 1
        example = layout.context_offsets[context_subset]
        for j in range(size):
            i = layout.members[subset, j]
            refunded = inputs.tariff.refunded[i]
            if failed >> j & 1:
                states *= 1 if refunded >= 0 else 0
                example += refunded * layout.strides[subset, j]
            else:
                states *= layout.radices[i] - (1 if refunded >= 0 else 0)
        if states == 0:
            continue
        back = refund_in(layout, inputs, subset, example)
        for entry in range(seen):
            place = counters.rows.states[tables.rows[entry]] - layout.offsets[subset]
            same = True
            for j in range(size):
                i = layout.members[subset, j]
                digit = place // layout.strides[subset, j] % layout.radices[i]
                same &= (digit == inputs.tariff.refunded[i]) == (failed >> j & 1 == 1)
            states -= 1 if same else 0
        if states > 0:
            most = max(most, back)
    return most


@jit_internal
def collect_rows(
    context_offsets: Integers, counters: Counters, tables: SetTables, context_subset: int
) -> int:
    """Put the rows of a subset in a context into `rows`; returns how many there are."""
    seen = 0
    if is_sparse(counters.rows):
        row = tables.head[context_subset]
        while row != 0:
            tables.rows[seen] = row
            seen += 1
            row = tables.tail[row]
    else:
        for row in range(context_offsets[context_subset], context_offsets[context_subset + 1]):
            tables.rows[seen] = row
            seen += 1
    return seen


@jit_internal
def mean_of_rows(
    layout: Layout,
    counters: Counters,
    tables: SetTables,
    inputs: PlanInputs,
    context_subset: int,
    seen: int,
) -> float:
    """V̂(I), from the first so many `rows` and their `values`."""
    outcomes = layout.context_offsets[context_subset + 1] - layout.context_offsets[context_subset]
    cost = inputs.cost[context_subset // len(tables.best)]
    if cost == math.inf:
        return -math.inf
    width = inputs.width + inputs.width_per_outcome * outcomes
    for entry in range(seen):
        tables.weights[entry] = counters.visits[tables.rows[entry]]
    if seen < outcomes:  # one stands for all that were never seen
        tables.values[seen] = inputs.most
        if len(tables.refund) > 0:
            tables.values[seen] += most_refund_unseen(
                layout, counters, tables, inputs, context_subset, seen
            )
        tables.weights[seen] = 0
        seen += 1
    few = outcomes <= FEW
    mean = optimistic_mean(tables.values, tables.weights, 0, 1, 0, 1, seen, width, inputs.cap, few)
    most = inputs.most if len(tables.refund) == 0 else inputs.most + cost
    return min(mean + inputs.slack, most) - cost


@jit_internal
def refresh_subset(
    layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs, context_subset: int
) -> None:
    """V̂(I), from the values in `stop`."""
    seen = collect_rows(layout.context_offsets, counters, tables, context_subset)
    for entry in range(seen):
        tables.values[entry] = tables.stop[tables.rows[entry]]
    tables.value[context_subset] = mean_of_rows(
        layout, counters, tables, inputs, context_subset, seen
    )


@jit_internal
def better(tables: SetTables, context: int, left: int, right: int) -> int:
    """The winner of two subsets in a context; −1 is none."""
    contexts = len(tables.best)
    if right < 0 or (
        left >= 0
        and tables.value[left * contexts + context] >= tables.value[right * contexts + context]
    ):
        return left
    return right


@jit_internal
def update_sets(layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs) -> None:
    """Work the queued changes into the plan."""
    list_new_rows(layout, counters, tables, inputs)
    for entry in range(tables.queued[0]):
        row = tables.rewarded[entry]
        subset = 0
        if len(inputs.action_offsets) > 0:
            subset = subset_at(layout, state_of(counters.rows, row))
        refresh_reward(counters, tables, inputs, row, subset)
    leaves = tables.tree.shape[1] // 2
    for entry in range(tables.queued[1]):
        context_subset = tables.context_subsets[entry]
        subset = context_subset // len(tables.best)
        context = context_subset % len(tables.best)
        refresh_subset(layout, counters, tables, inputs, context_subset)
        tree = tables.tree[context]
        node = (leaves + subset) // 2
        concerned = True
        while node > 0 and concerned:
            before = tree[node]
            winner = better(tables, context, tree[2 * node], tree[2 * node + 1])
            tree[node] = winner
            concerned = subset in (before, winner)  # else all above stays as it is
            node //= 2
    tables.queued[:] = 0


@jit_internal
def refresh_sets(layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs) -> None:
    """Work the whole plan out again, for other radii."""
    list_new_rows(layout, counters, tables, inputs)
    contexts = len(tables.best)
    for context_subset in range(len(tables.value)):
        if (
            len(tables.refund) == 0
            and counters.subset_visits[context_subset] == 0
            and tables.is_rewarded[context_subset] == 0
        ):
            # nothing is known of it: worth the most
            tables.value[context_subset] = inputs.most - inputs.cost[context_subset // contexts]
            continue
        for entry in range(collect_rows(layout.context_offsets, counters, tables, context_subset)):
            row = tables.rows[entry]
            refresh_reward(counters, tables, inputs, row, context_subset // contexts)
        refresh_subset(layout, counters, tables, inputs, context_subset)
    leaves = tables.tree.shape[1] // 2
    for context in range(contexts):
        tree = tables.tree[context]
        for subset in range(leaves):
            tree[leaves + subset] = subset if subset < len(layout.sizes) else -1
        for node in range(leaves - 1, 0, -1):
            tree[node] = better(tables, context, tree[2 * node], tree[2 * node + 1])
    tables.queued[:] = 0


@jit_internal
def queue_subsets(layout: Layout, tables: SetTables, subset: int, context: int) -> None:
    """A case bought this subset in this context: every part of it was counted."""
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
        tables.context_subsets[tables.queued[1]] = part * len(tables.best) + context
        tables.queued[1] += 1
