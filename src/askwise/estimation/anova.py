"""What mean rewards look like before any were seen: main effects, pairs, and so on.

The reward of an action over the F full states is ½ plus one effect for each set J of observations,

    r(φ) = ½ + Σ_J f_J(φ_J),     f_J orthogonal to every other effect (uniform weights),

and the coefficients of f_J in an orthonormal basis are independent Gaussians of variance s²_|J|,
less for larger sets. So the covariance is K = F Σ_J s²_|J| E_J, E_J being the projection on the
effects of J. Its entries depend only on *which* observations agree in φ and φ', as do those of
K⁻¹ = Σ_J E_J / (F s²_|J|): 2^D numbers, found by D butterflies.

An effect of any order is possible, so no truth is ruled out: the prior only says what to believe
first. Following the posterior of the variances, for each level and each observation, was tried and
learned no faster.
"""

import numpy as np

from askwise._typing import Floats, Integers

LOG_VARIANCES = (-2.5, -3.5, -4.5, -5.5)
"""log s² of the constant, of main effects, of pairs, and of all larger sets."""


def effect_variances(observations: int) -> Floats:
    """s²_|J| of every set of observations; the bits of its number are its members."""
    sizes = np.array([number.bit_count() for number in range(1 << observations)])
    level = np.minimum(sizes, len(LOG_VARIANCES) - 1)
    variances: Floats = np.exp(np.array(LOG_VARIANCES)[level])
    return variances


def inverse_covariance(radices: Integers) -> Floats:
    """K⁻¹ by pattern of agreement: bit i of the pattern says that observation i agrees."""
    table: Floats = 1.0 / (int(np.prod(radices)) * effect_variances(len(radices)))
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
