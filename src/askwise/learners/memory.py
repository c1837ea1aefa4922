"""Forgetting, for a world that changes.

What a learner knows is a sum over cases, so a part of it can be taken back exactly. Cases are
counted in blocks. With a `window` the oldest block is forgotten when the others fill the window.
With `detect` the block that has just ended is compared with all that is remembered from before
(`estimation/change.py`), and where the two contradict each other all from before is forgotten.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from askwise._typing import Integers
from askwise.errors import OptionError
from askwise.estimation.change import contradict
from askwise.statistics import Statistics

PARTS = 8
"""Blocks in a window."""

BLOCK = 500
"""Cases in a block, where there is no window."""

FALSE_ALARMS = 1e-4
"""How likely a block is to raise one, if nothing changes."""


class Knowledge(NamedTuple):
    """What was counted in some cases: statistics, and whatever a learner tallies beside them."""

    statistics: Statistics
    tallies: dict[str, Integers]

    def copy(self) -> Knowledge:
        """The same, apart from this."""
        tallies = {name: array.copy() for name, array in self.tallies.items()}
        return Knowledge(self.statistics.copy(), tallies)

    def without(self, part: Knowledge) -> Knowledge:
        """What is left when a part of it is taken back."""
        rest = self.copy()
        rest.forget(part)
        return rest

    def forget(self, part: Knowledge, *, only_rewards: bool = False) -> None:
        """Take a part of it back, in place; perhaps only its rewards and prices."""
        self.statistics.take_back(part.statistics, only_rewards=only_rewards)
        for name, array in self.tallies.items():
            np.subtract(array, part.tallies[name], out=array)


class Memory:
    """What a learner remembers, block by block."""

    def __init__(
        self, window: int | None, *, detect: bool = False, only_rewards: bool = False
    ) -> None:
        is_whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
        if window is not None and (not is_whole or window < PARTS):
            raise OptionError(
                f"window must be a whole number of at least {PARTS} cases or None, got {window!r}"
            )
        if not isinstance(detect, bool):
            raise OptionError(f"detect must be True or False, got {detect!r}")
        self.window = None if window is None else int(window)
        self.detect = detect
        self.only_rewards = only_rewards
        """Whether what was seen is kept for ever, and only rewards and prices are forgotten."""
        self.length = BLOCK if window is None else int(window) // PARTS
        """Cases in a block."""
        if detect:
            self.length = min(self.length, BLOCK)
        self.began = 0
        """How many cases were opened before this block."""
        self.number = 0
        """Of this block."""
        self.first = 0
        """The oldest block that is remembered."""
        self.blocks: deque[Knowledge] = deque()
        """Those that are over and remembered, with a window; without, `before` is all it takes."""
        self.before: Knowledge | None = None
        """What was known when this block began; None if that was nothing."""

    def end_block(self, known: Knowledge, opened: int) -> bool:
        """A block is over. Forget, in place, what there is to forget; whether that was anything."""
        block = known.copy() if self.before is None else known.without(self.before)
        forgets = False
        if self.before is not None and self.detect:
            old = self.before.statistics
            forgets = contradict(block.statistics, old, chance=FALSE_ALARMS)
        if forgets:
            assert self.before is not None
            known.forget(self.before, only_rewards=self.only_rewards)
            self.blocks.clear()
            self.first = self.number
        if self.window is not None:
            self.blocks.append(block)
            if len(self.blocks) * self.length > self.window - self.length:
                known.forget(self.blocks.popleft(), only_rewards=self.only_rewards)
                self.first += 1
                forgets = True
        self.before = known.copy()
        self.began = opened
        self.number += 1
        return forgets

    def held(self) -> list[Statistics]:
        """All statistics that it keeps."""
        parts = [*self.blocks] if self.before is None else [self.before, *self.blocks]
        return [part.statistics for part in parts]

    def replace_reward(
        self, block: int, state: int, action: int, before: float, reward: float
    ) -> bool:
        """A reward that was counted in this block was another; whether it is remembered."""
        if block < self.first:
            return False
        if block < self.number:
            assert self.before is not None
            self.before.statistics.replace_reward(state, action, before, reward)
            if self.window is not None:
                held = self.blocks[block - self.first].statistics
                held.replace_reward(state, action, before, reward)
        return True
