"""The estimates are the frequencies.

    r̂(a, ψ) = (Σr + ½) / (N(a, ψ) + 1)

One imagined case with a reward of ½ stands for an action that was never tried. This is neither
optimistic nor pessimistic.
"""

import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.typing import Integers
from askwise.counting import UNIT, Statistics
from askwise.estimation.estimates import Estimates


def empirical_estimates(statistics: Statistics, weight: Integers) -> Estimates:
    """Mean rewards and frequencies, with zero radii."""
    reward = (statistics.reward_sums * UNIT + 0.5) / (statistics.action_counts + 1)
    reward = statistics.lattice.net(reward)
    return Estimates(reward.max(axis=1), reward.argmax(axis=1).astype(np.int16), weight, Radii())
