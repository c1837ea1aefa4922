"""What can be relied on: the opposite of optimism, for those who want to deploy and not to learn.

    r̂(ψ) = max_a max(0, r̂(a, ψ) − conf₁(N(a, ψ), t)),     p̂ as counted

An action never tried counts 0, so nothing is recommended on hope.
"""

import numpy as np

from askwise._typing import Integers
from askwise.estimation.estimates import Estimates, Radii
from askwise.statistics import Statistics


def cautious_estimates(statistics: Statistics, weight: Integers, radii: Radii) -> Estimates:
    """The rewards that are exceeded with confidence, and the frequencies."""
    counts = statistics.action_counts
    lower = statistics.mean_rewards() - np.sqrt(radii.reward / np.maximum(1, counts))
    reward = np.where(counts > 0, np.maximum(0.0, lower), 0.0)
    return Estimates(reward.max(axis=1), reward.argmax(axis=1).astype(np.int16), weight, Radii())
