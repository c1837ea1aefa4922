"""Represents numbers, days and moments as numbers, and finds round values between two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from askwise.problem.bins import Edge

DAY = 86_400_000_000
"""A day in microseconds. The smaller units are an hour, a minute, a second, and one."""
UNITS = (3_600_000_000, 60_000_000, 1_000_000, 1)

Points = npt.NDArray[Any]
"""Numbers of 64 bits, whole or not."""

Gap = tuple[Any, Any]
"""A value and the next one above it. An edge between them is above the first and at most the
second.
"""


class Scale(Protocol):
    """A kind of values: numbers, days or moments."""

    def read(self, values: Sequence[Any]) -> Points:
        """Returns numbers in the same order as the values."""
        ...

    def edges(self, gaps: Sequence[Gap]) -> list[Edge]:
        """Returns the roundest value in each gap."""
        ...


def scale_of(values: Sequence[Edge]) -> Scale:
    """Returns the scale of values that are all of one kind."""
    first = values[0] if values else 0
    if isinstance(first, datetime):
        return Moments(first.tzinfo)
    return Days() if isinstance(first, date) else Numbers()


class Numbers:
    """Numbers, used as they are."""

    def read(self, values: Sequence[Any]) -> Points:
        """Numbers in the same order."""
        return np.array(values, np.float64)

    def edges(self, gaps: Sequence[Gap]) -> list[Edge]:
        """The shortest decimals between two neighbours."""
        return [shortest(low, high) for low, high in gaps]


class Days:
    """Days, counted from the first day of the calendar."""

    def read(self, values: Sequence[Any]) -> Points:
        """Numbers in the same order."""
        return np.array([value.toordinal() for value in values], np.int64)

    def edges(self, gaps: Sequence[Gap]) -> list[Edge]:
        """The first of a year, of a month, or any day."""
        return [first_of(date.fromordinal(low), date.fromordinal(high)) for low, high in gaps]


class Moments:
    """Moments in microseconds, in the time zone of the first one."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone

    def read(self, values: Sequence[Any]) -> Points:
        """Numbers in the same order."""
        start, step = datetime.min.replace(tzinfo=self._zone), timedelta(microseconds=1)
        return np.array([(value - start) // step for value in values], np.int64)

    def edges(self, gaps: Sequence[Gap]) -> list[Edge]:
        """The first of a year or month, a day, an hour, …; days, if nothing needs the time."""
        found = [self._between(low, high) for low, high in gaps]
        if self._zone is None and all(moment.time() == time() for moment in found):
            return [moment.date() for moment in found]
        return [moment.replace(tzinfo=self._zone) for moment in found]

    def _between(self, low: int, high: int) -> datetime:
        if low // DAY < high // DAY:
            days = (date.fromordinal(moment // DAY + 1) for moment in (low, high))
            return datetime.combine(first_of(*days), time())
        unit = next(unit for unit in UNITS if low // unit < high // unit)
        return datetime.min + timedelta(microseconds=_middle(low, high, unit) * unit)


def shortest(low: float, high: float) -> int | float:
    """The shortest decimal above `low` and up to `high`; of several, one that ends in 5, and then
    the one nearest the middle.

    >>> shortest(35, 42), shortest(42, 47), shortest(0.123, 0.168), shortest(12_345, 98_765)
    (40, 45, 0.15, 50000)
    """
    if low < 0 <= high:
        return 0
    below, above = Fraction(repr(low)), Fraction(repr(high))  # as people read them
    power = math.ceil(math.log10(max(abs(low), abs(high))))
    for digits in range(18):  # so many digits distinguish any two floats
        whole = Fraction(10) ** (power - digits)
        for step in (whole, whole / 2):
            if below // step < above // step:
                edge = float(_middle(below, above, step) * step)
                if low < edge <= high:  # still so, as a float
                    return int(edge) if edge.is_integer() and abs(edge) < 2**53 else edge
    return high


def first_of(low: date, high: date) -> date:
    """The first of a year or of a month after `low`, up to `high`; or else a day between them.

    >>> print(first_of(date(2019, 5, 7), date(2020, 3, 1)))
    2020-01-01
    """
    if low.year < high.year:
        return date(_middle(low.year, high.year, 1), 1, 1)
    if low.month < high.month:
        return date(low.year, _middle(low.month, high.month, 1), 1)
    return date.fromordinal(_middle(low.toordinal(), high.toordinal(), 1))


def _middle(low: Any, high: Any, step: Any) -> int:
    """The multiple of `step` above `low` and up to `high` that is nearest to their middle."""
    middle = round(Fraction(low + high) / 2 / step)
    return int(min(max(middle, low // step + 1), high // step))
