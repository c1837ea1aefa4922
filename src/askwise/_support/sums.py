"""Sums that have the same bits on every machine.

`a @ b` is BLAS's, which adds in another order on another processor. A plan may depend on the last
bit, as where two policies gain the same at the shadow price of a budget. So what is planned with is
summed by NumPy, whose order is fixed.
"""

import numpy as np

from askwise._support.typing import Floats, Integers


def dot(one: Floats, other: Floats | Integers) -> float:
    """Returns Σ_i a_i b_i."""
    return float((one * other).sum())


def product(one: Floats, other: Floats) -> Floats:
    """Returns the product of two small matrices."""
    found: Floats = np.einsum("ij,jk->ik", one, other)  # without `optimize` it calls no BLAS
    return found
