"""What a project that forgets (`window`, `detect`) remembers: its counters, block by block.

The library counts cases in blocks, and forgets whole blocks (`counting/forgetting.py`). Here each
block has counters of its own: what is counted as `name` elsewhere is `name@block`. In which block
something counts follows from how many cases were opened before it. When a block is over, the
replanner compares it with what is remembered, as the library would, and writes what it found as an
event, `forget`. With that event counters of blocks are dropped, or added to those of an older
block, so that there are few of them. Taken again, the events leave the same counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from askwise.counting import Statistics
from askwise.counting.change import contradict
from askwise.counting.forgetting import FALSE_ALARMS, SCALES, Forgetting
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.service.api.messages import BlockEnd
from askwise.service.ledger.counters import DRIFT, ERASED, MEMORY, TALLY
from askwise.service.ledger.rows import Event, Increment, Snapshot
from askwise.service.replanning.counter_rows import statistics_of

AT = "@"
"""Stands between the name of a counter and the block it counts in."""

REWARDS = ("action_counts", "reward_sums", "graded_sums", "paid_counts", "paid_sums")
"""What a learner forgets that forgets rewards and prices only."""

KEPT = ("overruled", "unasked")
"""What people did without being asked: it is never forgotten, and counted in no block."""

FORGET = "forget"
"""The kind of the event with which a block ends."""


class Memory(NamedTuple):
    """How far the blocks of a project were examined, and which are remembered."""

    examined: int = 0
    """How many blocks are over and were compared with what was before them."""
    first: int = 0
    """The oldest block that is remembered."""

    @classmethod
    def of(cls, counted: dict[tuple[int, int], int]) -> Memory:
        """As the counters of the kind `MEMORY` say."""
        return cls(counted.get((0, 0), 0), counted.get((1, 0), 0))


class Blocks:
    """How a learner divides its cases into blocks, and which blocks are kept apart."""

    def __init__(self, forgetting: Forgetting, names: Sequence[str]) -> None:
        self._rule = forgetting
        self._names = names
        """What the learner counts."""

    @classmethod
    def of(cls, learner: BaseLearner) -> Blocks | None:
        """Those of a learner; None if it forgets nothing."""
        rounds = rounds_of(learner)
        if rounds.forgetting is None:
            return None
        counted = [name for name, _ in rounds.now.statistics.arrays() if name not in KEPT]
        tallies = [TALLY + name for name in rounds.strategy.tallies()]
        return cls(rounds.forgetting, ["cases", *counted, *tallies])

    def current(self, opened: int) -> int:
        """The block that counts, once so many cases were opened."""
        return max(0, opened - 1) // self._rule.length

    def kept_with(self, block: int, memory: Memory) -> int | None:
        """The block whose counters hold those of this one; None if it is forgotten."""
        if block < memory.first:
            return None
        if block >= memory.examined or self._rule.window is not None:
            return block
        return max(b for b in (memory.first, *_boundaries(memory)) if b <= block)

    def moves(self, before: Memory, after: Memory) -> list[tuple[str, str | None]]:
        """Which counters are added to which others when a block ends; None: they are dropped."""
        found: list[tuple[str, str | None]] = []
        # a block that is dropped may hold those of blocks after it; those were dropped with it
        groups = {self.kept_with(b, before) for b in range(before.first, after.examined)}
        for block in sorted(group for group in groups if group is not None):
            into = self.kept_with(block, after)
            for name in self._names if into != block else ():
                # where only rewards and prices are forgotten, the oldest block has all the rest
                to = after.first if into is None and not self._is_forgotten(name) else into
                for kind in (name, f"{ERASED} {name}"):
                    into_kind = None if to is None else f"{kind}{AT}{to}"
                    found.append((f"{kind}{AT}{block}", into_kind))
        return found

    def _is_forgotten(self, name: str) -> bool:
        return not self._rule.only_rewards or name in REWARDS or name.startswith(TALLY)

    def remembered(self, now: Snapshot) -> list[Increment]:
        """The counters of what is remembered, by the names that learners know."""
        kept = [row for row in now.counters if row.kind in KEPT]
        return kept + self._sum(now.counters, memory_of(now).first, self.current(now.opened) + 1)

    def examine(
        self, learner: BaseLearner, now: Snapshot, start: Statistics
    ) -> Iterable[tuple[BlockEnd, Memory]]:
        """What there is to say of each block that is over, and the memory after it.

        `start` is what the project began with; it counts as a part of the first block.
        """
        memory = memory_of(now)
        while memory.examined < self.current(now.opened):
            number, first = memory.examined + 1, memory.first
            changed = self._rule.detect and self._changed_since(learner, now, start, memory, number)
            if changed:
                first = changed
            window = self._rule.window
            if window is not None and (number - first + 1) * self._rule.length > window:
                first += 1
            memory = Memory(number, first)
            yield BlockEnd(number, first, drift=bool(changed)), memory

    def _changed_since(
        self, learner: BaseLearner, now: Snapshot, start: Statistics, memory: Memory, number: int
    ) -> int:
        """The block since which all contradicts what was before it; 0 if there is none."""
        pasts = [b for b in _boundaries(memory) if b > memory.first]
        for k in range(SCALES):
            begin = number - (1 << k)
            if number % (1 << k) or begin not in pasts:
                break
            new = statistics_of(learner, self._sum(now.counters, begin, number))
            past = statistics_of(learner, self._sum(now.counters, memory.first, begin))
            if not memory.first:
                past += start
            if contradict(new, past, chance=FALSE_ALARMS):
                return begin
        return 0

    def _sum(self, counters: Iterable[Increment], first: int, end: int) -> list[Increment]:
        """The counters of the blocks from one up to another, together."""
        total: Counter[tuple[str, int, int]] = Counter()
        for kind, cell, place, amount in counters:
            name, at, block = kind.partition(AT)
            if at and first <= int(block) < end and not name.startswith(ERASED):
                total[name, cell, place] += amount
        return [Increment(*key, amount) for key, amount in total.items()]


def forget_event(seq: int, end: BlockEnd, at: int) -> Event:
    """The end of a block as an event; no request can have its key, for there is a space in it."""
    key, body = f"{FORGET} {end.block}", msgspec.json.encode(end)
    return Event(seq=seq, key=key, kind=FORGET, case=0, body=body, status=200, answer=b"{}", at=at)


def memory_of(now: Snapshot) -> Memory:
    """How far the blocks of a project are examined, at this moment."""
    return Memory.of({(r.cell, r.place): r.amount for r in now.counters if r.kind == MEMORY})


def memory_increments(before: Memory, after: Memory, day: int, *, drift: bool) -> list[Increment]:
    """What the end of a block adds to the counters."""
    found = [
        Increment(MEMORY, 0, 0, after.examined - before.examined),
        Increment(MEMORY, 1, 0, after.first - before.first),
        Increment(DRIFT, day, 0, int(drift)),
    ]
    return [increment for increment in found if increment.amount]


def _boundaries(memory: Memory) -> set[int]:
    """The blocks before which the past may be compared with what came since."""
    return {memory.examined >> k << k for k in range(SCALES)}
