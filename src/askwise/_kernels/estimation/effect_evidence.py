"""The evidence of rewards for the variances of effects.

The rewards of one action are one Gaussian around the mean c, with the precision K⁻¹ of its prior.
The cases add D to the precision, and t to its product with the mean (`joint_rewards.py`). Given the
variances of single rewards, the density of all rewards is, but for a factor without K,

    |K⁻¹|^½ |K⁻¹ + D|^−½ exp(½ tᵀ (K⁻¹ + D)⁻¹ t).
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
def log_density(
    data: Floats,
    target: Floats,
    patterns: Integers,
    inverse_prior: Floats,
    precision: Floats,
    solved: Floats,
) -> float:
    """Return log (|K⁻¹ + D|^−½ exp(½ tᵀ (K⁻¹ + D)⁻¹ t)). The last two arrays are for its work."""
    n = len(target)
    for i in range(n):
        solved[i] = target[i]
        for j in range(i, n):
            precision[i, j] = data[i, j] + inverse_prior[patterns[i, j]]
    factorise(precision)
    solve_lower(precision, solved)
    found = 0.0
    for i in range(n):
        found += 0.5 * solved[i] * solved[i] - math.log(precision[i, i])
    return found
