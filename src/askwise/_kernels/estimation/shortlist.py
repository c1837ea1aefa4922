"""p(φ) of a few observations is a joint model over their full states, here called cells.

The purchases in a case depend only on what was observed in it, so likelihoods may ignore how they
were chosen. So expectation and maximisation find p from the visited states:

    n(φ) = Σ_ψ N(ψ) p(φ | ψ),     p(φ) ∝ n(φ) + prior(φ)

The cells that agree with a state are `base(ψ) + free(I)`. The free cells of a subset are the same
for all of its states. Cells are numbered by mixed radix, with the first observation leading.
"""

import numpy as np

from askwise._kernels.estimation.additive_groups import Data
from askwise._kernels.jit import jit
from askwise._kernels.states.lattices import child, context_of, contexts_of
from askwise._support.typing import Floats, Integers
from askwise.states.layout import Layout


@jit
def project(
    layout: Layout,
    place: Integers,
    data: Data,
    out_counts: Floats,
    out_sums: Floats,
    out_graded: Floats,
) -> None:
    """Sum the rows by their values of the few observations. `place` is an observation's place or
    −1.
    """
    few = len(layout.radices)
    out_counts[:] = 0.0
    out_sums[:] = 0.0
    out_graded[:] = 0.0
    for row in range(len(data.seen)):
        state = 0
        subset = 0
        for j in range(data.seen.shape[1]):  # a state begins with the given values
            i = data.seen[row, j]
            if i >= 0 and place[i] >= few:
                state += data.value[row, j] * layout.given[place[i] - few]
        for j in range(data.seen.shape[1]):
            i = data.seen[row, j]
            if i < 0:
                break
            if 0 <= place[i] < few:
                subset, first, stride, _ = child(layout, subset, state, place[i])
                state = first + data.value[row, j] * stride
        for a in range(data.counts.shape[1]):
            out_counts[state, a] += data.counts[row, a]
            out_sums[state, a] += data.sums[row, a]
            out_graded[state, a] += data.graded[row, a]


@jit
def free_cells(layout: Layout, strides: Integers, subset: int, out: Integers) -> int:
    """Fill the cells that agree with the first state of a subset. Return their number."""
    out[0] = 0
    count = 1
    slot = 0
    for i in range(len(layout.radices)):
        if slot < layout.sizes[subset] and layout.members[subset, slot] == i:
            slot += 1
            continue
        for x in range(1, layout.radices[i]):
            for c in range(count):
                out[x * count + c] = out[c] + x * strides[i]
        count *= layout.radices[i]
    return count


@jit
def base_cell(layout: Layout, strides: Integers, subset: int, state: int) -> int:
    """Return the first cell that agrees with a state."""
    context = context_of(layout, subset, state)
    rest = state - layout.context_offsets[subset * contexts_of(layout) + context]
    cell = context
    for i in range(len(layout.radices)):
        cell *= layout.radices[i]
    for j in range(layout.sizes[subset]):
        cell += rest // layout.strides[subset, j] * strides[layout.members[subset, j]]
        rest %= layout.strides[subset, j]
    return cell


@jit
def maximise(
    layout: Layout, strides: Integers, visits: Floats, prior: Floats, steps: int, p: Floats
) -> None:
    """Do so many steps of expectation and maximisation, in place. `prior` is in cases."""
    free = np.empty(len(p), np.int64)
    expected = np.empty(len(p))
    for _ in range(steps):
        for cell in range(len(p)):
            expected[cell] = prior[cell]
        # without given values the empty state is no evidence
        for subset in range(0 if contexts_of(layout) > 1 else 1, len(layout.sizes)):
            first = layout.offsets[subset]
            end = layout.offsets[subset + 1]
            if not visits[first:end].any():
                continue
            count = free_cells(layout, strides, subset, free)
            for state in range(first, end):
                if visits[state] > 0.0:
                    base = base_cell(layout, strides, subset, state)
                    total = 0.0
                    for c in range(count):
                        total += p[base + free[c]]
                    share = visits[state] / total
                    for c in range(count):
                        expected[base + free[c]] += share * p[base + free[c]]
        whole = expected.sum()
        for cell in range(len(p)):
            p[cell] = expected[cell] / whole


@jit
def marginalise(
    layout: Layout,
    strides: Integers,
    p: Floats,
    columns: Floats,
    wanted: Integers,
    out_p: Floats,
    out: Floats,
) -> None:
    """Compute p(ψ) and E[columns(φ) | ψ] of the wanted states (in order), row by row."""
    free = np.empty(len(p), np.int64)
    total = np.empty(columns.shape[1])
    subset = -1
    count = 0
    for row in range(len(wanted)):
        state = wanted[row]
        if subset < 0 or state >= layout.offsets[subset + 1]:
            subset = np.searchsorted(layout.offsets, state, side="right") - 1
            count = free_cells(layout, strides, subset, free)
        base = base_cell(layout, strides, subset, state)
        total[:] = 0.0
        mass = 0.0
        for c in range(count):
            cell = base + free[c]
            mass += p[cell]
            for k in range(len(total)):
                total[k] += p[cell] * columns[cell, k]
        out_p[row] = mass
        for k in range(len(total)):
            out[row, k] = total[k] / mass
