"""The prior of effects written out, as sums of projections."""

import numpy as np


def projections(radices):
    """E_J of every set J of observations, as Kronecker products."""
    for number in range(1 << len(radices)):
        projection = np.ones((1, 1))
        for i, radix in enumerate(radices):
            mean = np.full((radix, radix), 1 / radix)
            inside = number >> i & 1
            projection = np.kron(projection, np.eye(radix) - mean if inside else mean)
        yield projection


def plain_prior(radices, variances):
    """K = F Σ_J s²_J E_J."""
    terms = zip(variances, projections(radices), strict=True)
    return np.prod(radices) * sum(variance * projection for variance, projection in terms)
