"""This kernel counts how often the steps were taken that led to each state."""

from askwise._kernels.jit import jit_no_arrays
from askwise._kernels.states.lattices import child, parent, subset_at
from askwise._kernels.states.rows import find
from askwise._support.typing import Integers
from askwise.states.layout import Layout
from askwise.states.rows import Counters


@jit_no_arrays
def steps_before(layout: Layout, counters: Counters, states: Integers, out: Integers) -> None:
    """N(ψ, i) at [ψ', slot of i in ψ'] of every state ψ' = (ψ, i, x). It is 0 without a parent."""
    for place in range(len(states)):
        for slot in range(out.shape[1]):
            out[place, slot] = 0
        if states[place] < 0:
            continue
        subset = subset_at(layout, states[place])
        for slot in range(layout.sizes[subset]):
            i = layout.members[subset, slot]
            smaller, before = parent(layout, subset, states[place], slot)
            _, first, stride, _ = child(layout, smaller, before, i)
            for x in range(layout.radices[i]):
                row = find(counters.rows, first + x * stride)
                out[place, slot] += counters.transitions[row, slot]
