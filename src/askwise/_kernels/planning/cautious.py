"""The cautious plan uses only what was seen, by row, from the largest states down."""

from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.states.lattices import child, is_open
from askwise._kernels.states.prices import price
from askwise._kernels.states.rows import find, state_of
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout
from askwise.states.prices import Tariff
from askwise.states.rows import Counters


@jit_internal
def seen(counters: Counters, row: int, slot: int, by_visits: bool) -> int:
    """Return the weight of an outcome: N(ψ') of sets that were bought, or N(ψ, i, ψ') of paths."""
    return counters.visits[row] if by_visits else counters.transitions[row, slot]


@jit_no_arrays
def average_upwards(
    layout: Layout,
    counters: Counters,
    order: Integers,
    subsets: Integers,
    by_visits: bool,
    reward: Floats,
    room: Floats,
) -> None:
    """r(a, ψ) = max( r(a, ψ), max_i Σ p̂(ψ' | ψ, i) r(a, ψ') ) over the observations that were
    bought.
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
            for x in range(layout.radices[i]):
                below = find(counters.rows, first + x * stride)
                n = seen(counters, below, slot, by_visits)
                total += n
                for action in range(actions):
                    room[action] += n * reward[below, action]
            if total > 0:
                for action in range(actions):
                    reward[row, action] = max(reward[row, action], room[action] / total)


@jit_no_arrays
def plan_seen_paths(
    layout: Layout,
    counters: Counters,
    order: Integers,
    subsets: Integers,
    tariff: Tariff,
    stop: Floats,
    out_value: Floats,
    out_look: Choices,
) -> None:
    """F(ψ) = max( stop(ψ), max_i Σ p̂(ψ' | ψ, i) F(ψ') − c_i ) over what was bought."""
    m = layout.members.shape[1]
    for row in order:
        out_value[row] = stop[row]
        out_look[row] = -1
        subset = subsets[row]
        if layout.sizes[subset] == m:
            continue
        state = state_of(counters.rows, row)
        known = 0
        for i in range(len(layout.radices)):
            if known < layout.sizes[subset] and layout.members[subset, known] == i:
                known += 1
                continue
            if not is_open(layout, subset, i):
                continue
            _, first, stride, slot = child(layout, subset, state, i)
            cost = price(layout, tariff, subset, state, i)
            total = 0
            earned = 0.0
            for x in range(layout.radices[i]):
                below = find(counters.rows, first + x * stride)
                n = counters.transitions[below, slot]
                total += n
                worth = out_value[below]
                if x == tariff.refunded[i]:
                    worth += cost
                earned += n * worth
            if total > 0:
                worth = earned / total - cost
                if worth > out_value[row]:
                    out_value[row] = worth
                    out_look[row] = i
