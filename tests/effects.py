"""The prior of effects written out, as sums of projections."""

import numpy as np


def walk(outcomes, ordered):
    """The covariance of the effect of one observation, less its mean.

    Ordered values are a random walk, whose precision is the Laplacian of a path; a failed look
    stands beside them. All of it has the trace of the projection on what sums to zero.
    """
    centring = np.eye(outcomes) - 1 / outcomes
    if not ordered:
        return centring
    steps = np.diff(np.eye(ordered), axis=0)
    among = np.linalg.pinv(steps.T @ steps)
    covariance = np.zeros((outcomes, outcomes))
    covariance[:ordered, :ordered] = among * (ordered - 1) / np.trace(among)
    if outcomes > ordered:
        beside = centring[:, ordered:]
        covariance += beside @ beside.T / (beside.T @ beside)
    return covariance


def projections(radices, ordered=None, *, inverse=False):
    """E_J of every set J of observations, or its pseudo-inverse, as Kronecker products."""
    ordered = [0] * len(radices) if ordered is None else ordered
    for number in range(1 << len(radices)):
        projection = np.ones((1, 1))
        for i, radix in enumerate(radices):
            factor = np.full((radix, radix), 1 / radix)
            if number >> i & 1:
                factor = walk(radix, ordered[i])
                factor = np.linalg.pinv(factor) if inverse else factor
            projection = np.kron(projection, factor)
        yield projection


def plain_prior(radices, variances, ordered=None):
    """K = F Σ_J s²_J E_J."""
    terms = zip(variances, projections(radices, ordered), strict=True)
    return np.prod(radices) * sum(variance * projection for variance, projection in terms)
