"""One world drawn from what the counters leave possible.

    r(a, ψ) ~ Beta(1 + Σr, 1 + N(a, ψ) − Σr),     p(· | ψ, i) ~ Dirichlet(1 + N(ψ, i, ·))

independently for every state. Drawn rewards and probabilities are taken as the truth: zero radii.
"""

import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.typing import Integers
from askwise.counting import UNIT, Statistics
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice


def posterior_estimates(
    statistics: Statistics, weight: Integers, rng: np.random.Generator, lattice: Lattice
) -> Estimates:
    """A draw of every reward and of every distribution; what actions cost is the lattice's.

    Dirichlet numbers are independent Gamma numbers divided by their sum; the planners divide.
    """
    successes = statistics.reward_sums * UNIT
    reward = rng.beta(1 + successes, 1 + statistics.action_counts - successes)
    reward = lattice.net(reward)
    drawn = rng.standard_gamma(1.0 + weight)
    return Estimates(reward.max(axis=1), reward.argmax(axis=1).astype(np.int16), drawn, Radii())
