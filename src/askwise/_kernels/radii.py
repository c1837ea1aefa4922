"""How far an estimate may be off."""

import math
from typing import NamedTuple


class Radii(NamedTuple):
    """How far an estimate from n samples may be off: conf(n) = √(width / max(1, n)).

    A distribution over k outcomes has the width `outcomes + per_outcome · k`. Zero: known exactly.
    A mean reward is off by at most 1, a distribution, in L1, by at most 2: kernels cap conf there.
    """

    reward: float = 0.0
    outcomes: float = 0.0
    per_outcome: float = 0.0


class Schedule(NamedTuple):
    """Radii that grow with the logarithm of time: each width is a constant + its slope · log t."""

    earliest: float
    """The least t."""
    reward: float
    reward_slope: float
    outcomes: float = 0.0
    outcomes_slope: float = 0.0
    per_outcome: float = 0.0
    per_outcome_slope: float = 0.0

    def at(self, t: int) -> Radii:
        """The radii at time t."""
        log = math.log(max(self.earliest, float(t)))
        return Radii(
            self.reward + self.reward_slope * log,
            self.outcomes + self.outcomes_slope * log,
            self.per_outcome + self.per_outcome_slope * log,
        )
