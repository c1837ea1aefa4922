"""Q(ψ, i) of every observation, and choices by values that were drawn."""

import math

import numpy as np

from askwise._kernels.jit import jit
from askwise._kernels.planning.optimism import FEW, optimistic_mean
from askwise._kernels.states.lattices import child, is_open, union_of
from askwise._kernels.states.prices import price
from askwise._support.typing import Choices, Floats, Weights
from askwise.states.layout import Layout
from askwise.states.prices import Tariff


@jit
def look_values(
    layout: Layout,
    tariff: Tariff,
    ahead: Floats,
    weight: Weights,
    width: float,
    width_per_outcome: float,
    cap: float,
    out: Floats,
) -> None:
    """Q(ψ, i) = −c_i + the optimistic mean of `ahead` over the outcomes of i, at [ψ, i].

    It is −∞ where i may not be bought: i is known already, a requirement is not known, or m are
    known.
    """
    m = layout.members.shape[1]
    most = layout.radices.max() if len(layout.radices) > 0 else 0
    value = np.empty(most)
    counted = np.empty(most, weight.dtype)
    for subset in range(len(layout.sizes)):
        for state in range(layout.offsets[subset], layout.offsets[subset + 1]):
            for i in range(len(layout.radices)):
                out[state, i] = -math.inf
                if layout.sizes[subset] == m or union_of(layout, subset, i)[1] < 0:
                    continue
                if not is_open(layout, subset, i):
                    continue
                _, first, stride, slot = child(layout, subset, state, i)
                cost = price(layout, tariff, subset, state, i)
                radix = layout.radices[i]
                for x in range(radix):
                    value[x] = ahead[first + x * stride]
                    counted[x] = weight[first + x * stride, slot]
                if tariff.refunded[i] >= 0:
                    value[tariff.refunded[i]] += cost
                k_width = width + width_per_outcome * radix
                few = radix <= FEW
                mean = optimistic_mean(value, counted, 0, 1, 0, 1, radix, k_width, cap, few)
                out[state, i] = mean - cost


@jit
def randomized_values(
    layout: Layout,
    tariff: Tariff,
    weight: Weights,
    noise: float,
    prior: float,
    draws: Floats,
    out_value: Floats,
    out_look: Choices,
) -> None:
    """Do backward induction on regressions that are drawn.

    For each observation i in ψ, with n = N(ψ, i),

        Q̃(ψ, i) ~ N( Σ_ψ' N(ψ, i, ψ') F̃(ψ') / (n + noise²/prior²), noise² / (n + noise²/prior²) )

    less its price. F̃(ψ) is the largest of these values and of the value of acting, which
    `out_value` holds before. `draws[ψ, i]` are standard normal numbers.
    """
    m = layout.members.shape[1]
    ridge = noise * noise / (prior * prior)
    for subset in range(len(layout.sizes) - 1, -1, -1):
        for state in range(layout.offsets[subset], layout.offsets[subset + 1]):
            out_look[state] = -1
            if layout.sizes[subset] == m:
                continue
            for i in range(len(layout.radices)):
                if union_of(layout, subset, i)[1] < 0 or not is_open(layout, subset, i):
                    continue
                _, first, stride, slot = child(layout, subset, state, i)
                cost = price(layout, tariff, subset, state, i)
                total = 0.0
                n = 0.0
                for x in range(layout.radices[i]):
                    seen = float(weight[first + x * stride, slot])
                    back = cost if tariff.refunded[i] == x else 0.0
                    total += seen * (out_value[first + x * stride] + back)
                    n += seen
                mean = total / (n + ridge)
                worth = mean + noise / math.sqrt(n + ridge) * draws[state, i] - cost
                if worth > out_value[state]:
                    out_value[state] = worth
                    out_look[state] = i
