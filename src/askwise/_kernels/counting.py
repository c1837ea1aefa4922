"""What one finished case adds to the counters."""

import numpy as np

from askwise._kernels.jit import bare
from askwise._kernels.lattices import context_of, contexts_of
from askwise._kernels.rows import insert
from askwise._typing import Integers
from askwise.lattice import Layout, Parts
from askwise.rows import Counters


@bare
def count_set(layout: Layout, counters: Counters, subset: int, state: int) -> int:
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
        row = insert(counters.rows, substate)  # the state itself comes last
        counters.visits[row] += 1
        counters.subset_visits[part * contexts + context] += 1
    return row


@bare
def count_parts(state: int, parts: Parts, visits: Integers, subset_visits: Integers) -> None:
    """`count_set` for dense rows in one context."""
    place = state - parts.firsts[len(parts.firsts) - 1]  # the subset itself comes last
    for part in range(len(parts.numbers)):
        substate = parts.firsts[part]
        for j in range(len(parts.strides)):
            substate += place // parts.strides[j] % parts.radices[j] * parts.steps[part, j]
        visits[substate] += 1
        subset_visits[parts.numbers[part]] += 1


@bare
def count_path(counters: Counters, states: Integers, slots: Integers) -> None:
    """N(ψ, i, ψ') += 1 for every step: the state it led to, and the slot of i there."""
    for step in range(len(states)):
        counters.transitions[insert(counters.rows, states[step]), slots[step]] += 1


@bare
def count_reward(counters: Counters, row: int, action: int, reward: float, unit: float) -> None:
    """N(a, ψ) += 1 and Σr(a, ψ) += r."""
    counters.action_counts[row, action] += 1
    counters.reward_sums[row, action] += np.int64(np.rint(reward / unit))
