"""What one finished case adds to the counters."""

import numpy as np

from askwise._kernels.jit import bare, inner
from askwise._kernels.states.lattices import context_of, contexts_of, subset_at
from askwise._kernels.states.rows import insert
from askwise._support.typing import Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters, Rows


@bare
def count_sets(
    layout: Layout, rows: Rows, subset_visits: Integers, visits: Integers, states: Integers
) -> None:
    """`count_set` for each of these states."""
    for state in states:
        count_substates(layout, rows, subset_visits, visits, subset_at(layout, state), state)


@bare
def count_set(layout: Layout, counters: Counters, subset: int, state: int) -> int:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state; returns its row."""
    return count_substates(
        layout, counters.rows, counters.subset_visits, counters.visits, subset, state
    )


@inner
def count_substates(
    layout: Layout,
    rows: Rows,
    subset_visits: Integers,
    visits: Integers,
    subset: int,
    state: int,
) -> int:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state; returns its row."""
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
        substate = layout.parcels[part * contexts + context]
        rest = state - layout.parcels[subset * contexts + context]
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


@inner
def count_reward(counters: Counters, row: int, action: int, reward: float, unit: float) -> None:
    """N(a, ψ) += 1 and Σr(a, ψ) += r."""
    counters.action_counts[row, action] += 1
    counters.reward_sums[row, action] += np.int64(np.rint(reward / unit))
