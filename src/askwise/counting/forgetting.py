"""Forgets old cases, for a population that changes.

The knowledge of a learner is a sum over cases, so a part of it can be subtracted exactly. Cases are
counted in blocks. With a `window`, the oldest block is forgotten when the others fill the window.
With `detect`, the newest blocks are compared with everything remembered from before them
(`counting/change.py`); if they differ, everything from before is forgotten. The newest block is
compared after every block, the newest two after every second, four after every fourth, and so on.
One block shows a large change at once. Many blocks show a small change, or one in a rare state.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Integers
from askwise.counting.change import contradict
from askwise.counting.statistics import Statistics
from askwise.counting.units import MOST_CASES
from askwise.errors import OptionError

PARTS = 8
"""The number of blocks in a window."""

BLOCKS = 125, 500
"""The fewest and the most cases in a block that is tested for changes."""

STATES = 16
"""A block has at least one case for so many states, because a test takes time for every state."""

SCALES = 6
"""The newest 1, 2, 4, … blocks are compared with the past, up to this many powers of two."""

FALSE_ALARMS = 1e-4
"""The probability of a false alarm in one comparison."""


class Knowledge(NamedTuple):
    """What was counted in some cases: statistics, and the extra tallies of a learner."""

    statistics: Statistics
    tallies: dict[str, Integers]

    def copy(self) -> Knowledge:
        """Returns an independent copy."""
        tallies = {name: array.copy() for name, array in self.tallies.items()}
        return Knowledge(self.statistics.copy(), tallies)

    def without(self, part: Knowledge) -> Knowledge:
        """Returns what remains if a part is subtracted."""
        rest = self.copy()
        rest.forget(part)
        return rest

    def forget(self, part: Knowledge, *, only_rewards: bool = False) -> None:
        """Subtracts a part in place, perhaps only its rewards and prices."""
        self.statistics.take_back(part.statistics, only_rewards=only_rewards)
        for name, array in self.tallies.items():
            np.subtract(array, part.tallies[name], out=array)


class Forgetting:
    """What a learner remembers, block by block, and what it forgets."""

    def __init__(
        self,
        window: int | None,
        *,
        detect: bool = False,
        only_rewards: bool = False,
        states: int = 0,
    ) -> None:
        is_whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
        if window is not None and not (is_whole and PARTS <= window <= MOST_CASES):
            raise OptionError(
                f"window must be a whole number of at least {PARTS} cases, and at most "
                f"{MOST_CASES:,}, or None, got {window!r}"
            )
        if not isinstance(detect, bool):
            raise OptionError(f"detect must be True or False, got {detect!r}")
        self.window = None if window is None else int(window)
        self.detect = detect
        self.only_rewards = only_rewards
        """Whether observations are never forgotten, only rewards and prices."""
        fewest, most = BLOCKS
        self.length = min(most, max(fewest, states // STATES))
        """The number of cases in a block."""
        if self.window is not None:
            part = self.window // PARTS
            self.length = min(self.length, part) if detect else part
        self.began = 0
        """The number of cases that were opened before this block."""
        self.number = 0
        """The number of this block."""
        self.first = 0
        """The oldest block that is remembered."""
        self.blocks: deque[Knowledge] = deque()
        """The finished blocks that are remembered, if there is a window; otherwise `pasts` is
        enough.
        """
        self.pasts: dict[int, Knowledge] = {}
        """What was known at the start of some blocks, by number, of what is still remembered."""

    def begin_anew(self) -> None:
        """Counts everything remembered as the first block from now on."""
        self.began = self.number = self.first = 0
        self.blocks.clear()
        self.pasts.clear()

    def held(self) -> list[Statistics]:
        """All statistics that are kept."""
        return [part.statistics for part in (*self.pasts.values(), *self.blocks)]

    def end_block(self, known: Knowledge, opened: int) -> bool:
        """Ends a block, and forgets in place; returns whether anything was forgotten."""
        if self.window is not None:
            before = self.pasts.get(self.number)
            self.blocks.append(known.copy() if before is None else known.without(before))
        self.number += 1
        self.began = opened
        forgets = self.detect and self._forget_what_contradicts(known)
        if self.window is not None and (len(self.blocks) + 1) * self.length > self.window:
            self._forget_before(self.first + 1, self.blocks[0], known)
            forgets = True
        self.pasts[self.number] = known.copy()
        kept = {self.number >> k << k for k in range(SCALES if self.detect else 1)}
        self.pasts = {number: past for number, past in self.pasts.items() if number in kept}
        return forgets

    def _forget_what_contradicts(self, known: Knowledge) -> bool:
        for k in range(SCALES):
            begin = self.number - (1 << k)
            if self.number % (1 << k) or begin not in self.pasts:
                break
            past = self.pasts[begin]
            new = known.without(past).statistics
            if contradict(new, past.statistics, chance=FALSE_ALARMS):
                self._forget_before(begin, past, known)
                return True
        return False

    def _forget_before(self, number: int, part: Knowledge, known: Knowledge) -> None:
        """Forgets all blocks before this one; `part` is what they counted."""
        known.forget(part, only_rewards=self.only_rewards)
        self.pasts = {n: past for n, past in self.pasts.items() if n > number}
        for past in self.pasts.values():
            past.forget(part, only_rewards=self.only_rewards)
        while self.blocks and self.first < number:
            self.blocks.popleft()
            self.first += 1
        self.first = number

    def replace_reward(
        self, block: int, state: int, action: int, before: float, reward: float
    ) -> bool:
        """Corrects a reward that was counted in a block; whether that block is remembered."""
        if block < self.first:
            return False
        for number, past in self.pasts.items():
            if block < number:
                past.statistics.replace_reward(state, action, before, reward)
        if self.window is not None and block < self.number:
            held = self.blocks[block - self.first].statistics
            held.replace_reward(state, action, before, reward)
        return True


def forgetting_of(window: int | None, *, detect: bool, states: int) -> Forgetting | None:
    """Returns what the options `window` and `detect` ask for; None if nothing is forgotten."""
    if window is None and detect is False:
        return None
    return Forgetting(window, detect=detect, states=states)
