"""The doubling rule ends a round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import Statistics
from askwise.counting.round_counts import RoundCounts
from askwise.policy import Policy


class Doubling:
    """A round ends when some ν_k reaches max(1, N_k), where N_k is the count at its beginning.

    The counts are those of (state, action) pairs and, for sequential learners, of (state,
    observation) pairs. Only pairs counted in this round are kept.
    """

    def __init__(self, on_first: Callable[[int, int], None] = lambda state, choice: None) -> None:
        self.on_first = on_first
        """Called with each pair when it is first counted in a round."""
        self.counts: dict[tuple[int, int], list[int]] = {}
        """(state, choice) → [N_k, ν_k]; a choice is an action a, or an observation i as −1 − i."""

    def counted(self, pair: tuple[int, int], statistics: Statistics) -> bool:
        """Counts a (state, choice). Returns whether the round is over."""
        counts = self.counts.get(pair)
        if counts is None:
            counts = self.counts[pair] = [statistics.count_of(*pair) - 1, 0]
            self.on_first(*pair)
        within = counts[1] = counts[1] + 1
        return within >= counts[0]  # ν_k is at least 1

    def begin(self) -> None:
        """Begins a new round, without counts."""
        self.counts.clear()

    def resume(self, began: list[tuple[int, int, int]], statistics: Statistics) -> None:
        """Continues a round in which these (state, choice, N_k) were counted."""
        self.counts = {
            (state, choice): [n, statistics.count_of(state, choice) - n]
            for state, choice, n in began
        }

    def to_arrays(
        self, arrays: RoundCounts, round: int, policy: Policy, statistics: Statistics
    ) -> None:
        """Writes the counts of this round into the arrays."""
        for (state, choice), (before, within) in self.counts.items():
            if choice == policy.choice(state):
                row = statistics.row(state)
                arrays.before[row], arrays.within[row] = before, within
                arrays.counted_in[row] = round

    def from_arrays(
        self, arrays: RoundCounts, round: int, policy: Policy, statistics: Statistics
    ) -> None:
        """Reads the counts of this round from the arrays."""
        for row in np.flatnonzero(arrays.counted_in == round).tolist():
            state = statistics.state(row)
            pair = [int(arrays.before[row]), int(arrays.within[row])]
            self.counts[state, policy.choice(state)] = pair


def lengths_after(
    lengths: tuple[int, int], before: int, now: int, rounds: Integers
) -> tuple[int, int]:
    """The number of cases of the previous round and of this one, after some more cases.

    `lengths` are those of the round `before`, and each of the cases was opened in one of `rounds`.
    """

    def opened(round: int) -> int:
        counted = {before: lengths[1], before - 1: lengths[0]}.get(round, 0)
        return counted + int(np.count_nonzero(rounds == round))

    return opened(now - 1), opened(now)
