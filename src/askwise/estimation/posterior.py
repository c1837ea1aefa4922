"""One world is drawn from the posterior of the counters.

    r(a, ψ) ~ Beta(1 + Σr, 1 + N(a, ψ) − Σr),     p(· | ψ, i) ~ Dirichlet(1 + N(ψ, i, ·))

independently for every state. The planners take the drawn rewards and probabilities as the truth,
with zero radii.
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
    """Draws every reward and every distribution. The lattice has the costs of actions.

    Dirichlet numbers are independent Gamma numbers divided by their sum. The planners divide.
    """
    successes = statistics.reward_sums * UNIT
    reward = rng.beta(1 + successes, 1 + statistics.action_counts - successes)
    reward = lattice.net(reward)
    drawn = rng.standard_gamma(1.0 + weight)
    return Estimates(reward.max(axis=1), reward.argmax(axis=1).astype(np.int16), drawn, Radii())
