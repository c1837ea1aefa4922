"""What mean rewards look like before any were seen: main effects, pairs, and so on.

The reward of an action over the F full states is ½ plus one effect for each set J of observations,

    r(φ) = ½ + Σ_J f_J(φ_J),     f_J orthogonal to every other effect (uniform weights),

and the coefficients of f_J in an orthonormal basis are independent Gaussians of variance s²_|J|.
All main effects together have a given variance, all pairs another, all larger sets a third. So the
covariance is K = F Σ_J s²_|J| E_J, E_J being the projection on the effects of J. Its entries depend
only on *which* observations agree in φ and φ', as do those of K⁻¹ = Σ_J E_J / (F s²_|J|): 2^D
numbers, found by D butterflies.

An effect of any order is possible, so no truth is ruled out: the prior only says what to believe
first. Following the posterior of the variances, for each level and each observation, was tried and
learned no faster.
"""

import numpy as np

from askwise._support.typing import Floats, Integers

VARIANCES = (0.08, 0.15, 0.1, 0.05)
"""Of the constant, and of all main effects, all pairs and all larger sets together."""


def effect_variances(radices: Integers) -> Floats:
    """s²_|J| of every set of observations; the bits of its number are its members.

    What a level has is shared by its coefficients: Π_{i in J} (X_i − 1) for each set J.
    """
    members = np.arange(1 << len(radices))[:, None] >> np.arange(len(radices)) & 1
    level = np.minimum(members.sum(axis=1), len(VARIANCES) - 1)
    coefficients = np.where(members == 1, radices - 1, 1).prod(axis=1)
    total = np.bincount(level, coefficients, len(VARIANCES))
    shared: Floats = (np.array(VARIANCES) / np.maximum(1.0, total))[level]
    return shared


def inverse_covariance(radices: Integers) -> Floats:
    """K⁻¹ by pattern of agreement: bit i of the pattern says that observation i agrees."""
    table: Floats = 1.0 / (int(np.prod(radices)) * effect_variances(radices))
    for i, radix in enumerate(radices.tolist()):
        # E_J has a factor for each i: 1/X outside of J; inside it 1 − 1/X where φ and φ' agree,
        # −1/X where they do not.
        pair = table.reshape(-1, 2, 1 << i)
        outside, inside = pair[:, 0] / radix, pair[:, 1] / radix
        agree = outside - inside + pair[:, 1]
        pair[:, 0], pair[:, 1] = outside - inside, agree
    return table


def agreement(digits: Integers) -> Integers:
    """Which observations agree in two full states, as the bits of a number, at [φ, φ']."""
    pattern = np.zeros((len(digits), len(digits)), np.int64)
    for i, column in enumerate(digits.T):
        pattern |= (column[:, None] == column[None, :]).astype(np.int64) << i
    return pattern
