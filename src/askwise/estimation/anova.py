"""What mean rewards look like before any were seen: main effects, pairs, and so on.

The reward of an action over the F full states is a constant plus one effect for each set J of
observations,

    r(φ) = c + Σ_J f_J(φ_J),     f_J orthogonal to every other effect (uniform weights),

and the coefficients of f_J in an orthonormal basis are independent Gaussians of variance s²_J. At
first all main effects together have a given variance, all pairs another, all larger sets a third.
The covariance is K = F Σ_J s²_J E_J, E_J being the projection on the effects of J. Its entries
depend only on *which* observations agree in φ and φ', as do those of K⁻¹ = Σ_J E_J / (F s²_J): 2^D
numbers, found by D butterflies.

An effect of any order is possible, so no truth is ruled out: the prior only says what to believe
first. What variance each set has is learned from the data (`estimation/joint.py`).
"""

import functools
import math

import numpy as np

from askwise._support.typing import Floats, Integers

VARIANCES: Floats = np.array((0.08, 0.15, 0.1, 0.05))
"""Of the constant, and of all main effects, all pairs and all larger sets together, at first."""
LEVELS = len(VARIANCES)


def sets_of(radices: Integers) -> tuple[Integers, Integers]:
    """The level of every set J of observations, and how many coefficients f_J has.

    The bits of a set's number are its members; it has Π_{i in J} (X_i − 1) coefficients.
    """
    members = np.arange(1 << len(radices))[:, None] >> np.arange(len(radices)) & 1
    level: Integers = np.minimum(members.sum(axis=1), LEVELS - 1)
    coefficients: Integers = np.where(members == 1, radices - 1, 1).prod(axis=1)
    return level, coefficients


def first_variances(radices: Integers) -> Floats:
    """s²_J of every set: what a level has is shared by its coefficients."""
    level, coefficients = sets_of(radices)
    shared: Floats = (VARIANCES / np.maximum(1, np.bincount(level, coefficients, LEVELS)))[level]
    return shared


def inverse_covariance(radices: Integers, variances: Floats) -> Floats:
    """K⁻¹ by pattern of agreement: bit i of the pattern says that observation i agrees.

    `variances` are s²_J of every set.
    """
    table: Floats = 1.0 / (int(np.prod(radices)) * variances)
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


@functools.cache
def contrasts(radix: int) -> Floats:
    """An orthonormal basis of the functions of one observation, constant first, by rows."""
    basis = np.zeros((radix, radix))
    basis[0] = 1 / math.sqrt(radix)
    for k in range(1, radix):
        basis[k, :k], basis[k, k] = 1.0, -k
        basis[k] /= math.sqrt(k * (k + 1))
    return basis


@functools.cache
def _sets_of_coefficients(radices: tuple[int, ...]) -> Integers:
    """The set J that each coefficient in the basis of products of contrasts belongs to."""
    found = np.zeros((), np.int64)
    for i, radix in enumerate(radices):
        found = found[..., None] + ((np.arange(radix) > 0) << i)
    return found.ravel()


def sums_of_squares(effects: Floats, radices: Integers) -> Floats:
    """‖f_J‖² / F of every set J, of functions f at [a, φ] together."""
    shape = tuple(radices.tolist())
    coefficients = effects.reshape(-1, *shape)
    for i, radix in enumerate(shape):
        turned = np.tensordot(coefficients, contrasts(radix), axes=(i + 1, 1))
        coefficients = np.moveaxis(turned, -1, i + 1)
    squares = (coefficients**2).sum(axis=0).ravel()
    of_set = _sets_of_coefficients(shape)
    found: Floats = np.bincount(of_set, squares, 1 << len(shape)) / len(squares)
    return found
