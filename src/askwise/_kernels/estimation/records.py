"""These kernels count complete records in every state, and shrink states towards smaller ones."""

from askwise._kernels.jit import jit_no_arrays
from askwise._kernels.states.lattices import contexts_of, parent, start_of
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout


@jit_no_arrays
def add_records(layout: Layout, digits: Choices, amounts: Floats, out: Floats) -> None:
    """Add the amounts of each record, (records, k), to every state it agrees with, (states, k)."""
    contexts = contexts_of(layout)
    for row in range(len(digits)):
        context = start_of(layout, digits, row)
        for subset in range(len(layout.sizes)):
            state = layout.context_offsets[subset * contexts + context]
            for j in range(layout.sizes[subset]):
                state += digits[row, layout.members[subset, j]] * layout.strides[subset, j]
            for k in range(amounts.shape[1]):
                out[state, k] += amounts[row, k]


@jit_no_arrays
def pool_contexts(layout: Layout, pool: Integers, values: Floats, out: Floats) -> None:
    """Add the values of all contexts c to the context pool[c], subset by subset."""
    contexts = contexts_of(layout)
    for subset in range(len(layout.sizes)):
        begin = subset * contexts
        states = layout.context_offsets[begin + 1] - layout.context_offsets[begin]
        for context in range(contexts):
            for place in range(states):
                state = layout.context_offsets[begin + context] + place
                pooled = layout.context_offsets[begin + pool[context]] + place
                for k in range(values.shape[1]):
                    out[pooled, k] += values[state, k]


@jit_no_arrays
def shrink_states(
    layout: Layout,
    pool: Integers,
    counts: Floats,
    sums: Floats,
    fewer: Floats,
    strength: float,
    first: float,
    out: Floats,
) -> None:
    """Compute (Σr + κ q) / (N + κ) of every state, from the empty one up; q is its parents' mean.

    Contexts with the same pool[c] are one: `counts` and `sums` have their totals at pool[c], and
    `out` has their estimate at each of them. `fewer` has the estimates in which one more given
    observation is dropped, (tables, states, actions); those are parents too.
    """
    contexts = contexts_of(layout)
    for subset in range(len(layout.sizes)):
        begin, size = subset * contexts, layout.sizes[subset]
        states = layout.context_offsets[begin + 1] - layout.context_offsets[begin]
        parents = size + len(fewer)
        for context in range(contexts):
            for place in range(states):
                state = layout.context_offsets[begin + context] + place
                pooled = layout.context_offsets[begin + pool[context]] + place
                for a in range(out.shape[1]):
                    if pooled < state:
                        out[state, a] = out[pooled, a]
                    elif parents == 0:
                        out[state, a] = (sums[state, a] + first) / (counts[state, a] + 1.0)
                    else:
                        out[state, a] = 0.0
                if pooled < state:
                    continue
                for slot in range(size):
                    _, smaller = parent(layout, subset, state, slot)
                    for a in range(out.shape[1]):
                        out[state, a] += out[smaller, a] / parents
                for table in range(len(fewer)):
                    for a in range(out.shape[1]):
                        out[state, a] += fewer[table, state, a] / parents
                for a in range(out.shape[1]):
                    total = sums[state, a] + strength * out[state, a]
                    out[state, a] = total / (counts[state, a] + strength)
