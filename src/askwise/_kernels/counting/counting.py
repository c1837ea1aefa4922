"""These kernels add one case to the counters: its observations, its set and its reward."""

import numpy as np

from askwise._kernels.jit import jit_inlined, jit_internal, jit_no_arrays
from askwise._kernels.states.lattices import child, context_of, contexts_of, start_of, subset_at
from askwise._kernels.states.rows import find, insert
from askwise._support.typing import Choices, Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters, Rows


@jit_no_arrays
def count_sets(
    layout: Layout, rows: Rows, subset_visits: Integers, visits: Integers, states: Integers
) -> None:
    """Call `count_set` for each of these states."""
    for state in states:
        count_substates(layout, rows, subset_visits, visits, subset_at(layout, state), state)


@jit_no_arrays
def count_set(layout: Layout, counters: Counters, subset: int, state: int) -> int:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state. Return its row."""
    return count_substates(
        layout, counters.rows, counters.subset_visits, counters.visits, subset, state
    )


@jit_internal
def count_substates(
    layout: Layout,
    rows: Rows,
    subset_visits: Integers,
    visits: Integers,
    subset: int,
    state: int,
) -> int:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state. Return its row."""
    size = layout.sizes[subset]
    last = len(layout.radices) - 1
    contexts = contexts_of(layout)
    context = context_of(layout, subset, state)
    row = 0
    for chosen in range(1 << size):
        kept = 0
        for j in range(size):
            kept += chosen >> j & 1
        part = layout.levels[kept + 1] - 1
        behind = kept
        for j in range(size):
            if chosen >> j & 1:
                part -= layout.binomials[last - layout.members[subset, j], behind]
                behind -= 1
        substate = layout.context_offsets[part * contexts + context]
        rest = state - layout.context_offsets[subset * contexts + context]
        place = 0
        for j in range(size):
            digit = rest // layout.strides[subset, j]
            rest -= digit * layout.strides[subset, j]
            if chosen >> j & 1:
                substate += digit * layout.strides[part, place]
                place += 1
        row = insert(rows, substate)  # the state itself comes last
        visits[row] += 1
        subset_visits[part * contexts + context] += 1
    return row


@jit_inlined
def begin_path(layout: Layout, counters: Counters, values: Choices, t: int) -> tuple[int, int]:
    """Begin case t, which buys observations one after the other. Return its state and the row of
    it.
    """
    state = start_of(layout, values, t)
    row = insert(counters.rows, state)
    if contexts_of(layout) > 1:
        counters.visits[row] += 1
    return state, row


@jit_inlined
def take_look(
    layout: Layout, counters: Counters, values: Choices, t: int, subset: int, state: int, i: int
) -> tuple[int, int, int]:
    """N(ψ, i, ψ') += 1: case t buys i. Return the new subset, the new state and the row of it."""
    union, first, stride, slot = child(layout, subset, state, i)
    after = first + values[t, i] * stride
    row = insert(counters.rows, after)
    counters.transitions[row, slot] += 1
    return union, after, row


@jit_inlined
def times_looked(layout: Layout, counters: Counters, subset: int, state: int, i: int) -> int:
    """Return N(ψ, i), how often i was bought in a state."""
    _, first, stride, slot = child(layout, subset, state, i)
    times = 0
    for x in range(layout.radices[i]):
        times += counters.transitions[find(counters.rows, first + x * stride), slot]
    return times


@jit_internal
def count_reward(counters: Counters, row: int, action: int, reward: float, unit: float) -> None:
    """N(a, ψ) += 1, Σr(a, ψ) += r and Σr(1 − r) += r(1 − r)."""
    units = np.int64(np.rint(reward / unit))
    counters.action_counts[row, action] += 1
    counters.reward_sums[row, action] += units
    if 0.0 < reward < 1.0:
        counters.graded_sums[row, action] += units - np.int64(np.rint(reward * reward / unit))
