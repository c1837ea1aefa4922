"""Counters as rows, and back: what a learner counts, (kind, cell, place) → a whole number.

The increments of an event are found by letting a learner count it on counters that are all 0. A
group of events is counted together and read off once. Beside what learners learn from, the rows
keep what people ask for: cases by status, and the cases, rewards and spending of each day and of
each block of cases.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import BY_ROW, Statistics
from askwise.errors import LedgerError
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.service.dashboard.reward_blocks import block_of
from askwise.service.decisions.stored_cases import Status
from askwise.service.ledger.contract import Increment

SMALL = 4096
"""Up to so many states it is faster to have a row for every one than to look rows up."""

TALLY = "tally."
"""Goes before the name of what a model counts beside the statistics."""

DAY = 86_400_000_000

DAILY = ("opened", "acted", "rewarded", "reward", "spend", "cancelled", "spend_high")
"""What is counted of each day, by its place; reward in units of 2⁻³⁰, spend of 2⁻²⁰."""

BLOCKWISE = ("acted", "rewarded", "reward", "spend", "awaited", "spend_high")
"""What is counted of each block of cases; awaited are those that acted and have no reward yet."""

_Move = tuple[int, int, Status | None, Status]
"""On this day a case of this block went from one status to another."""

_OPENED, _ACTED, _REWARDED, _REWARD, _SPEND, _CANCELLED, _SPEND_HIGH = range(len(DAILY))
(
    _BLOCK_ACTED,
    _BLOCK_REWARDED,
    _BLOCK_REWARD,
    _BLOCK_SPEND,
    _BLOCK_AWAITED,
    _BLOCK_SPEND_HIGH,
) = range(len(BLOCKWISE))

HIGH = 1 << 30
"""What a step spent is counted as two numbers, the multiples of this many units (1,024) and the
rest: 2³³ steps cannot make either of them too large for 64 bits, whatever they cost."""


def spend_of(amounts: Mapping[str, int]) -> int:
    """What was spent on a day or in a block, in units of 2⁻²⁰."""
    return amounts["spend_high"] * HIGH + amounts["spend"]


class Counting:
    """What happens in a project while a group of events is decided; the desk of its cases."""

    def __init__(self, learner: BaseLearner) -> None:
        self.rounds = rounds_of(learner)
        """They never plan and never open a case; they know how to count."""
        self.lock = threading.RLock()
        self.begin()

    def begin(self) -> None:
        """Count from 0."""
        rounds, lattice = self.rounds, self.rounds.now.lattice
        rounds.count_anew(Statistics(lattice, sparse=lattice.size > SMALL), 0)
        for array in rounds.strategy.tallies().values():
            array[...] = 0
        self._moves: dict[_Move, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        """How many, what they spent, as multiples of `HIGH` and the rest, and earned."""
        self.bought = [0] * lattice.buyable
        """How often each observation was."""

    def increments(self) -> list[Increment]:
        """All that was counted since, in the order of their keys."""
        kept: Counter[tuple[str, int, int]] = Counter()
        for kind, cell, place, amount in self._moved():
            kept[kind, cell, place] += amount
        found = [Increment(*key, amount) for key, amount in kept.items() if amount]
        found += [Increment("bought", i, 0, n) for i, n in enumerate(self.bought) if n]
        statistics = self.rounds.now.statistics
        if statistics.cases:
            found.append(Increment("cases", 0, 0, statistics.cases))
        for name, array in statistics.arrays():
            found += _cells(name, array, statistics.states if name in BY_ROW else None)
        for name, array in self.rounds.strategy.tallies().items():
            found += _cells(TALLY + name, array, None)
        return sorted(found)

    # --- what cases report -----------------------------------------------------------------------

    def acted(self, case: Case) -> None:
        """A case knows all it wanted."""
        self.rounds.acted(case)

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A reward has come, perhaps in place of another."""
        if before is not None:  # it is taken out of a row that nobody else may have asked for
            self.rounds.now.statistics.give_rows(np.array([case.state_index]))
        self.rounds.rewarded(case, reward, before)

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Observations cost so much."""
        self.rounds.paid(case, amounts)

    def cancelled(self, case: Case) -> None:
        """There will be no action, or no reward."""
        self.rounds.cancelled(case)

    # --- what people ask for ---------------------------------------------------------------------

    def stepped(
        self,
        at: int,
        case: int,
        before: Status | None,
        after: Status,
        *,
        spent: int = 0,
        earned: int = 0,
    ) -> None:
        """A case was there and is here, and spent and earned so much more meanwhile."""
        move = self._moves[at // DAY, block_of(case), before, after]
        high, low = divmod(spent, HIGH)
        move[0] += 1
        move[1] += high
        move[2] += low
        move[3] += earned

    def _moved(self) -> Iterator[Increment]:
        """What those steps add up to."""
        for (day, block, before, after), (count, high, low, earned) in self._moves.items():
            yield Increment("day", day, _SPEND_HIGH, high)
            yield Increment("block", block, _BLOCK_SPEND_HIGH, high)
            yield Increment("day", day, _SPEND, low)
            yield Increment("block", block, _BLOCK_SPEND, low)
            yield Increment("day", day, _REWARD, earned)
            yield Increment("block", block, _BLOCK_REWARD, earned)
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


def _cells(kind: str, array: Integers, states: Integers | None) -> Iterable[Increment]:
    where = np.nonzero(array)
    if not len(where[0]):
        return []
    cells = (where[0] if states is None else states[where[0]]).tolist()
    places = where[1].tolist() if array.ndim == 2 else [0] * len(cells)
    amounts = array[where].tolist()
    return [Increment(kind, *row) for row in zip(cells, places, amounts, strict=True)]


def fill(learner: BaseLearner, counters: Iterable[Increment]) -> None:
    """Give a learner the counters of these rows, in place of its own."""
    rows: dict[str, list[Increment]] = {}
    for row in counters:
        rows.setdefault(row.kind, []).append(row)
    rounds = rounds_of(learner)
    statistics = rounds.now.statistics = rounds.new_counters()
    states = {row.cell for name in BY_ROW for row in rows.get(name, ())}
    statistics.give_rows(np.array(sorted(states), np.int64))
    statistics.cases = sum(row.amount for row in rows.get("cases", ()))
    for name, array in (
        *statistics.arrays(),
        *((TALLY + name, array) for name, array in rounds.strategy.tallies().items()),
    ):
        array[...] = 0
        _put(array, rows.get(name, ()), statistics if name in BY_ROW else None)


def _put(
    array: Integers,
    rows: Iterable[Increment],
    statistics: Statistics | None,
) -> None:
    table = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3)
    cells, places, amounts = table.T
    if statistics is not None:
        cells = statistics.rows_of(np.ascontiguousarray(cells))
    try:
        array[(cells, places) if array.ndim == 2 else cells] = amounts
    except IndexError as error:
        raise LedgerError(f"a counter is not one of the problem's: {error}") from None
