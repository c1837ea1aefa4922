"""A sweep has one Gibbs step for the intercepts, for every observation and for every pair."""

import math

import numpy as np

from askwise._kernels.estimation.additive_groups import (
    Data,
    EffectPrior,
    Effects,
    draw_effects,
    evidence,
    residuals,
    tally_mains,
    tally_pairs,
)
from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers

MOST_COLUMNS = 16
"""Pairs with more effects than this are not searched, because they would need too many cases."""

LEAST_COUNT = 8.0
"""At least so many cases must have seen a pair before it can be included."""


@jit
def chance(log_odds: float) -> float:
    """Return the probability with these log odds."""
    return 1.0 / (1.0 + math.exp(-max(-700.0, log_odds)))


@jit
def draw_base(
    rng: np.random.Generator, data: Data, prior: EffectPrior, effects: Effects, residual: Floats
) -> None:
    """Draw the intercept of each action. Its prior is ½ ± ½."""
    base = effects.base
    residuals(data, effects, residual)
    for a in range(len(base)):
        count = 0.0
        total = 0.0
        for row in range(len(residual)):
            count += data.counts[row, a]
            total += residual[row, a]
        precision = count / prior.noise[a] + 4.0
        mean = (total + count * (base[a] - 0.5)) / prior.noise[a] / precision
        base[a] = 0.5 + mean + rng.standard_normal() / math.sqrt(precision)


@jit
def sweep_mains(
    rng: np.random.Generator,
    data: Data,
    prior: EffectPrior,
    effects: Effects,
    inside: Integers,
    order: Integers,
    residual: Floats,
    out_odds: Floats,
) -> None:
    """Draw which observations are included, and their effects, one after the other in this order.

    `out_odds` are the log odds that each observation is included, given the others.
    """
    size, values, actions = effects.main.shape
    counts = np.empty((size, values, actions))
    sums = np.empty((size, values, actions))
    factor = np.empty((actions, values, values))
    mean = np.empty((actions, values))
    residuals(data, effects, residual)
    tally_mains(data, residual, counts, sums)
    for i in order:
        without = sums[i] + counts[i] * effects.main[i]
        basis = prior.features[i]
        columns = prior.columns[i]
        out_odds[i] = prior.main_odds + evidence(
            counts[i], without, basis, columns, prior.noise, prior.main_variance, factor, mean
        )
        was = inside[i]
        inside[i] = rng.random() < chance(out_odds[i])
        if inside[i]:
            draw_effects(rng, basis, columns, factor, mean, effects.main[i])
        else:
            effects.main[i] = 0.0
        if was or inside[i]:
            residuals(data, effects, residual)
            tally_mains(data, residual, counts, sums)


@jit
def sweep_pairs(
    rng: np.random.Generator,
    data: Data,
    prior: EffectPrior,
    effects: Effects,
    inside: Integers,
    residual: Floats,
    owner: Integers,
    out_evidence: Floats,
    out_cases: Floats,
) -> None:
    """Draw which pairs are included, and their effects. `owner` has i · D + j of each slot, or −1.

    `out_evidence` (D, D) are the log Bayes factors, and 0 for pairs that were never seen.
    `out_cases` (D, D) are the cases that saw each pair.
    """
    size, values, actions = effects.main.shape
    widest = prior.features.shape[2] ** 2
    counts = np.empty((size, size, values * values, actions))
    sums = np.empty((size, size, values * values, actions))
    basis = np.empty((values * values, widest))
    factor = np.empty((actions, widest, widest))
    mean = np.empty((actions, widest))
    drawn = np.empty((values * values, actions))
    residuals(data, effects, residual)
    tally_pairs(data, residual, counts, sums)
    for i in range(size):
        for j in range(i + 1, size):
            columns = prior.columns[i] * prior.columns[j]
            out_evidence[i, j] = 0.0
            count = counts[i, j].sum()
            out_cases[i, j] = count
            if columns > MOST_COLUMNS or columns == 0 or count == 0.0:
                continue
            slot = effects.slot[i, j]
            without = sums[i, j]
            if slot >= 0:
                own = effects.pair[slot].copy().reshape(values * values, actions)
                without = without + counts[i, j] * own
            for x in range(values):
                for y in range(values):
                    for k in range(prior.columns[i]):
                        for h in range(prior.columns[j]):
                            basis[x * values + y, k * prior.columns[j] + h] = (
                                prior.features[i, x, k] * prior.features[j, y, h]
                            )
            out_evidence[i, j] = evidence(
                counts[i, j],
                without,
                basis,
                columns,
                prior.noise,
                prior.pair_variance,
                factor,
                mean,
            )
            odds = out_evidence[i, j] + prior.pair_odds[inside[i] + inside[j]]
            enters = count >= LEAST_COUNT and rng.random() < chance(odds)
            if slot < 0 and enters:
                for free in range(len(owner)):
                    if owner[free] < 0:
                        slot = free
            if slot < 0:
                continue
            if enters:
                draw_effects(rng, basis, columns, factor, mean, drawn)
                for cell in range(values * values):
                    for a in range(actions):
                        effects.pair[slot, cell // values, cell % values, a] = drawn[cell, a]
                effects.slot[i, j] = slot
                owner[slot] = i * size + j
            else:
                effects.slot[i, j] = -1
                owner[slot] = -1
            residuals(data, effects, residual)
            tally_pairs(data, residual, counts, sums)
