"""The two planners over the whole lattice."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.optimism import optimistic_mean
from askwise._typing import Choices, Floats, Integers, Weights


@jit
def simultaneous(
    offsets: Integers,
    stop: Floats,
    weight: Weights,
    cost: Floats,
    width: float,
    width_per_outcome: float,
    margin: float,
    out_value: Floats,
) -> int:
    """V̂(I) of every subset; returns the first of the best."""
    choice = 0
    for subset in range(len(cost)):
        first = offsets[subset]
        end = offsets[subset + 1]
        subset_width = width + width_per_outcome * (end - first)
        mean = optimistic_mean(stop, weight, first, end, subset_width)
        out_value[subset] = mean - cost[subset]
        if out_value[subset] > out_value[choice] + margin:
            choice = subset
    return choice


@jit
def sequential(
    radices: Integers,
    members: Integers,
    sizes: Integers,
    strides: Integers,
    offsets: Integers,
    levels: Integers,
    binomials: Integers,
    stop: Floats,
    weight: Weights,
    cost: Floats,
    width: float,
    width_per_outcome: float,
    margin: float,
    ahead: Floats,
    out_value: Floats,
    out_next: Choices,
) -> None:
    """F̂(ψ) and ĝ(ψ) of every state, from the largest states down to the empty one.

    `ahead` is what a child is worth: `out_value` itself, or `stop` to look one step ahead only.

    Works on whole subsets: the children of a block of states under observation i lie in one block
    again, `stride` apart, so nothing is looked up for a single state.
    """
    n = len(radices)
    m = members.shape[1]
    values = np.empty(radices.max())
    weights = np.empty(radices.max(), weight.dtype)
    out_value[:] = stop
    out_next[:] = -1
    for subset in range(levels[m] - 1, -1, -1):
        size = sizes[subset]
        here = offsets[subset]
        states = offsets[subset + 1] - here
        slot = 0  # where i stands in the union: behind the members before it
        before = 0  # Σ_j binomial(n−1−i_j, size+1−j) over the members before i
        after = 0  # the same over the members behind it, each one place further back
        for j in range(size):
            after += binomials[n - 1 - members[subset, j], size - j]
        for i in range(n):
            if slot < size and members[subset, slot] == i:
                before += binomials[n - 1 - i, size + 1 - slot]
                after -= binomials[n - 1 - i, size - slot]
                slot += 1
                continue
            own = binomials[n - 1 - i, size + 1 - slot]
            union = levels[size + 2] - 1 - before - own - after
            stride = strides[union, slot]
            radix = radices[i]
            union_width = width + width_per_outcome * radix
            for high in range(states // stride):
                for low in range(stride):
                    state = here + high * stride + low
                    child = offsets[union] + high * stride * radix + low
                    for x in range(radix):
                        values[x] = ahead[child]
                        weights[x] = weight[child, slot]
                        child += stride
                    mean = optimistic_mean(values, weights, 0, radix, union_width)
                    value = mean - cost[i]
                    if value > out_value[state] + margin:
                        out_value[state] = value
                        out_next[state] = i
