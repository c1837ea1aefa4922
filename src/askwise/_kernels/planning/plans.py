"""The two planners plan over the whole lattice."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.planning.optimism import FEW, optimistic_mean, optimistic_means
from askwise._kernels.states.lattices import is_open, union_of
from askwise._kernels.states.prices import price
from askwise._support.typing import Choices, Floats, Integers, Weights
from askwise.states.layout import Layout
from askwise.states.prices import Tariff

LANES = 64
"""So many observations are computed side by side."""


@jit
def simultaneous(
    context_offsets: Integers,
    stop: Floats,
    weight: Weights,
    cost: Floats,
    width: float,
    width_per_outcome: float,
    cap: float,
    margin: float,
    out_value: Floats,
    out_set: Integers,
) -> None:
    """Compute V̂(I) of every subset in every context, and the first best subset of each context."""
    contexts = len(out_set)
    out_set[:] = 0
    for context_subset in range(len(out_value)):
        first = context_offsets[context_subset]
        outcomes = context_offsets[context_subset + 1] - first
        subset = context_subset // contexts
        context = context_subset % contexts
        mean = optimistic_mean(
            stop,
            weight,
            first,
            1,
            first,
            1,
            outcomes,
            width + width_per_outcome * outcomes,
            cap,
            outcomes <= FEW,
        )
        out_value[context_subset] = mean - cost[subset]
        if out_value[context_subset] > out_value[out_set[context] * contexts + context] + margin:
            out_set[context] = subset


@jit
def sequential(
    layout: Layout,
    tariff: Tariff,
    most: float,
    stop: Floats,
    weight: Weights,
    width: float,
    width_per_outcome: float,
    cap: float,
    margin: float,
    out_value: Floats,
    out_look: Choices,
) -> None:
    """Compute F̂(ψ) and ĝ(ψ) of every state, from the largest states down to the empty one.

    No value is above `most`.

    The kernel works on whole subsets. The children of a block of states under observation i are one
    block again, and those of one state are `stride` apart. So no child has to be looked up.
    """
    m = layout.members.shape[1]
    flat = weight.reshape(-1)
    value = np.empty((FEW, LANES))
    counted = np.empty((FEW, LANES))
    best = np.empty(LANES)
    total = np.empty(LANES)
    kept = np.empty(LANES)
    mean = np.empty(LANES)
    cost = np.empty(LANES)
    row = np.empty(layout.radices.max() if len(layout.radices) > 0 else 0)
    for state in range(len(stop)):
        out_value[state] = stop[state]
    out_look[:] = -1
    for subset in range(layout.levels[m] - 1, -1, -1):
        here = layout.offsets[subset]
        states = layout.offsets[subset + 1] - here
        for i in range(len(layout.radices)):
            union, slot = union_of(layout, subset, i)
            if slot < 0 or not is_open(layout, subset, i):
                continue
            stride = layout.strides[union, slot]
            radix = layout.radices[i]
            union_width = width + width_per_outcome * radix
            child = layout.offsets[union]
            refunded = tariff.refunded[i]
            in_panels = tariff.first_panel[i + 1] > tariff.first_panel[i]
            in_panels = in_panels or len(tariff.priced_fee) > 0
            low = 0
            for start in range(0, states, LANES):
                lanes = min(LANES, states - start)
                for lane in range(lanes):
                    cost[lane] = tariff.cost[i]
                    if in_panels:
                        cost[lane] = price(layout, tariff, subset, here + start + lane, i)
                    if radix <= FEW:
                        for x in range(radix):
                            value[x, lane] = out_value[child + x * stride]
                            counted[x, lane] = weight[child + x * stride, slot]
                        if refunded >= 0:
                            value[refunded, lane] += cost[lane]
                    elif refunded >= 0:
                        for x in range(radix):
                            row[x] = out_value[child + x * stride]
                        row[refunded] += cost[lane]
                        mean[lane] = optimistic_mean(
                            row,
                            flat,
                            0,
                            1,
                            child * m + slot,
                            stride * m,
                            radix,
                            union_width,
                            cap,
                            False,
                        )
                    else:
                        mean[lane] = optimistic_mean(
                            out_value,
                            flat,
                            child,
                            stride,
                            child * m + slot,
                            stride * m,
                            radix,
                            union_width,
                            cap,
                            False,
                        )
                    child += 1
                    low += 1
                    if low == stride:
                        low = 0
                        child += stride * (radix - 1)
                if radix <= FEW:
                    optimistic_means(
                        value, counted, radix, lanes, union_width, cap, best, total, kept, mean
                    )
                for lane in range(lanes):
                    state = here + start + lane
                    worth = mean[lane] - cost[lane]
                    if refunded >= 0:
                        worth = min(worth, most)  # rounding must not raise it above `most`
                    if worth > out_value[state] + margin:
                        out_value[state] = worth
                        out_look[state] = i
