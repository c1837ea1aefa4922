"""What can be relied on, from what was seen only; by row, from the largest states down."""

import math

from askwise._kernels.jit import bare, inner
from askwise._kernels.lattices import child
from askwise._kernels.optimism import MOST_APART
from askwise._kernels.prices import price
from askwise._kernels.rows import find, state_of
from askwise._typing import Choices, Floats, Integers
from askwise.layout import Layout
from askwise.prices import Tariff
from askwise.rows import Counters


@inner
def seen(counters: Counters, row: int, slot: int, by_visits: bool) -> int:
    """How often a look led there: N(ψ') of sets that were bought, or N(ψ, i, ψ') of paths."""
    return counters.visits[row] if by_visits else counters.transitions[row, slot]


@bare
def average_upwards(
    layout: Layout,
    counters: Counters,
    order: Integers,
    subsets: Integers,
    by_visits: bool,
    per_outcome: float,
    reward: Floats,
    room: Floats,
    most: Floats,
) -> None:
    """r(a, ψ) = max( r(a, ψ), max_i Σ p̂(ψ' | ψ, i) r(a, ψ') − doubt ) over the looks taken.

    The doubt is what it costs to move conf₂ / 2 of p̂ from the best outcome to one worth nothing.
    """
    m = layout.members.shape[1]
    actions = reward.shape[1]
    for row in order:
        subset = subsets[row]
        if layout.sizes[subset] == m:
            continue
        state = state_of(counters.rows, row)
        known = 0
        for i in range(len(layout.radices)):
            if known < layout.sizes[subset] and layout.members[subset, known] == i:
                known += 1
                continue
            _, first, stride, slot = child(layout, subset, state, i)
            total = 0
            for action in range(actions):
                room[action] = 0.0
                most[action] = 0.0
            for x in range(layout.radices[i]):
                below = find(counters.rows, first + x * stride)
                n = seen(counters, below, slot, by_visits)
                total += n
                for action in range(actions):
                    room[action] += n * reward[below, action]
                    if n > 0:
                        most[action] = max(most[action], reward[below, action])
            if total > 0:
                moved = 0.5 * min(MOST_APART, math.sqrt(per_outcome * layout.radices[i] / total))
                for action in range(actions):
                    mean = room[action] / total - moved * most[action]
                    reward[row, action] = max(reward[row, action], mean)


@bare
def plan_seen_paths(
    layout: Layout,
    counters: Counters,
    order: Integers,
    subsets: Integers,
    tariff: Tariff,
    stop: Floats,
    per_outcome: float,
    out_value: Floats,
    out_next: Choices,
) -> None:
    """F(ψ) = max( stop(ψ), max_i Σ p̂(ψ' | ψ, i) F(ψ') − doubt − c_i ) over the looks taken.

    The same doubt as in `average_upwards`: a look that changes nothing is worth nothing.
    """
    m = layout.members.shape[1]
    for row in order:
        out_value[row] = stop[row]
        out_next[row] = -1
        subset = subsets[row]
        if layout.sizes[subset] == m:
            continue
        state = state_of(counters.rows, row)
        known = 0
        for i in range(len(layout.radices)):
            if known < layout.sizes[subset] and layout.members[subset, known] == i:
                known += 1
                continue
            _, first, stride, slot = child(layout, subset, state, i)
            cost = price(layout, tariff, subset, state, i)
            total = 0
            earned = 0.0
            best = 0.0
            for x in range(layout.radices[i]):
                below = find(counters.rows, first + x * stride)
                n = counters.transitions[below, slot]
                total += n
                worth = out_value[below]
                if x == tariff.refunded[i]:
                    worth += cost
                earned += n * worth
                if n > 0:
                    best = max(best, worth)
            if total > 0:
                moved = 0.5 * min(MOST_APART, math.sqrt(per_outcome * layout.radices[i] / total))
                worth = earned / total - moved * best - cost
                if worth > out_value[row]:
                    out_value[row] = worth
                    out_next[row] = i
