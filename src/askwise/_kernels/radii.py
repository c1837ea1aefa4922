"""How far an estimate may be off."""

import math
from typing import NamedTuple


class Radii(NamedTuple):
    """How far an estimate from n samples may be off: conf(n) = √(width / max(1, n)).

    A distribution over k outcomes has the width `outcomes + per_outcome · k`. Zero: known exactly.
    A mean reward is off by at most 1, a distribution, in L1, by at most `cap`.

    `by_variance` is 0 or 1. With 1 a mean reward r̂ near 0 or 1 is off by less: with b = width ·
    max(0, 1 − 2 r̂) / n, conf(n) = b + √(b² + 2 width r̂(1 − r̂) / n), see `estimation/tight.py`.

    `measured` is 0 or 1. With 1 the width of a mean reward is as many times narrower as its rewards
    vary less than a coin's of the same mean (`_kernels/planning/optimism.py`).
    """

    reward: float = 0.0
    outcomes: float = 0.0
    per_outcome: float = 0.0
    cap: float = 2.0
    by_variance: float = 0.0
    measured: float = 0.0


EPOCH = math.log(1.1)
"""Time-uniform radii hold in epochs of n, each a tenth longer than the last; as a log."""


class Schedule(NamedTuple):
    """Radii that grow with time: each width is a constant + its slope · log t.

    Those that are time-uniform grow with the logarithm of the number of epochs up to t instead.
    """

    earliest: float
    """The least t."""
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
        """The radii at time t."""
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
