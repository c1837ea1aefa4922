"""Spike and slab: which observations and pairs have an effect on rewards, given all cases so far.

Let e be the rewards less what the other effects explain. The effect of one observation (or of a
pair) on one action is f·w, with features f of its values, w ~ N(0, τ²) and noise of variance σ²:

    Λ = Σ n f fᵀ / σ² + I / τ²,     w | e ~ N(Λ⁻¹ Σ e f / σ², Λ⁻¹)
    log Bayes factor = ½ ρᵀ Λ⁻¹ ρ − ½ log det(τ² Λ),     ρ = Σ e f / σ²

The log Bayes factor is summed over the actions, because an observation has an effect on all actions
or on none. A sweep of Gibbs steps visits each observation and pair in turn. It draws whether it is
included, and its effects if it is.
"""

import math
from typing import NamedTuple

import numpy as np

from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers


class Data(NamedTuple):
    """The data of the model has a row for each visited state."""

    seen: Integers
    """(rows, m): the observations known in each row, padded with −1."""
    value: Integers
    """(rows, m): their values."""
    counts: Floats
    """(rows, A)"""
    sums: Floats
    """(rows, A)"""
    graded: Floats
    """(rows, A): Σr(1 − r)."""


class Effects(NamedTuple):
    """A reward is a sum of effects, r = base + Σ main + Σ pair, over what is known."""

    base: Floats
    """(A)"""
    main: Floats
    """(D, values, A): 0 for observations that are not included."""
    slot: Integers
    """(D, D): the index of the pair i < j in `pair`, −1 if it is not included."""
    pair: Floats
    """(slots, values, values, A)"""


class EffectPrior(NamedTuple):
    """The prior of the additive model describes effects and noise before any case."""

    features: Floats
    """(D, values, K): centred under the marginals, so that an unknown value adds nothing."""
    columns: Integers
    """(D): how many of the K columns each observation has, one less than its values."""
    noise: Floats
    """(A): σ²"""
    main_variance: float
    pair_variance: float
    main_odds: float
    """The log odds that an observation is included."""
    pair_odds: Floats
    """(3): the log odds that a pair is included when 0, 1 or 2 of its members are."""


@jit
def evidence(
    counts: Floats,
    sums: Floats,
    basis: Floats,
    columns: int,
    noise: Floats,
    variance: float,
    out_factor: Floats,
    out_mean: Floats,
) -> float:
    """Return the log Bayes factor of a group with `basis` (values, K) at each of its values.

    The function fills the Cholesky factor of Λ and the posterior mean for each action.
    """
    total = 0.0
    for a in range(len(noise)):
        factor = out_factor[a]
        mean = out_mean[a]
        for k in range(columns):
            mean[k] = 0.0
            for h in range(k + 1):
                factor[k, h] = 1.0 / variance if k == h else 0.0
        for x in range(len(basis)):
            if counts[x, a] > 0.0:
                for k in range(columns):
                    mean[k] += sums[x, a] * basis[x, k] / noise[a]
                    weighed = counts[x, a] * basis[x, k] / noise[a]
                    for h in range(k + 1):
                        factor[k, h] += weighed * basis[x, h]
        # Cholesky in place, with the forward substitution in the same loop
        for k in range(columns):
            for h in range(k):
                rest = factor[k, h]
                for j in range(h):
                    rest -= factor[k, j] * factor[h, j]
                factor[k, h] = rest / factor[h, h]
            rest = factor[k, k]
            for j in range(k):
                rest -= factor[k, j] * factor[k, j]
                mean[k] -= factor[k, j] * mean[j]
            factor[k, k] = math.sqrt(rest)
            mean[k] /= factor[k, k]
            total += 0.5 * mean[k] * mean[k] - math.log(factor[k, k]) - 0.5 * math.log(variance)
        for k in range(columns - 1, -1, -1):
            for j in range(k + 1, columns):
                mean[k] -= factor[j, k] * mean[j]
            mean[k] /= factor[k, k]
    return total


@jit
def draw_effects(
    rng: np.random.Generator,
    basis: Floats,
    columns: int,
    factor: Floats,
    mean: Floats,
    out: Floats,
) -> None:
    """out[x, a] = f(x)·w, with w drawn from the posterior of a group."""
    weight = np.empty(columns)
    for a in range(len(mean)):
        for k in range(columns - 1, -1, -1):
            weight[k] = rng.standard_normal()
            for j in range(k + 1, columns):
                weight[k] -= factor[a, j, k] * weight[j]
            weight[k] /= factor[a, k, k]
        for k in range(columns):
            weight[k] += mean[a, k]
        for x in range(len(basis)):
            out[x, a] = 0.0
            for k in range(columns):
                out[x, a] += basis[x, k] * weight[k]


@jit
def residuals(data: Data, effects: Effects, out: Floats) -> None:
    """Compute Σr − n · r for every row and action."""
    rows, m = data.seen.shape
    actions = data.counts.shape[1]
    mean = np.empty(actions)
    for row in range(rows):
        for a in range(actions):
            mean[a] = effects.base[a]
        for j in range(m):
            i = data.seen[row, j]
            if i < 0:
                break
            for a in range(actions):
                mean[a] += effects.main[i, data.value[row, j], a]
            for k in range(j):
                slot = effects.slot[data.seen[row, k], i]
                if slot >= 0:
                    for a in range(actions):
                        mean[a] += effects.pair[slot, data.value[row, k], data.value[row, j], a]
        for a in range(actions):
            out[row, a] = data.sums[row, a] - data.counts[row, a] * mean[a]


@jit
def tally_mains(data: Data, residual: Floats, out_counts: Floats, out_sums: Floats) -> None:
    """Sum n and e by observation, value and action."""
    rows, m = data.seen.shape
    out_counts[:] = 0.0
    out_sums[:] = 0.0
    for row in range(rows):
        for j in range(m):
            i = data.seen[row, j]
            if i < 0:
                break
            x = data.value[row, j]
            for a in range(residual.shape[1]):
                out_counts[i, x, a] += data.counts[row, a]
                out_sums[i, x, a] += residual[row, a]


@jit
def tally_pairs(data: Data, residual: Floats, out_counts: Floats, out_sums: Floats) -> None:
    """Sum n and e by pair i < j, by their values and by action: (D, D, values², A)."""
    rows, m = data.seen.shape
    values = int(math.sqrt(out_counts.shape[2]))
    out_counts[:] = 0.0
    out_sums[:] = 0.0
    for row in range(rows):
        for j in range(m):
            i = data.seen[row, j]
            if i < 0:
                break
            for k in range(j):
                cell = data.value[row, k] * values + data.value[row, j]
                for a in range(residual.shape[1]):
                    out_counts[data.seen[row, k], i, cell, a] += data.counts[row, a]
                    out_sums[data.seen[row, k], i, cell, a] += residual[row, a]
