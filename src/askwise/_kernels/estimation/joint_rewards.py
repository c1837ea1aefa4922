"""The mean rewards of the full states are one Gaussian, with its precision, factor and draws.

For one action, r = c + f with f ~ N(0, K). A reward in ψ is evidence for Σ_φ p(φ | ψ) r(φ), so

    Λ = K⁻¹ + Σ_ψ (N(ψ) / v(ψ)) p_ψ p_ψᵀ,     Λ E[f] = Σ_ψ (N(ψ) / v(ψ)) (r̂(ψ) − c) p_ψ

where v(ψ) is the variance of a single reward. For rewards of 0 or 1 it is a coin's, at the mean
that the model expected before (Fisher scoring). With r̃ and g̃ the means of r and of r(1 − r) in ψ,
and μ the expected mean,

    v(ψ) = μ (1 − μ) (1 − g̃ / (r̃ (1 − r̃))).

The last factor is 1 if rewards are 0 or 1, and less if they are graded. With the variance at r̃
itself, a state that has seen no rare loss yet would get too much weight, and gains would be
overestimated. So each mean has imagined rewards beside the real ones, which are as usual for the
action: `DOUBT` of them in μ, and `DOUBT_OF_PART` in r̃ and g̃. And v has a lower bound, which depends
on what the action earned in all states.

Factors are upper triangular, Λ = UᵀU. Their rows are contiguous, so the loops over them are
compiled to vector instructions.
"""

import math

import numpy as np

from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers

DOUBT = 10.0
DOUBT_OF_PART = 1000.0
"""A weight that depends on the rewards of a state biases the mean by their skewness times their
deviation / (n + this). Rewards with rare losses have a skewness of 4 and more.
"""
LEAST_VARIANCE = 0.0475
"""The lower bound of the variance of a single reward of 0 or 1. It is that of a mean of 0.05 or
0.95, or of the action's own mean if that is more extreme. Graded rewards have a smaller bound.
"""


@jit
def variance_of_reward(
    total: float,
    graded: float,
    n: float,
    expected: float,
    usual: float,
    usually_graded: float,
    least: float,
) -> float:
    """Return v for n rewards with Σr and Σr(1 − r), where the model expects this mean."""
    own = (total + DOUBT_OF_PART * usual) / (n + DOUBT_OF_PART)
    rest = (graded + DOUBT_OF_PART * usually_graded) / (n + DOUBT_OF_PART)
    coin = own * (1.0 - own)
    mean = (n * expected + DOUBT * usual) / (n + DOUBT)
    return max(least, mean * (1.0 - mean) * (1.0 - rest / coin))


@jit
def add_evidence(
    order: Integers,
    offsets: Integers,
    p: Floats,
    within: Floats,
    counts: Integers,
    sums: Integers,
    graded: Integers,
    unit: float,
    centre: float,
    expected: Floats,
    usual: float,
    usually_graded: float,
    least: float,
    precision: Floats,
    target: Floats,
) -> None:
    """Add the rewards of one action to Λ (upper half) and to Λ E[f]."""
    cells = len(p)
    for subset in range(len(offsets) - 1):
        width = cells // (offsets[subset + 1] - offsets[subset])
        for state in range(offsets[subset], offsets[subset + 1]):
            n = counts[state]
            if n == 0:
                continue
            total = sums[state] * unit
            rest = graded[state] * unit
            measured = (total, rest, n, expected[state])
            weight = n / variance_of_reward(*measured, usual, usually_graded, least)
            centred = total / n - centre
            scale = weight / (within[state] * within[state])
            pull = weight * centred / within[state]
            first = (state - offsets[subset]) * width
            for place in range(first, first + width):
                row = order[subset, place]
                target[row] += pull * p[row]
                factor = scale * p[row]
                for other in range(place, first + width):
                    column = order[subset, other]
                    precision[row, column] += factor * p[column]


@jit
def factorise(matrix: Floats, rows: int) -> None:
    """Factorise Λ = UᵀU in the upper half, in place, four rows at a time.

    With fewer `rows` than it has, the rest becomes Λ₂₂ − Λ₂₁ Λ₁₁⁻¹ Λ₁₂, if Λ₁₁ are the first ones.
    """
    n = len(matrix)
    for first in range(0, rows, 4):
        last = min(first + 4, rows)
        few = last - first < 4
        for k in range(first, last):
            pivot = math.sqrt(matrix[k, k])
            row = matrix[k]
            inverse = 1.0 / pivot
            for column in range(k, n):
                row[column] *= inverse
            for j in range(k + 1, n if few else last):
                factor = row[j]
                below = matrix[j]
                for column in range(j, n):
                    below[column] -= factor * row[column]
        if few:
            break
        a = matrix[first]
        b = matrix[first + 1]
        c = matrix[first + 2]
        d = matrix[first + 3]
        for j in range(last, n):
            below = matrix[j]
            fa = a[j]
            fb = b[j]
            fc = c[j]
            fd = d[j]
            for column in range(j, n):
                below[column] -= fa * a[column] + fb * b[column] + fc * c[column] + fd * d[column]


