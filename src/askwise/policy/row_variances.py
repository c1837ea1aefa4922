"""The variance of the gain of a row if rows have their own stakes, and what such rows are worth.

A row of the stake u gains X = u A + B: A is what it earns per unit of stake, and B is less its
spend. A few rows with large stakes make up most of the variance of X. As long as no rare loss has
come among these few, the variance of the rows is far too low. But all rows show how A varies, and
all stakes are known. If A and B do not depend on the stake,

    Var X = Var(ū A + B) + Var(u) E[A²],    where ū is the mean stake:

the variance if every row had the mean stake, and what the differences between stakes add. Where
losses are more frequent at large stakes this is too low, and the variance of the rows is larger.
So the larger of the two is used.

The rows are worth (Σ w u)² / Σ (w u)² rows of equal stake, where w is the weight of a row. Below
`LEAST_EFFECTIVE` there are no intervals: these few rows do not even show how often losses come.
"""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Floats

LEAST_EFFECTIVE = 30
"""With fewer effective rows there is no interval."""
ROUNDING = 1e-9


def effective_rows(weights: Floats, rows: Floats | None = None) -> float:
    """(Σ w)² / Σ w², over lines that each stand for a number of rows, or for one."""
    rows = np.ones(len(weights)) if rows is None else rows
    total = float(rows @ weights**2)
    return float(rows @ weights) ** 2 / total if total > 0 else 0.0


def is_enough(effective: float) -> bool:
    """Whether these rows are worth enough for an interval; 30 rows of one stake are."""
    return effective >= LEAST_EFFECTIVE * (1 - ROUNDING)


def larger_variance(found: float, at_mean_stake: float, of_stakes: float, square: float) -> float:
    """The variance of the rows, or Var(ū A + B) + Var(u) E[A²] if that is larger."""
    return max(found, at_mean_stake + of_stakes * square)


def spread_of(each: Floats) -> float:
    """The standard deviation of a row; NaN of a single one."""
    return float(np.std(each, ddof=1)) if len(each) > 1 else math.nan


def spread_of_gains(parts: Floats, stakes: Floats) -> float:
    """The standard deviation of the gain of a row, from u A and B of each row, in two lines."""
    earned, rest = parts
    plain = spread_of(earned + rest)
    if (stakes == stakes[0]).all():
        return plain
    each = earned / stakes
    at_mean = spread_of(stakes.mean() * each + rest) ** 2
    square = float((each**2).mean())
    return math.sqrt(larger_variance(plain**2, at_mean, spread_of(stakes) ** 2, square))
