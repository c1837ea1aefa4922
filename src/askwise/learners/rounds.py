"""When a round ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._typing import Integers
from askwise.policy import Policy
from askwise.statistics import Statistics


class Marks(NamedTuple):
    """The counts of a round as arrays by row, for the kernels: one choice a state, its policy's.

    Valid where `stamp` is the number of the round, so that a new round clears nothing.
    """

    began: Integers
    """N_k of the state's choice."""
    nu: Integers
    """ν_k of the state's choice."""
    stamp: Integers


class Doubling:
    """A round ends when some ν_k reaches max(1, N_k), N_k being its count when the round began.

    The counts are those of (state, action) pairs and, for sequential learners, of (state,
    observation) pairs. Only pairs counted in this round are kept.
    """

    def __init__(self) -> None:
        self.began: dict[tuple[int, int], int] = {}
        """(state, choice) → N_k; a choice is an action a, or an observation i as −1 − i."""

    def counted(self, state: int, choice: int, now: int) -> bool:
        """Whether the round is over, now that the pair's count has risen to `now`.

        >>> rounds = Doubling()
        >>> rounds.counted(0, 0, now=4), rounds.counted(0, 0, now=5), rounds.counted(0, 0, now=6)
        (False, False, True)
        """
        began = self.began.setdefault((state, choice), now - 1)
        return now - began >= max(1, began)

    def begin(self) -> None:
        """A new round."""
        self.began.clear()

    def to_marks(self, marks: Marks, round: int, policy: Policy, statistics: Statistics) -> None:
        """Write the counts of this round into the arrays."""
        for (state, choice), began in self.began.items():
            if choice == policy.choice(state):
                now = (
                    statistics.rewards(state, choice)
                    if choice >= 0
                    else statistics.steps(state, -1 - choice)
                )
                row = statistics.row(state)
                marks.stamp[row], marks.began[row], marks.nu[row] = round, began, now - began

    def from_marks(self, marks: Marks, round: int, policy: Policy, statistics: Statistics) -> None:
        """Take the counts of this round over from the arrays."""
        for row in np.flatnonzero(marks.stamp == round).tolist():
            state = statistics.state(row)
            self.began[state, policy.choice(state)] = int(marks.began[row])
