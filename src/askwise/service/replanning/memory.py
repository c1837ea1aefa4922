"""The counters of a project that forgets (`window`, `detect`), block by block.

The library counts cases in blocks, and forgets whole blocks (`counting/forgetting.py`). In the
ledger each block has counters of its own: a counter `name` becomes `name@block`. The number of
cases opened before an event decides in which block the event counts.

When a block is over, the replanner compares it with the blocks that are remembered, as the library
does. It writes the result as an event, `forget`. With that event the counters of blocks are
dropped, or added to those of an older block, so that few blocks are kept. Replaying the events
gives the same counters.
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
"""The separator between the name of a counter and its block."""

REWARDS = ("action_counts", "reward_sums", "graded_sums", "paid_counts", "paid_sums")
"""The counters that are forgotten if only rewards and prices are forgotten."""

KEPT = ("overruled", "unasked")
"""Counters of what people did on their own; they are never forgotten, and belong to no block."""

FORGET = "forget"
"""The kind of the event that ends a block."""


class Memory(NamedTuple):
    """How many blocks of a project were examined, and which are remembered."""

    examined: int = 0
    """How many blocks are over and were compared with the blocks before them."""
    first: int = 0
    """The oldest block that is remembered."""

    @classmethod
    def of(cls, counted: dict[tuple[int, int], int]) -> Memory:
        """The memory that the counters of the kind `MEMORY` describe."""
        return cls(counted.get((0, 0), 0), counted.get((1, 0), 0))


class Blocks:
    """How a learner divides its cases into blocks, and which blocks keep their own counters."""

    def __init__(self, forgetting: Forgetting, names: Sequence[str]) -> None:
        self._rule = forgetting
        self._names = names
        """The names of the counters of the learner."""

    @classmethod
    def of(cls, learner: BaseLearner) -> Blocks | None:
        """The blocks of a learner; None if it forgets nothing."""
        rounds = rounds_of(learner)
        if rounds.forgetting is None:
            return None
        counted = [name for name, _ in rounds.now.statistics.arrays() if name not in KEPT]
        tallies = [TALLY + name for name in rounds.strategy.tallies()]
        return cls(rounds.forgetting, ["cases", *counted, *tallies])

    def current(self, opened: int) -> int:
        """The block in which events count after so many cases were opened."""
        return max(0, opened - 1) // self._rule.length

    def kept_with(self, block: int, memory: Memory) -> int | None:
        """The block whose counters include those of this block; None if it is forgotten."""
        if block < memory.first:
            return None
        if block >= memory.examined or self._rule.window is not None:
            return block
        return max(b for b in (memory.first, *_boundaries(memory)) if b <= block)

    def moves(self, before: Memory, after: Memory) -> list[tuple[str, str | None]]:
        """Which counters are added to which others when a block ends; None means dropped."""
        found: list[tuple[str, str | None]] = []
        # the counters of a dropped block may include later blocks, which are dropped with it
        groups = {self.kept_with(b, before) for b in range(before.first, after.examined)}
        for block in sorted(group for group in groups if group is not None):
            into = self.kept_with(block, after)
            for name in self._names if into != block else ():
                # if only rewards and prices are forgotten, the oldest block keeps all others
                to = after.first if into is None and not self._is_forgotten(name) else into
                for kind in (name, f"{ERASED} {name}"):
                    into_kind = None if to is None else f"{kind}{AT}{to}"
                    found.append((f"{kind}{AT}{block}", into_kind))
        return found

    def _is_forgotten(self, name: str) -> bool:
        return not self._rule.only_rewards or name in REWARDS or name.startswith(TALLY)

    def remembered(self, now: Snapshot) -> list[Increment]:
        """The counters of all remembered blocks together, by the names that learners use."""
        kept = [row for row in now.counters if row.kind in KEPT]
        return kept + self._sum(now.counters, memory_of(now).first, self.current(now.opened) + 1)

    def examine(
        self, learner: BaseLearner, now: Snapshot, start: Statistics
    ) -> Iterable[tuple[BlockEnd, Memory]]:
        """The result for each block that is over, and the memory after it.

        `start` are the counters that the project began with. They are part of the first block.
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
        """The block from which on the data contradict the blocks before; 0 if there is none."""
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
        """The sum of the counters of the blocks from `first` up to `end`, without `end`."""
        total: Counter[tuple[str, int, int]] = Counter()
        for kind, cell, place, amount in counters:
            name, at, block = kind.partition(AT)
            if at and first <= int(block) < end and not name.startswith(ERASED):
                total[name, cell, place] += amount
        return [Increment(*key, amount) for key, amount in total.items()]


def forget_event(seq: int, end: BlockEnd, at: int) -> Event:
    """The event that ends a block. Its key has a space, so no request can have the same key."""
    key, body = f"{FORGET} {end.block}", msgspec.json.encode(end)
    return Event(seq=seq, key=key, kind=FORGET, case=0, body=body, status=200, answer=b"{}", at=at)


def memory_of(now: Snapshot) -> Memory:
    """The memory of a project at the moment of the snapshot."""
    return Memory.of({(r.cell, r.place): r.amount for r in now.counters if r.kind == MEMORY})


def memory_increments(before: Memory, after: Memory, day: int, *, drift: bool) -> list[Increment]:
    """Returns what the end of a block adds to the counters."""
    found = [
        Increment(MEMORY, 0, 0, after.examined - before.examined),
        Increment(MEMORY, 1, 0, after.first - before.first),
        Increment(DRIFT, day, 0, int(drift)),
    ]
    return [increment for increment in found if increment.amount]


def _boundaries(memory: Memory) -> set[int]:
    """The blocks at which the past may be separated from the newer blocks to compare them."""
    return {memory.examined >> k << k for k in range(SCALES)}
