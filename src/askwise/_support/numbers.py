"""Formats numbers with three significant digits, in the same way everywhere.

A number is shown to within half a percent. An estimate and the ends of its interval are also shown
to within half a percent of the half width of the interval, so that a reader can compare them. An
estimate that is smaller than its error has the digits of the error, and no more.
Amounts are written out, with commas between thousands. Only very large amounts get powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

SIGNIFICANT = 3
MOST_PLACES = 12
ROUNDING = 1e-12
"""An interval that is narrower than this part of its value has no width but for rounding."""
LARGE = 1e15
"""Numbers from here on are written with powers of ten."""


def places(number: float, significant: int = SIGNIFICANT) -> int:
    """How many decimals give so many significant digits; 0 if digits before the point suffice."""
    if number == 0 or not math.isfinite(number):
        return 0
    return min(MOST_PLACES, max(0, significant - 1 - math.floor(math.log10(abs(number)))))


def fixed(number: float, decimals: int) -> str:
    """A number with so many decimals, and never −0."""
    if not math.isfinite(number) or abs(number) >= LARGE:
        return f"{number:.3g}"
    text = f"{number:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def shown(
    number: float, *, significant: int = SIGNIFICANT, decimals: int = 0, least: float = 0.0
) -> str:
    """A single number, with at least so many decimals; a number below `least` is 0.

    >>> [shown(x) for x in (0, 9, 4.5612, 0.031249, 10_234.4, 1_000_000.0, 1e-8)]
    ['0', '9', '4.56', '0.0312', '10,234', '1,000,000', '0.00000001']
    """
    number = 0.0 if abs(number) < least else number
    text = fixed(number, max(decimals, places(number, significant)))
    if "." in text and "e" not in text:  # trailing zeros
        whole, _, rest = text.partition(".")
        rest = rest[:decimals] + rest[decimals:].rstrip("0")
        text = f"{whole}.{rest}" if rest else whole
    return text


def together(numbers: Iterable[float], *, decimals: int = 0, least: float = 0.0) -> list[str]:
    """Numbers to be compared with each other, all with the same number of decimals.

    >>> together([96.345, 0.0712])
    ['96.3450', '0.0712']
    """
    all_of_them = [0.0 if abs(number) < least else number for number in numbers]
    needed = max([decimals, *map(places, all_of_them)])
    return [fixed(number, needed) for number in all_of_them]


def places_with_error(mean: float, error: float) -> int:
    """How many decimals an estimate gets: three digits of the larger, and one of the error."""
    return max(min(places(mean), places(error)), places(error, 1))


def with_error(mean: float, error: float, *, decimals: int = 0, least: float = 0.0) -> str:
    """A number with ± its error, if it has one; a positive error is never shown as 0.

    >>> [with_error(94.5123, error) for error in (0.6831, 0.0213, 0.0)]
    ['94.5 ± 0.7', '94.51 ± 0.02', '94.5']
    >>> with_error(-0.2531, 49.826)
    '-0.3 ± 49.8'
    """
    if not error > least:
        return shown(mean, decimals=decimals, least=least)
    mean = 0.0 if abs(mean) < least else mean
    needed = max(decimals, places_with_error(mean, error))
    return f"{fixed(mean, needed)} ± {fixed(error, needed)}"


def interval(value: float, low: float, high: float) -> str:
    """An estimate with its interval.

    >>> interval(9987.312, 9985.1, 9989.5)
    '9,987.31 (9,985.10 to 9,989.50)'
    >>> interval(4.4, 4.4 - 1e-15, 4.4)
    '4.40 (4.40 to 4.40)'
    """
    half = (high - low) / 2
    half = 0.0 if abs(half) < ROUNDING * abs(value) else half
    needed = places(half or value)
    value_text, *ends = (fixed(number, needed) for number in (value, low, high))
    return f"{value_text} ({ends[0]} to {ends[1]})"


def remedy_for(number: object) -> str:
    """The end of a message about a number that was given as a text or a Decimal; else ""."""
    if isinstance(number, Decimal):
        return f": write it as a float, float({str(number)!r})"
    if not isinstance(number, str):
        return ""
    return ": write a number without quotes, with a point for decimals, such as 2.5"


def as_price(amount: float) -> str:
    """A price as it was given if that is short; otherwise formatted like any other number.

    >>> [as_price(x) for x in (9.0, 0.05, 86.35, 1_250.5, 0.333333333)]
    ['9', '0.05', '86.35', '1,250.5', '0.333']
    """
    as_given = shown(amount, significant=6)
    is_exact = float(as_given.replace(",", "")) == amount
    return as_given if is_exact else shown(amount)