@jit
def solve_lower(factor: Floats, x: Floats, rows: int) -> None:
    """Solve Uᵀ x' = x, in place. With fewer `rows` than it has, the rest becomes
    x₂ − Λ₂₁ Λ₁₁⁻¹ x₁.
    """
    for k in range(rows):
        row = factor[k]
        x[k] /= row[k]
        value = x[k]
        for column in range(k + 1, len(x)):
            x[column] -= row[column] * value


@jit
def solve_upper(factor: Floats, x: Floats) -> None:
    """Solve U x' = x, in place."""
    n = len(x)
    for k in range(n - 1, -1, -1):
        row = factor[k]
        total = x[k]
        for column in range(k + 1, n):
            total -= row[column] * x[column]
        x[k] = total / row[k]


@jit
def posterior(
    order: Integers,
    offsets: Integers,
    p: Floats,
    within: Floats,
    patterns: Integers,
    inverse_prior: Floats,
    counts: Integers,
    sums: Integers,
    graded: Integers,
    unit: float,
    known: Floats,
    seen: Floats,
    centre: float,
    expected: Floats,
    usual: Floats,
    usually_graded: Floats,
    least: Floats,
    out_factor: Floats,
    out_mean: Floats,
) -> None:
    """Compute U and E[f] of every action, at [a]. `within` is p(ψ), `inverse_prior` is K⁻¹ by
    pattern.

    `known` is N(φ) / v(φ) of complete records, and `seen` is r̂(φ) of them, both at [a, φ].
    `expected` are the means that the model expected before, at [ψ, a]. `usual`, `usually_graded`
    and the `least` variance have an entry for each action.
    """
    for action in range(counts.shape[1]):
        factor = out_factor[action]
        mean = out_mean[action]
        for i in range(len(factor)):
            for j in range(len(factor)):
                factor[i, j] = inverse_prior[patterns[i, j]]
            factor[i, i] += known[action, i]
            mean[i] = known[action, i] * (seen[action, i] - centre)
        add_evidence(
            order,
            offsets,
            p,
            within,
            counts[:, action],
            sums[:, action],
            graded[:, action],
            unit,
            centre,
            expected[:, action],
            usual[action],
            usually_graded[action],
            least[action],
            factor,
            mean,
        )
        factorise(factor, len(factor))
        solve_lower(factor, mean, len(mean))
        solve_upper(factor, mean)


@jit
def rewards_of_states(
    order: Integers, offsets: Integers, p: Floats, within: Floats, rewards: Floats, out: Floats
) -> None:
    """Compute Σ_φ p(φ | ψ) r(a, φ), clipped to [0, 1], at [ψ, a]."""
    actions, cells = rewards.shape
    for subset in range(len(offsets) - 1):
        width = cells // (offsets[subset + 1] - offsets[subset])
        for state in range(offsets[subset], offsets[subset + 1]):
            first = (state - offsets[subset]) * width
            for action in range(actions):
                total = 0.0
                for place in range(first, first + width):
                    cell = order[subset, place]
                    total += p[cell] * rewards[action, cell]
                out[state, action] = min(1.0, max(0.0, total / within[state]))


@jit
def inverse_upper(factor: Floats, out: Floats) -> None:
    """Compute U⁻¹ of an upper triangular U."""
    n = len(factor)
    out[:] = 0.0
    for k in range(n - 1, -1, -1):
        row = out[k]
        pivot = 1.0 / factor[k, k]
        row[k] = pivot
        for other in range(k + 1, n):
            scale = -pivot * factor[k, other]
            below = out[other]
            for column in range(other, n):
                row[column] += scale * below[column]


@jit
def variances_of_states(
    order: Integers,
    offsets: Integers,
    p: Floats,
    within: Floats,
    inverse: Floats,
    out: Floats,
) -> None:
    """Compute ‖U⁻ᵀ p(· | ψ)‖², the variance of r(ψ), of every state for one action. `inverse` is
    U⁻¹.
    """
    cells = len(p)
    found = np.empty(cells)
    for subset in range(len(offsets) - 1):
        width = cells // (offsets[subset + 1] - offsets[subset])
        for state in range(offsets[subset], offsets[subset + 1]):
            first = (state - offsets[subset]) * width
            found[:] = 0.0
            for place in range(first, first + width):
                cell = order[subset, place]
                row = inverse[cell]
                weight = p[cell]
                for column in range(cell, cells):
                    found[column] += weight * row[column]
            total = 0.0
            for column in range(cells):
                total += found[column] * found[column]
            out[state] = total / (within[state] * within[state])


@jit
def draw_effects(factor: Floats, mean: Floats, noise: Floats, spread: float, out: Floats) -> None:
    """Compute E[f] + spread · U⁻¹ z for every action. With spread 1 it is a draw of f."""
    for action in range(len(factor)):
        draw = np.copy(noise[action])
        solve_upper(factor[action], draw)
        for cell in range(len(draw)):
            out[action, cell] = mean[action, cell] + spread * draw[cell]
