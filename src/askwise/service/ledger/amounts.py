"""The spend and the earnings of cases, by day and by block, to a millionth.

Sums are whole numbers of tiny parts (`ledger/counters.py`), so they are exact in any order. They
become decimal numbers here, once. A sum of days is the sum of the numbers that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from askwise.problem import Problem
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import (
    BY_BLOCK,
    DAILY,
    REST,
    REST_OF,
    REWARD_PARTS,
    SPEND_PARTS,
    STAKE,
    STAKE_OF,
    STAKE_UNIT,
    reward_of,
    spend_of,
    stake_of,
)

DIGITS, SHOWN = 6, 1_000_000
"""Of an amount, after the point; and how many of the last make 1."""

REWARD_DIGITS, REWARD_SHOWN = 9, 1_000_000_000
"""The same of a sum of rewards from 0 to 1."""

_NAMES = {"day": DAILY, "block": BY_BLOCK}


def counted(ledger: Ledger, project: int, kind: str) -> list[tuple[int, dict[str, int]]]:
    """The counters of each day or block by name, in their order."""
    names = {kind: _NAMES[kind], REST_OF[kind]: REST, STAKE_OF[kind]: STAKE}
    every = [name for of_kind in names.values() for name in of_kind]
    found: dict[int, dict[str, int]] = {}
    for row in ledger.counters_of(project, list(names)):
        of_cell = found.setdefault(row.cell, dict.fromkeys(every, 0))
        of_cell[names[row.kind][row.place]] = row.amount
    return sorted(found.items())


class Amounts:
    """Turns what is counted of the cases of a problem into amounts of its currency."""

    def __init__(self, problem: Problem) -> None:
        self._is_money = problem.rewards is not None
        self._lowest = problem.lowest_reward.as_integer_ratio()
        self._value = problem.reward_value.as_integer_ratio()

    def spend(self, of: Mapping[str, int]) -> float:
        """The spend, in the currency."""
        return self._spend(of) / SHOWN

    def gain(self, of: Mapping[str, int]) -> float:
        """The earnings less the spend, both as they are shown."""
        return (self._worth(of) - self._spend(of)) / SHOWN

    def reward(self, of: Mapping[str, int]) -> float:
        """The sum of rewards, in the currency if they are money."""
        if self._is_money:
            return self._worth(of) / SHOWN
        return _rounded(reward_of(of) * REWARD_SHOWN, REWARD_PARTS) / REWARD_SHOWN

    @staticmethod
    def stake(of: Mapping[str, int]) -> float:
        """The sum of the stakes of the cases that have their reward."""
        return round(stake_of(of) * STAKE_UNIT, DIGITS)

    def _spend(self, of: Mapping[str, int]) -> int:
        return _rounded(spend_of(of) * SHOWN, SPEND_PARTS)

    def _worth(self, of: Mapping[str, int]) -> int:
        """The earnings n low + β Σr, computed with fractions."""
        (low, low_by), (value, value_by) = self._lowest, self._value
        low_parts = low * of["rewarded"] * value_by * REWARD_PARTS
        parts = low_parts + value * reward_of(of) * low_by
        return _rounded(parts * SHOWN, low_by * value_by * REWARD_PARTS)


def total(shown: Iterable[float], digits: int = DIGITS) -> float:
    """The sum of numbers with so many digits after the point."""
    return round(math.fsum(shown), digits)


def _rounded(amount: int, by: int) -> int:
    """The quotient, rounded to the nearest whole number."""
    return (2 * amount + by) // (2 * by)
