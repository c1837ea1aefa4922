"""The increments of a project's counters by a group of events (`ledger/counters.py` lists them).

The increments are found by letting a learner count the events on counters that are all 0, and
reading them off once. Beside what learners learn from, cases are counted by status, and cases,
rewards and spending by day and by block of cases. Where the learner forgets, what it learns from is
counted by blocks of its own (`replanning/memory.py`).
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import BY_ROW, Statistics
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.service.ledger.case_blocks import block_of
from askwise.service.ledger.counters import (
    BY_BLOCK,
    DAILY,
    DAY,
    HIGH,
    REST_OF,
    STAKE_OF,
    STAKE_UNIT,
    TALLY,
)
from askwise.service.ledger.rows import Increment, Status
from askwise.service.replanning.memory import AT, KEPT, Blocks, Memory

DENSE_UP_TO = 4096
"""States up to which it is faster to have a row for every one than to look rows up."""

_Step = tuple[int, int, Status | None, Status]
"""On this day a case of this block went from one status to another."""

(
    _OPENED,
    _ACTED,
    _REWARDED,
    _REWARD,
    _SPEND,
    _CANCELLED,
    _SPEND_HIGH,
    _REWARD_HIGH,
) = range(len(DAILY))
(
    _BLOCK_ACTED,
    _BLOCK_REWARDED,
    _BLOCK_REWARD,
    _BLOCK_SPEND,
    _BLOCK_AWAITED,
    _BLOCK_SPEND_HIGH,
    _BLOCK_REWARD_HIGH,
) = range(len(BY_BLOCK))

_DAY_AMOUNTS = (_SPEND_HIGH, _SPEND, _REWARD_HIGH, _REWARD)
_BLOCK_AMOUNTS = (_BLOCK_SPEND_HIGH, _BLOCK_SPEND, _BLOCK_REWARD_HIGH, _BLOCK_REWARD)


class CounterChanges:
    """Counts what happens in a project while a group of events is decided.

    The library's cases report here, as they would to the learner that opened them.
    """

    def __init__(self, learner: BaseLearner) -> None:
        self.rounds = rounds_of(learner)
        """Never plans and never opens a case; it knows how to count."""
        self.blocks = Blocks.of(learner)
        """Into which the learner divides its cases, if it forgets."""
        self.rounds.forgetting = None  # which of them it remembers, the ledger knows
        self._now, self._memory = 0, Memory()
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, and count from 0."""
        lattice = self.rounds.now.lattice
        self._count_from_0()
        self._learned: list[Increment] = []
        """The increments of blocks other than the current one."""
        self._block: int | None = 0
        """The block in which the learner's counters count now; None if it is forgotten."""
        self._steps: dict[_Step, list[int]] = defaultdict(lambda: [0] * 7)
        """How many, what they spent and earned (multiples of `HIGH`, and the others, of both), and
        the rests of both."""
        self._stakes: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0] * 3)
        """By day and block, of rewarded cases: what stakes are more than 1, and of how many."""
        self.bought = [0] * lattice.buyable
        """How often each observation was bought."""

    def increments(self) -> list[Increment]:
        """Returns all increments since the last `reset`, in the order of the keys."""
        totals: Counter[tuple[str, int, int]] = Counter()
        for kind, cell, place, amount in self._step_increments():
            totals[kind, cell, place] += amount
        found = [Increment(*key, amount) for key, amount in totals.items() if amount]
        found += [Increment("bought", i, 0, n) for i, n in enumerate(self.bought) if n]
        found += self._learned
        found += self._learned_in_block()
        return sorted(found)

    # --- reported by the library's cases ----------------------------------------------------------

    def acted(self, case: Case) -> None:
        """A case has its action."""
        self._count_in(self._now)
        self.rounds.acted(case)

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A reward has come, or another in its place, which counts where the first did."""
        if before is None:
            case.block = self._now
        self._count_in(case.block)
        if before is not None:  # it is taken out of a row that may not exist yet
            self.rounds.now.statistics.give_rows(np.array([case.acted_in]))
        self.rounds.rewarded(case, reward, before)

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """A case paid these amounts for observations."""
        self._count_in(self._now)
        self.rounds.paid(case, amounts)

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """People act in a case that still wanted something."""
        self._count_in(self._now)
        self.rounds.stopped(case, is_fair=is_fair)

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """People did an action in place of what was advised."""
        self._count_in(self._now)
        self.rounds.overruled(case, before, now)

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """People looked at these without being asked."""
        self._count_in(self._now)
        self.rounds.looked_unasked(case, observations)

    def spent_later(self, case: Case, amount: float) -> None:
        """People spent so much on observations after the advice."""
        self._count_in(self._now)
        self.rounds.spent_later(case, amount)

    def cancelled(self, case: Case) -> None:
        """A case is cancelled: there will be no action, or no reward."""
        self._count_in(self._now)
        self.rounds.cancelled(case)

    # --- blocks of a learner that forgets --------------------------------------------------------

    def begin_step(self, opened: int, memory: Memory) -> None:
        """Begins a step at this number of opened cases, with this memory."""
        if self.blocks is not None:
            self._now, self._memory = self.blocks.current(opened), memory

    def _count_in(self, block: int) -> None:
        """Makes the learner's counters count in this block, which may be forgotten later."""
        if self.blocks is None:
            return
        kept = self.blocks.kept_with(block, self._memory)
        if kept != self._block:
            self._learned += self._learned_in_block()
            self._count_from_0()
            self._block = kept

    def _count_from_0(self) -> None:
        rounds, lattice = self.rounds, self.rounds.now.lattice
        rounds.count_anew(Statistics(lattice, sparse=lattice.size > DENSE_UP_TO), 0)
        for array in rounds.strategy.tallies().values():
            array[...] = 0

    def _learned_in_block(self) -> list[Increment]:
        """Returns the increments of the learner's counters, in one block if it forgets."""
        statistics = self.rounds.now.statistics
        found = [Increment("cases", 0, 0, statistics.cases)] if statistics.cases else []
        for name, array in statistics.arrays():
            found += _array_increments(name, array, statistics.states if name in BY_ROW else None)
        for name, array in self.rounds.strategy.tallies().items():
            found += _array_increments(TALLY + name, array, None)
        if self.blocks is None:
            return found
        ever = [row for row in found if row.kind in (*KEPT, "paid_sums")]
        if self._block is None:
            return ever
        by_block = [row for row in found if row.kind not in KEPT]
        return ever + [row._replace(kind=f"{row.kind}{AT}{self._block}") for row in by_block]

    # --- reported by the decider -----------------------------------------------------------------

    def count_step(
        self,
        at: int,
        case: int,
        before: Status | None,
        after: Status,
        *,
        spent: tuple[int, int] = (0, 0),
        earned: tuple[int, int] = (0, 0),
    ) -> None:
        """A case went from one status to another, and spent and earned so much more on the way.

        Both are in whole units, and a rest (`counters.split`).
        """
        totals = self._steps[at // DAY, block_of(case), before, after]
        totals[0] += 1
        for place, of_rest, (units, rest) in ((1, 5, spent), (3, 6, earned)):
            high, low = divmod(units, HIGH)
            totals[place] += high
            totals[place + 1] += low
            totals[of_rest] += rest

    def count_stake(self, at: int, case: int, stake: float) -> None:
        """A case with this stake has its first reward; most have a stake of 1, and add nothing."""
        if stake == 1.0:
            return
        totals = self._stakes[at // DAY, block_of(case)]
        for place, amount in enumerate((*divmod(round((stake - 1.0) / STAKE_UNIT), HIGH), 1)):
            totals[place] += amount

    def _step_increments(self) -> Iterator[Increment]:
        """Returns the increments of the counted steps."""
        for (day, block), amounts in self._stakes.items():
            for place, amount in enumerate(amounts):
                yield Increment(STAKE_OF["day"], day, place, amount)
                yield Increment(STAKE_OF["block"], block, place, amount)
        for (day, block, before, after), (count, *amounts, spent, earned) in self._steps.items():
            for place, amount in enumerate((spent, earned, count)):
                yield Increment(REST_OF["day"], day, place, amount)
                yield Increment(REST_OF["block"], block, place, amount)
            for of_day, of_block, amount in zip(_DAY_AMOUNTS, _BLOCK_AMOUNTS, amounts, strict=True):
                yield Increment("day", day, of_day, amount)
                yield Increment("block", block, of_block, amount)
            if before is after:
                continue
            yield Increment("status", int(after), 0, count)
            if before is None:
                yield Increment("day", day, _OPENED, count)
            else:
                yield Increment("status", int(before), 0, -count)
            if after is Status.ACTED:
                yield Increment("day", day, _ACTED, count)
                yield Increment("block", block, _BLOCK_ACTED, count)
                yield Increment("block", block, _BLOCK_AWAITED, count)
            elif before is Status.ACTED:
                yield Increment("block", block, _BLOCK_AWAITED, -count)
            if after is Status.CANCELLED:
                yield Increment("day", day, _CANCELLED, count)
            elif before is Status.ACTED:
                yield Increment("day", day, _REWARDED, count)
                yield Increment("block", block, _BLOCK_REWARDED, count)


def _array_increments(kind: str, array: Integers, states: Integers | None) -> Iterable[Increment]:
    where = np.nonzero(array)
    if not len(where[0]):
        return []
    cells = (where[0] if states is None else states[where[0]]).tolist()
    places = where[1].tolist() if array.ndim == 2 else [0] * len(cells)
    amounts = array[where].tolist()
    return [Increment(kind, *row) for row in zip(cells, places, amounts, strict=True)]
