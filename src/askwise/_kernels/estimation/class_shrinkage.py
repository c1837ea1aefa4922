"""These kernels count classes in every state and shrink them towards states with one value less."""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_internal, jit_no_arrays
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
    """Add n_c(ψ), the weight of the rows of each class in each state. `digits` has a row for a
    case.
    """
    for subset in range(len(layout.sizes)):
        start = layout.offsets[subset]
        for row in range(len(labels)):
            state = start
            for j in range(layout.sizes[subset]):
                state += digits[row, layout.members[subset, j]] * layout.strides[subset, j]
            out_counts[state, labels[row]] += weights[row]


@jit_internal
def likeliest(
    counts: Floats, prior: Floats, first: int, end: int, tried: Floats, believed: Floats
) -> float:
    """Return the strength under which the classes of these states are most likely.

    The function maximises the marginal likelihood of a Dirichlet prior of so many records, times
    the prior of each strength, `believed`, in logarithms.
    """
    best, most = tried[0], -math.inf
    for k in range(len(tried)):
        s = tried[k]
        found = believed[k]
        for state in range(first, end):
            cases = 0.0
            for c in range(counts.shape[1]):
                n = counts[state, c]
                if n > 0.0:
                    cases += n
                    own = s * max(prior[state, c], _LEAST)
                    found += math.lgamma(n + own) - math.lgamma(own)
            if cases > 0.0:
                found += math.lgamma(s) - math.lgamma(cases + s)
        if found > most:
            best, most = s, found
    return best


@jit
def shrink_classes(
    layout: Layout,
    counts: Floats,
    tried: Floats,
    believed: Floats,
    out_strength: Floats,
    out_probability: Floats,
    out_logs: Floats,
) -> None:
    """Compute p̂(c | ψ) of every state and its logarithm, from the empty state up.

    The strength of each subset is the most likely one of those that are tried.
    """
    classes = counts.shape[1]
    m = layout.members.shape[1]
    above = np.empty(max(m, 1), np.int64)
    pooled = np.empty(classes)
    for subset in range(len(layout.sizes)):
        here, end = layout.offsets[subset], layout.offsets[subset + 1]
        size = layout.sizes[subset]
        for slot in range(size):
            smaller, _ = parent(layout, subset, here, slot)
            above[slot] = layout.offsets[smaller]
        for state in range(here, end):
            place = state - here
            for c in range(classes):
                pooled[c] = 0.0
            for slot in range(size):
                stride = layout.strides[subset, slot]
                radix = layout.radices[layout.members[subset, slot]]
                before = above[slot] + place // (stride * radix) * stride + place % stride
                for c in range(classes):
                    pooled[c] += out_logs[before, c] / size
            top, total = pooled[0], 0.0
            for c in range(1, classes):
                top = max(top, pooled[c])
            for c in range(classes):
                pooled[c] = math.exp(pooled[c] - top)
                total += pooled[c]
            for c in range(classes):
                out_probability[state, c] = pooled[c] / total
        s = tried[0]
        if len(tried) > 1:
            s = likeliest(counts, out_probability, here, end, tried, believed)
        out_strength[subset] = s
        for state in range(here, end):
            cases = 0.0
            for c in range(classes):
                cases += counts[state, c]
            for c in range(classes):
                likely = (counts[state, c] + s * out_probability[state, c]) / (cases + s)
                out_probability[state, c] = likely
                out_logs[state, c] = math.log(max(likely, _LEAST))


@jit_no_arrays
def follow_looks(
    layout: Layout,
    look: Choices,
    digits: Integers,
    out_state: Integers,
) -> None:
    """Compute the state in which each row ends. A negative outcome ends the row where it was
    bought.
    """
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
