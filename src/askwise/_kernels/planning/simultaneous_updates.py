"""The simultaneous plan is updated at the cost of what changed.

A case that bought I changes N(ψ) in the subsets of I, and one reward. So V̂ is computed again for
those subsets. A tournament tree keeps the best of all subsets. The left of two equal subsets wins:
it has fewer observations, or was declared first. With given observations, each context has its own
values and its own tree.

V̂(I) is a mean over the states of I. If rows are sparse, the visited rows of a subset are in a
linked list, in the order of their states, so that the sum has the same bits. All other states are
worth β less the cost of the cheapest action. A subset in which a member lacks a requirement costs
∞.
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
    """The plan, and the tables that are needed to update it."""

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
    """The pairs of subset and context whose value has changed."""
    queued: Integers
    """The number of entries in both queues."""
    is_rewarded: Choices
    """By subset and context: 1 if states that no case bought at once may have rewards."""
    head: Integers
    """By subset and context: the first row of its list, or 0. It is used only if rows are
    sparse.
    """
    tail: Integers
    """By row: the next row in its list."""
    listed: Integers
    """The number of rows in lists, as an array of one."""
    rows: Integers
    """Work space for the rows of a subset in a context, for their values, and for one more."""
    values: Floats
    weights: Integers
    best: Integers
    """Î in each context."""
    noted: Integers
    """By context: the last round whose set the compiled loop has queued."""
    refund: Floats
    """The refund, by row; empty if nothing is ever refunded."""
    waiting: Integers
    """Work space for the nodes that a search still has to visit, at most two a level."""
    found: Floats
    """V̂(I) at the exact t, where it was computed."""


@jit_internal
def refresh_reward(
    counters: Counters, tables: SetTables, inputs: PlanInputs, row: int, subset: int
) -> None:
    """Compute β r̂*(ψ) and ĥ(ψ) of a state of the subset."""
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
    """Put every new row into the list of its subset and context."""
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
    """Return the refund in a state."""
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
    """Return the largest refund in a state of a subset and context that is not in `rows`.

    States in which the same members failed and were refunded have the same refund. So the function
    checks, for one set of failures after the other, whether all of its states were seen.
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
    """Put the rows of a subset in a context into `rows`. Return their number."""
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
    """Return V̂(I) from the first so many `rows` and their `values`."""
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
    """Compute V̂(I) from the values in `stop`."""
    seen = collect_rows(layout.context_offsets, counters, tables, context_subset)
    for entry in range(seen):
        tables.values[entry] = tables.stop[tables.rows[entry]]
    tables.value[context_subset] = mean_of_rows(
        layout, counters, tables, inputs, context_subset, seen
    )


@jit_internal
def better(tables: SetTables, context: int, left: int, right: int) -> int:
    """Return the winner of two subsets in a context. −1 stands for no subset."""
    contexts = len(tables.best)
    if right < 0 or (
        left >= 0
        and tables.value[left * contexts + context] >= tables.value[right * contexts + context]
    ):
        return left
    return right


@jit_internal
def update_sets(layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs) -> None:
    """Apply the queued changes to the plan."""
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
            concerned = subset in (before, winner)  # otherwise nothing above changes
            node //= 2
    tables.queued[:] = 0


@jit_internal
def refresh_sets(layout: Layout, counters: Counters, tables: SetTables, inputs: PlanInputs) -> None:
    """Compute the whole plan again, for other radii."""
    list_new_rows(layout, counters, tables, inputs)
    contexts = len(tables.best)
    for context_subset in range(len(tables.value)):
        if (
            len(tables.refund) == 0
            and counters.subset_visits[context_subset] == 0
            and tables.is_rewarded[context_subset] == 0
        ):
            # without counts it is worth the most
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
    """Queue every part of a subset that a case bought in this context, because each was counted."""
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
