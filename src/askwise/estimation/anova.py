"""The prior of mean rewards: main effects, pairs, and so on.

The reward of an action over the F full states is a constant plus one effect for each set J of
observations,

    r(φ) = c + Σ_J f_J(φ_J),     f_J orthogonal to every other effect (uniform weights),

and the coefficients of f_J in an orthonormal basis are independent Gaussians of variance s²_J. In
the first prior, all main effects together have one given variance, all pairs another, and all
larger sets a third. The covariance is K = F Σ_J s²_J E_J, where E_J is the projection on the
effects of J. Its entries depend only on *which* observations agree in φ and φ'. So do those of K⁻¹
= Σ_J E_J / (F s²_J). These are 2^D numbers, found by D butterflies.

The coefficients of ordered values have variances s²_J λ, with the product of the shares of
`contrasts.py`. Then E_J is a Kronecker product of Σ_k λ_k b_k b_kᵀ, and of Σ_k b_k b_kᵀ / λ_k in
K⁻¹. The *pattern* of two full states contains both values of an ordered observation. Of another
observation it contains only whether the values agree.

Every effect has a positive variance, so the prior excludes nothing. The variance of each set is
learned from the data (`estimation/joint.py`).
"""

import functools
from collections.abc import Sequence

import numpy as np

from askwise._support.sums import product
from askwise._support.typing import Floats, Integers
from askwise.estimation.contrasts import dual_contrasts

VARIANCES: Floats = np.array((0.08, 0.15, 0.1, 0.05))
"""The first variances: of the constant, of all main effects, of all pairs and of all larger
sets.
"""
LEVELS = len(VARIANCES)


def sets_of(radices: Integers) -> tuple[Integers, Integers]:
    """The level of every set J of observations, and the number of coefficients of f_J.

    The bits of a set's number are its members. It has Π_{i in J} (X_i − 1) coefficients.
    """
    members = np.arange(1 << len(radices))[:, None] >> np.arange(len(radices)) & 1
    level: Integers = np.minimum(members.sum(axis=1), LEVELS - 1)
    coefficients: Integers = np.where(members == 1, radices - 1, 1).prod(axis=1)
    return level, coefficients


def first_variances(radices: Integers) -> Floats:
    """s²_J of every set. The variance of a level is divided among its coefficients."""
    level, coefficients = sets_of(radices)
    shared: Floats = (VARIANCES / np.maximum(1, np.bincount(level, coefficients, LEVELS)))[level]
    return shared


def inverse_covariance(radices: Integers, variances: Floats, ordered: Integers) -> Floats:
    """K⁻¹ by pattern, as `patterns` numbers them.

    `variances` are s²_J of every set, and `ordered` is the number of ordered values of each
    observation.
    """
    table: Floats = 1.0 / (int(np.prod(radices)) * variances)
    done = 1
    for radix, values in zip(radices.tolist(), ordered.tolist(), strict=True):
        # E_J has a factor for each i: 1/X outside of J; inside it 1 − 1/X where φ and φ' agree,
        # −1/X where they do not.
        pair = table.reshape(-1, 2, done)
        if values:
            dual = dual_contrasts(radix, values)[1:]
            inside = product(dual.T, dual).reshape(-1, 1) * pair[:, 1:]
            table = (pair[:, :1] / radix + inside).ravel()
            done *= radix * radix
            continue
        outside, inside = pair[:, 0] / radix, pair[:, 1] / radix
        agree = outside - inside + pair[:, 1]
        pair[:, 0], pair[:, 1] = outside - inside, agree
        done *= 2
    return table.ravel()


def patterns(digits: Integers, radices: Integers, ordered: Integers) -> Integers:
    """The number of the pattern of two full states, at [φ, φ']. The first digit is of the first
    observation: X x + x' if its values are ordered, else 1 where they agree.
    """
    found = np.zeros((len(digits), len(digits)), np.int64)
    stride = 1
    for column, radix, values in zip(digits.T, radices.tolist(), ordered.tolist(), strict=True):
        one, other = column[:, None], column[None, :]
        found += stride * (radix * one + other if values else one == other)
        stride *= radix * radix if values else 2
    return found


@functools.cache
def sets_of_coefficients(radices: tuple[int, ...]) -> Integers:
    """The set J of each coefficient in the basis of products of contrasts."""
    found = np.zeros((), np.int64)
    for i, radix in enumerate(radices):
        found = found[..., None] + ((np.arange(radix) > 0) << i)
    return found.ravel()


def products_with_basis(functions: Floats, contrasts: Sequence[Floats]) -> Floats:
    """The product of each function at [φ, a] with each product of contrasts, at [a, coefficient].

    `contrasts` has those of each observation by rows.
    """
    found = functions
    for rows in contrasts:
        # the first digit becomes the last, so after all of them they are in order again
        found = product(found.reshape(len(rows), -1).T, rows.T)
    return found.reshape(functions.shape[::-1])


def sums_of_squares(effects: Floats, radices: Integers, ordered: Integers) -> Floats:
    """‖f_J‖² / F of every set J, for functions f at [a, φ] together. Each coefficient of ordered
    values counts by the inverse of its share of the variance, 1/λ.
    """
    shape = tuple(radices.tolist())
    contrasts = [dual_contrasts(*one) for one in zip(shape, ordered.tolist(), strict=True)]
    squares = (products_with_basis(np.ascontiguousarray(effects.T), contrasts) ** 2).sum(axis=0)
    of_set = sets_of_coefficients(shape)
    found: Floats = np.bincount(of_set, squares, 1 << len(shape)) / len(squares)
    return found
