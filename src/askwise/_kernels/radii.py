"""A radius bounds the error of an estimate."""

import math
from typing import NamedTuple


class Radii(NamedTuple):
    """conf(n) = √(width / max(1, n)) bounds the error of an estimate from n samples.

    A distribution over k outcomes has the width `outcomes + per_outcome · k`. A width of zero means
    that the estimate is exact. The error of a mean reward is at most 1, and that of a distribution,
    in L1, at most `cap`.

    `by_variance` is 0 or 1. With 1 the radius of a mean reward is narrower if the mean is near 0 or
    1, or if the rewards vary little (`estimation/tight.py`).

    `measured` is 0 or 1. With 1 the width of a mean reward is multiplied by the variance of its
    rewards relative to that of a coin (`_kernels/planning/optimism.py`). `by_variance` takes
    precedence.
    """

    reward: float = 0.0
    outcomes: float = 0.0
    per_outcome: float = 0.0
    cap: float = 2.0
    by_variance: float = 0.0
    measured: float = 0.0


EPOCH = math.log(1.1)
"""Time-uniform radii hold in epochs of n, each a tenth longer than the last. This is the
logarithm.
"""


class Schedule(NamedTuple):
    """Radii that grow with time: each width is a constant + its slope · log t.

    Time-uniform radii grow with the logarithm of the number of epochs up to t instead.
    """

    earliest: float
    """The smallest t."""
    reward: float
    reward_slope: float
    outcomes: float = 0.0
    outcomes_slope: float = 0.0
    per_outcome: float = 0.0
    per_outcome_slope: float = 0.0
    reward_epochs: float = 0.0
    outcomes_epochs: float = 0.0
    cap: float = 2.0
    by_variance: float = 0.0
    measured: float = 0.0

    def at(self, t: int) -> Radii:
        """Return the radii at time t."""
        log = math.log(max(self.earliest, float(t)))
        epochs = math.log(2.0 + log / EPOCH)
        return Radii(
            self.reward + self.reward_slope * log + self.reward_epochs * epochs,
            self.outcomes + self.outcomes_slope * log + self.outcomes_epochs * epochs,
            self.per_outcome + self.per_outcome_slope * log,
            self.cap,
            self.by_variance,
            self.measured,
        )
