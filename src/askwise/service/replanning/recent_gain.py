"""The gain of the newest cases, how unsure it is, and whether it is below that of buying nothing.

Cases are counted by blocks (`ledger/case_blocks.py`). The gains of blocks differ as much as chance
makes them differ, so their spread gives the standard error of the mean, whatever rewards, prices
and stakes are. A loss of `EXPLORING` is what a learner may pay to learn. The alarm is raised by a
loss that is `ERRORS` standard errors greater. It ends when the loss is at most `EXPLORING`. In
between it stays as it is, so it does not flap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from askwise.problem import Problem
from askwise.service.ledger.amounts import Amounts, counted
from askwise.service.ledger.case_blocks import cases_of
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import DAILY, DAY
from askwise.service.ledger.rows import Project

FEWEST, MOST = 200, 1_000
"""Rewarded cases that are compared with buying nothing: at least, and enough if there are more.
Whole blocks count, so there may be more than enough.
"""

FEWEST_BLOCKS = 12
"""Blocks whose spread gives the standard error, however many cases each has."""

ERRORS = 3.0
"""Standard errors of a loss that raises the alarm. It is looked for again and again, so two would
be exceeded by chance in one project of five.
"""

EXPLORING = 0.01
"""The part of the reward value that exploration may cost, for each unit of stake. Where rewards
hardly vary, the standard error is so small that any exploration would raise the alarm.
"""

AWAITED_SHARE = 0.2
"""A block counts if at most this share of its rewards is awaited, or if all of it is overdue."""

OVERDUE = 30 * DAY
"""Microseconds after which a reward is overdue, and counts as lost here."""

_OPENED = DAILY.index("opened")


class RecentGain(NamedTuple):
    """The gain of the newest cases that have their reward, for each unit of stake."""

    cases: int
    of_unit: float
    error: float
    """Its standard error."""
    is_staked: bool

    def is_below(self, nothing: float, reward_value: float, *, was_below: bool) -> bool:
        """Whether the cases gain less than buying nothing, by more than exploration may cost.

        What was so before must be refuted.
        """
        chance = 0.0 if was_below else ERRORS * self.error
        return self.of_unit + chance < nothing - EXPLORING * reward_value


def recent_gain(ledger: Ledger, project: Project) -> RecentGain | None:
    """Returns what the newest rewarded cases gained; None if they are few."""
    amounts = Amounts(msgspec.json.decode(project.problem, type=Problem))
    overdue_to = _overdue_to(ledger, project.id)
    rewarded, blocks = 0, list[tuple[float, float]]()
    for block, of_block in reversed(counted(ledger, project.id, "block")):
        if not of_block["rewarded"] or not _counts(of_block, cases_of(block).stop <= overdue_to):
            continue
        rewarded += of_block["rewarded"]
        blocks.append((_gain(amounts, of_block), amounts.stake(of_block)))
        if rewarded >= MOST and len(blocks) >= FEWEST_BLOCKS:
            break
    stakes = sum(stake for _, stake in blocks)
    if rewarded < FEWEST or len(blocks) < FEWEST_BLOCKS or stakes <= 0.0:
        return None
    of_unit = sum(gain for gain, _ in blocks) / stakes
    squares = sum((gain - of_unit * stake) ** 2 for gain, stake in blocks)
    error = math.sqrt(squares * len(blocks) / (len(blocks) - 1)) / stakes
    return RecentGain(rewarded, of_unit, error, stakes != rewarded)


def _counts(of_block: Mapping[str, int], is_overdue: bool) -> bool:
    """Whether the rewards of a block tell what its cases gain: those that come early may be others
    than those that come late.
    """
    acted = of_block["rewarded"] + of_block["awaited"]
    return is_overdue or of_block["awaited"] <= AWAITED_SHARE * acted


def _gain(amounts: Amounts, of_block: Mapping[str, int]) -> float:
    """The earnings of the rewarded cases, less their share of what the block spent."""
    spend, rewarded = amounts.spend(of_block), of_block["rewarded"]
    awaited = spend * of_block["awaited"] / (rewarded + of_block["awaited"])
    return amounts.gain(of_block) + awaited


def _overdue_to(ledger: Ledger, project: int) -> int:
    """The number of the first case that was opened too late for its reward to be overdue."""
    last = (time.time_ns() // 1000 - OVERDUE) // DAY
    days = ledger.counter_values(project, "day")
    return 1 + sum(n for (day, place), n in days.items() if day < last and place == _OPENED)
