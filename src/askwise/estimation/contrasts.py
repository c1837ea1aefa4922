r"""The effect of one observation: a basis, and the variance of each part of it.

An effect of an observation with X outcomes is f = Σ_k w_k √λ_k b_k. b_0 is constant, the other b_k
are orthonormal and sum to zero, and the w_k (k > 0) are independent with one variance. The λ_k have
a mean of 1, so they only divide the variance.

**Values in no order**: any basis will do (Helmert's), and all λ_k are 1.

**Ordered values** share evidence with their neighbours: f is a random walk along them. Its parts
are cosines, and smooth ones have more variance:

    b_k(x) ∝ cos(π k (x + ½) / V),     λ_k ∝ 1 / sin²(π k / 2V)

A failed observation is an outcome outside the order, so it has a separate contrast. No λ_k is 0, so
a ragged effect is only less likely a priori.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from askwise._support.typing import Floats
from askwise.problem import Observation


def ordered_values(observation: Observation) -> int:
    """V, the number of ordered values. It is 0 if they are in no order, or too few to have one."""
    values = len(observation.values)
    return values if observation.is_ordered and values > 2 else 0


@functools.cache
def contrasts(outcomes: int, ordered: int = 0) -> Floats:
    """The b_k by rows, the constant first."""
    basis = np.zeros((outcomes, outcomes))
    basis[0] = 1 / math.sqrt(outcomes)
    for k in range(1, outcomes):
        if k < ordered:
            basis[k, :ordered] = np.cos(np.pi * k * (np.arange(ordered) + 0.5) / ordered)
            basis[k] *= math.sqrt(2 / ordered)
        else:
            basis[k, :k], basis[k, k] = 1.0, -k
            basis[k] /= math.sqrt(k * (k + 1))
    return basis


@functools.cache
def shares_of_variance(outcomes: int, ordered: int = 0) -> Floats:
    """λ_k of these contrasts. That of the constant is 1."""
    shares = np.ones(outcomes)
    if ordered:
        smooth = 1.0 / np.sin(np.pi * np.arange(1, ordered) / (2 * ordered)) ** 2
        shares[1:ordered] = smooth / smooth.mean()
    return shares


@functools.cache
def scaled_contrasts(outcomes: int, ordered: int = 0) -> Floats:
    """√λ_k b_k by rows. Their coefficients w_k have equal variances."""
    return np.sqrt(shares_of_variance(outcomes, ordered))[:, None] * contrasts(outcomes, ordered)


@functools.cache
def dual_contrasts(outcomes: int, ordered: int = 0) -> Floats:
    """b_k / √λ_k by rows. The product of a row with f is w_k."""
    return contrasts(outcomes, ordered) / np.sqrt(shares_of_variance(outcomes, ordered))[:, None]
