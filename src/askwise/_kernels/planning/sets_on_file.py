"""This kernel chooses a set when some values are on file."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.planning.optimism import FEW, optimistic_mean
from askwise._kernels.states.lattices import child, is_open
from askwise._kernels.states.prices import spent
from askwise._support.typing import Floats, Integers, Weights
from askwise.states.layout import Layout
from askwise.states.prices import Tariff


@jit
def best_set_from(
    layout: Layout,
    tariff: Tariff,
    stop: Floats,
    weight: Weights,
    width: float,
    width_per_outcome: float,
    cap: float,
    margin: float,
    start: int,
    known: int,
    out_value: Floats,
) -> int:
    """Return the best set that contains the subset `known`, whose state `start` is known.

    The value of a set comes from buying its other members one after the other, in order.
    `weight[ψ', slot]` is how often the purchase in that slot led to ψ'. The value is −∞ for sets
    that do not contain `known`, and for sets with a bought member that lacks a requirement.
    """
    most = 1
    for context_subset in range(len(layout.context_offsets) - 1):
        most = max(
            most,
            layout.context_offsets[context_subset + 1] - layout.context_offsets[context_subset],
        )
    values = np.empty(most)
    weights = np.empty(max(1, layout.radices.max()), weight.dtype)
    added = np.empty(layout.members.shape[1], np.int64)
    choice = known
    paid = spent(layout, tariff, known, start)
    for subset in range(len(layout.sizes)):
        out_value[subset] = -np.inf
        count, holds = added_members(layout, known, subset, added)
        for j in range(count):
            holds &= is_open(layout, subset, added[j])
        if not holds:
            continue
        leaves = 1
        for j in range(count):
            leaves *= layout.radices[added[j]]
        for leaf in range(leaves):
            state, union, _ = reached(layout, start, known, added, count, leaf)
            values[leaf] = stop[state] + paid - spent(layout, tariff, union, state)
        for j in range(count - 1, -1, -1):
            radix = layout.radices[added[j]]
            leaves //= radix
            for prefix in range(leaves):
                for x in range(radix):
                    state, _, slot = reached(layout, start, known, added, j + 1, prefix * radix + x)
                    weights[x] = weight[state, slot]
                values[prefix] = optimistic_mean(
                    values,
                    weights,
                    prefix * radix,
                    1,
                    0,
                    1,
                    radix,
                    width + width_per_outcome * radix,
                    cap,
                    radix <= FEW,
                )
        out_value[subset] = values[0]
        if values[0] > out_value[choice] + margin:
            choice = subset
    return choice


@jit
def added_members(layout: Layout, known: int, subset: int, out: Integers) -> tuple[int, bool]:
    """Fill the members that `known` lacks. Return their number, and whether the subset contains
    it.
    """
    count = 0
    shared = 0
    for j in range(layout.sizes[subset]):
        i = layout.members[subset, j]
        if shared < layout.sizes[known] and layout.members[known, shared] == i:
            shared += 1
        else:
            out[count] = i
            count += 1
    return count, shared == layout.sizes[known]


@jit
def reached(
    layout: Layout, start: int, known: int, added: Integers, count: int, values: int
) -> tuple[int, int, int]:
    """Return the state, its subset and the slot of the last purchase, after so many purchases.

    `values` has their outcomes as digits, with the last one lowest.
    """
    state, subset, slot = start, known, -1
    scale = 1
    for j in range(count):
        scale *= layout.radices[added[j]]
    for j in range(count):
        scale //= layout.radices[added[j]]
        subset, first, stride, slot = child(layout, subset, state, added[j])
        state = first + values // scale % layout.radices[added[j]] * stride
    return state, subset, slot
