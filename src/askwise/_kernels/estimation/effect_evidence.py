"""The evidence of rewards for the variances of effects.

The rewards of one action are one Gaussian around the mean c, with the precision K⁻¹ of its prior.
The cases add D to the precision, and t to its product with the mean (`joint_rewards.py`). Given the
variances of single rewards, the density of all rewards is, but for a factor without K,

    |K⁻¹|^½ |K⁻¹ + D|^−½ exp(½ tᵀ (K⁻¹ + D)⁻¹ t).

In the basis of effects K is the diagonal V. The coefficients whose variances stay as they are can
be integrated over once. If they are the first ones, D and t become

    D₂₂ − D₂₁ (V₁⁻¹ + D₁₁)⁻¹ D₁₂,      t₂ − D₂₁ (V₁⁻¹ + D₁₁)⁻¹ t₁.

A coefficient whose variance is 0 is left out of D and t.
"""

import math

from askwise._kernels.estimation.joint_rewards import factorise, solve_lower
from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers


@jit
def evidence_of_cases(
    factor: Floats,
    mean: Floats,
    patterns: Integers,
    inverse_prior: Floats,
    out_data: Floats,
    out_target: Floats,
) -> None:
    """Compute D (upper half) and t of an action from its posterior, Λ = UᵀU and E[f]."""
    n = len(mean)
    for i in range(n):
        total = 0.0
        for k in range(i, n):
            total += factor[i, k] * mean[k]
        out_target[i] = total  # U E[f], from which the last rows of Uᵀ are added below
    for i in range(n - 1, -1, -1):
        total = 0.0
        for k in range(i + 1):
            total += factor[k, i] * out_target[k]
        out_target[i] = total
    for i in range(n):
        row = out_data[i]
        for j in range(i, n):
            row[j] = -inverse_prior[patterns[i, j]]
        for k in range(i + 1):
            scale = factor[k, i]
            above = factor[k]
            for j in range(i, n):
                row[j] += scale * above[j]


@jit
def eliminate(
    data: Floats,
    target: Floats,
    order: Integers,
    first: int,
    inverse_variances: Floats,
    out_data: Floats,
    out_target: Floats,
) -> None:
    """Integrate over the first coefficients of an order, which have these inverse variances.

    What is left of D and t is in the last rows, and in the upper half.
    """
    for i in range(len(order)):
        row = data[order[i]]
        for j in range(i, len(order)):
            out_data[i, j] = row[order[j]]
        out_target[i] = target[order[i]]
    for i in range(first):
        out_data[i, i] += inverse_variances[order[i]]
    factorise(out_data, first)
    solve_lower(out_data, out_target, first)


@jit
def log_ratio(
    data: Floats, target: Floats, first: int, variances: Floats, precision: Floats, solved: Floats
) -> float:
    """Return log (|V|^−½ |V⁻¹ + D|^−½ exp(½ tᵀ (V⁻¹ + D)⁻¹ t)) of the coefficients with these
    variances, from a `first` one on. The last two arrays are for its work.
    """
    n = len(variances)
    found = 0.0
    for i in range(n):
        solved[i] = target[first + i]
        for j in range(i, n):
            precision[i, j] = data[first + i, first + j]
        precision[i, i] += 1.0 / variances[i]
        found -= 0.5 * math.log(variances[i])
    factorise(precision, n)
    solve_lower(precision, solved, n)
    for i in range(n):
        found += 0.5 * solved[i] * solved[i] - math.log(precision[i, i])
    return found
