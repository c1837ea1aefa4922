"""Classes in every state: counted, shrunk to states with one look less; looks followed."""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_no_arrays
from askwise._kernels.states.lattices import child, parent
from askwise._support.typing import Choices, Floats, Integers
from askwise.states.layout import Layout

_LEAST = 1e-300


@jit_no_arrays
def count_classes(
    layout: Layout,
    digits: Integers,
    labels: Integers,
    weights: Floats,
    out_counts: Floats,
) -> None:
    """Add n_c(ψ), what rows of each class weigh in each state; `digits` has a row for a case."""
    for subset in range(len(layout.sizes)):
        start = layout.offsets[subset]
        for row in range(len(labels)):
            state = start
            for j in range(layout.sizes[subset]):
                state += digits[row, layout.members[subset, j]] * layout.strides[subset, j]
            out_counts[state, labels[row]] += weights[row]


@jit
def shrink_classes(
    layout: Layout,
    counts: Floats,
    shrinkage: float,
    out_probability: Floats,
    out_logs: Floats,
) -> None:
    """p̂(c | ψ) of every state and its logarithm, from the empty one up."""
    classes = counts.shape[1]
    m = layout.members.shape[1]
    above = np.empty(max(m, 1), np.int64)
    pooled = np.empty(classes)
    for subset in range(len(layout.sizes)):
        here = layout.offsets[subset]
        size = layout.sizes[subset]
        for slot in range(size):
            smaller, _ = parent(layout, subset, here, slot)
            above[slot] = layout.offsets[smaller]
        for state in range(here, layout.offsets[subset + 1]):
            place = state - here
            for c in range(classes):
                pooled[c] = 0.0
            for slot in range(size):
                stride = layout.strides[subset, slot]
                radix = layout.radices[layout.members[subset, slot]]
                before = above[slot] + place // (stride * radix) * stride + place % stride
                for c in range(classes):
                    pooled[c] += out_logs[before, c] / size
            top = pooled[0]
            for c in range(1, classes):
                top = max(top, pooled[c])
            total, cases = 0.0, 0.0
            for c in range(classes):
                pooled[c] = math.exp(pooled[c] - top)
                total += pooled[c]
                cases += counts[state, c]
            for c in range(classes):
                likely = (counts[state, c] + shrinkage * pooled[c] / total) / (cases + shrinkage)
                out_probability[state, c] = likely
                out_logs[state, c] = math.log(max(likely, _LEAST))


@jit_no_arrays
def follow_looks(
    layout: Layout,
    look: Choices,
    digits: Integers,
    out_state: Integers,
) -> None:
    """The state that each row ends in; one with an outcome below 0 ends where that was bought."""
    for row in range(len(out_state)):
        state, subset = 0, 0
        while look[state] >= 0:
            i = look[state]
            if digits[row, i] < 0:
                break
            union, first, stride, _ = child(layout, subset, state, i)
            state = first + digits[row, i] * stride
            subset = union
        out_state[row] = state
