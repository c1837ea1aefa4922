"""The kinds of cases that a learner with a budget has had: how many, with which stakes and prices.

A budget is for all cases together. So the shadow price must be that at which the cases as they come
spend it, with their own stakes and prices. Cases are counted by kind. All cases with a stake of 1
at the usual prices are one kind. The others are grouped by what they may spend: by the power of
four of their stake, divided by how much their prices are higher than the usual ones. A kind is
planned for with the geometric mean of its stakes, and with the mean of its prices.

The cases of a log have the usual prices, so their stakes alone tell their kinds (`kinds_of`).

The counts are whole numbers, which can be added, so they can be merged, forgotten and kept in a
ledger.
"""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.problem.amounts import LEAST_AMOUNT
from askwise.states import Lattice

POWERS = 8
"""Stakes are distinguished from 4⁻⁸ to 4⁸ times the usual ones."""

UNITS = 2**20
"""Logarithms of stakes and prices are counted in 1 / `UNITS`, prices relative to the budget."""

MOST_UNITS = 2**43
"""The most units of one price, so that the sum of all cases fits into a counter."""

KINDS = 2 + 2 * POWERS
"""The rows: the usual cases, and the powers of four."""

COUNT, STAKE, PRICES = 0, 1, 2
"""The columns: the cases, the sum of log₂ of their stakes, and the sums of prices."""


class CaseKinds:
    """Counts of cases by kind. The first row is that of the usual cases."""

    def __init__(self, lattice: Lattice, unit: float) -> None:
        self.names = tuple(o.name for o in lattice.observations[: lattice.buyable])
        self.unit = unit
        self.tally: Integers = np.zeros((KINDS, PRICES + len(self.names)), np.int64)

    def count_usual(self, cases: int) -> None:
        """Counts cases with a stake of 1 at the usual prices."""
        self.tally[0, COUNT] += cases

    def count_log(self, usual: Lattice, stakes: Integers) -> None:
        """Counts the cases of a log, whose stakes are counted by kind, at the usual prices."""
        counts, prices = stakes[:, COUNT], self._units_of(costs_of(usual))
        self.tally[:, :PRICES] += stakes
        self.tally[1:, PRICES:] += np.outer(counts[1:], prices)

    def count(self, usual: Lattice, lattice: Lattice, stake: float) -> None:
        """Counts a case with this stake at the prices of a lattice."""
        prices = None if lattice is usual else costs_of(lattice)
        if prices is None or prices == costs_of(usual):
            if stake == 1.0:
                self.count_usual(1)
                return
            prices = costs_of(usual)
        most, scale = sum(costs_of(usual)), math.log2(stake)
        if most > 0:
            scale += math.log2(most / max(sum(prices), most * 4.0**-POWERS))
        row = self.tally[1 + _power(scale)]
        row[COUNT] += 1
        row[STAKE] += round(math.log2(stake) * UNITS)
        row[PRICES:] += self._units_of(prices)

    def shares(self, usual: Lattice) -> list[tuple[float, Lattice]]:
        """Returns the share of the cases of each kind with its states, stakes and prices.

        The usual cases come first, even if there are none.
        """
        cases = self.tally[:, COUNT]
        if not cases[1:].any():
            return [(1.0, usual)]
        part: Floats = cases / cases.sum()
        found = [(float(part[0]), usual)]
        for k in np.flatnonzero(cases[1:]).tolist():
            _, stake, *prices = (self.tally[1 + k] / cases[1 + k]).tolist()
            own = self._own(prices, usual)
            lattice = usual.priced(own) if own else usual
            found.append((float(part[1 + k]), lattice.at_stake(2.0 ** (stake / UNITS))))
        return found

    def _units_of(self, prices: tuple[float, ...]) -> list[int]:
        return [min(round(c / self.unit * UNITS), MOST_UNITS) for c in prices]

    def _own(self, prices: list[float], usual: Lattice) -> dict[str, float]:
        """Returns the prices, by name, that are not the usual ones in the units of the counts."""
        known = {o.name: o.cost for o in usual.observations}
        told = zip(self.names, prices, strict=True)
        own = {name: c / UNITS * self.unit for name, c in told if name in known}
        return {
            name: c if c >= LEAST_AMOUNT else 0.0
            for name, c in own.items()
            if abs(c - known[name]) > self.unit / UNITS
        }


def kinds_of(stakes: Floats) -> Integers:
    """Returns the cases of each kind, and the sums of log₂ of their stakes, at the usual prices.

    >>> kinds_of(np.array([1.0, 3.0, 1.0]))[:, COUNT].nonzero()[0].tolist()
    [0, 9]
    """
    found = np.zeros((KINDS, PRICES), np.int64)
    distinct, counts = np.unique(stakes, return_counts=True)
    for stake, cases in zip(distinct.tolist(), counts.tolist(), strict=True):
        scale = math.log2(stake)
        row = found[0 if stake == 1.0 else 1 + _power(scale)]
        row += [cases, cases * round(scale * UNITS)]
    return found


def _power(scale: float) -> int:
    """The place of a case among the kinds, by log₂ of its stake relative to its prices."""
    return min(max(math.floor(scale / 2) + POWERS, 0), 2 * POWERS)


def costs_of(lattice: Lattice) -> tuple[float, ...]:
    """The prices of the buyable observations."""
    return tuple(o.cost for o in lattice.observations[: lattice.buyable])
