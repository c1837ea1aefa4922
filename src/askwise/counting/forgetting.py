"""Forgetting, for a world that changes.

What a learner knows is a sum over cases, so a part of it can be taken back exactly. Cases are
counted in blocks. With a `window` the oldest block is forgotten when the others fill the window.
With `detect` the newest blocks are compared with all that is remembered from before them
(`counting/change.py`), and where the two contradict each other all from before is forgotten: the
newest one after every block, the newest two after every second, four after every fourth, and so on.
One block shows a large change at once; many together show a small one, or one in what is seldom
looked at.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Integers
from askwise.counting.change import contradict
from askwise.counting.statistics import Statistics
from askwise.errors import OptionError

PARTS = 8
"""Blocks in a window."""

BLOCKS = 125, 500
"""The fewest and the most cases in a block to look for changes in."""

STATES = 16
"""A block has a case for so many states: looking at it costs as much time as there are states."""

SCALES = 6
"""The newest 1, 2, 4, … blocks are compared with the past, up to so many powers of two."""

FALSE_ALARMS = 1e-4
"""How likely a comparison is to raise one, if nothing changes."""


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
        fewest, most = BLOCKS
        self.length = min(most, max(fewest, states // STATES))
        """Cases in a block."""
        if self.window is not None:
            part = self.window // PARTS
            self.length = min(self.length, part) if detect else part
        self.began = 0
        """How many cases were opened before this block."""
        self.number = 0
        """Of this block."""
        self.first = 0
        """The oldest block that is remembered."""
        self.blocks: deque[Knowledge] = deque()
        """Those that are over and remembered, with a window; else the pasts are all it takes."""
        self.pasts: dict[int, Knowledge] = {}
        """What was known when some blocks began, by their numbers, of what is still remembered."""

    def begin_anew(self) -> None:
        """All that is remembered counts as the first block from now on."""
        self.began = self.number = self.first = 0
        self.blocks.clear()
        self.pasts.clear()

    def held(self) -> list[Statistics]:
        """All statistics that it keeps."""
        return [part.statistics for part in (*self.pasts.values(), *self.blocks)]

    def end_block(self, known: Knowledge, opened: int) -> bool:
        """A block is over. Forget, in place, what there is to forget; whether that was anything."""
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
        """Forget all blocks before this one; the part is what they counted."""
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
        """A reward that was counted in this block was another; whether it is remembered."""
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
    """What the options `window` and `detect` of a learner ask for; None: it forgets nothing."""
    if window is None and detect is False:
        return None
    return Forgetting(window, detect=detect, states=states)
