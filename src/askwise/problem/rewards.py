"""Converts between rewards as they are reported and as they are counted.

A problem may declare the lowest and the highest amount that an action can earn. A reward x is then
money, and it is counted as its share of that range,

    r = (x − low) / β,     β = high − low,     so that   low + β r = x.

Without a range a reward is r itself, from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from askwise._support.numbers import as_price, remedy_for
from askwise._support.typing import Floats
from askwise.errors import CaseError, ProblemError
from askwise.problem.amounts import LARGEST_AMOUNT, REMEDY
from askwise.problem.bins import is_number

Range = tuple[float, float]
"""The lowest and the highest reward, in the currency of the costs."""

DIGITS = 12
"""The digits of a reward that is returned, relative to β: finer than the counters, coarser than
rounding errors.
"""


ROUNDING = 1e-9
"""A reward beyond its range by less than this part of it was rounded, as total / stake may be. It
counts as the end of the range; counters are about as fine.
"""


def check_range(rewards: object) -> Range:
    """Returns the lowest and the highest reward as floats, or raises an error."""
    ends = list(rewards) if isinstance(rewards, Iterable) and not isinstance(rewards, str) else []
    if len(ends) != 2 or not all(map(is_number, ends)) or not ends[0] < ends[1]:
        hint = next((remedy_for(end) for end in ends if isinstance(end, str)), "")
        raise ProblemError(
            "rewards must be two numbers, the lowest and the highest that an action can earn, the "
            f"first below the second, such as (-500, 30), got {rewards!r}{hint}"
        )
    if max(map(abs, ends)) > LARGEST_AMOUNT:
        raise ProblemError(
            f"rewards must be from {-LARGEST_AMOUNT:,.0f} to {LARGEST_AMOUNT:,.0f}, "
            f"got {rewards!r}: {REMEDY}"
        )
    low, high = (float(end) + 0.0 for end in ends)  # so that −0.0 is 0.0
    return low, high


def share_of(reward: object, within: Range | None) -> float:
    """Returns r of a reported reward, or raises an error that names the range and the remedy."""
    low, high = (0.0, 1.0) if within is None else within
    if type(reward) is float and low <= reward <= high:  # the usual case, fast
        return reward if within is None else (reward - low) / (high - low)
    if is_number(reward):
        number = unrounded(float(reward), within)  # type: ignore[arg-type]
        if low <= number <= high:
            return number if within is None else (number - low) / (high - low)
    if isinstance(reward, bool | np.bool_):
        hint = "; write 1.0 or 0.0" if within is None else "; write it as a number"
    elif is_number(reward):
        hint = f"; {remedy(within)}"
    else:  # wider rewards would not help
        hint = remedy_for(reward)
    raise CaseError(f"reward must be a number {range_words(within)}, got {reward!r}{hint}")


def unrounded(reward: float, within: Range | None) -> float:
    """Returns the nearest end of the range for a reward that is beyond it by rounding; else itself.

    >>> unrounded(6.000000000000001, (-50.0, 6.0)), unrounded(6.01, (-50.0, 6.0))
    (6.0, 6.01)
    """
    low, high = (0.0, 1.0) if within is None else within
    nearest = min(high, max(low, reward))
    return nearest if abs(reward - nearest) <= ROUNDING * (high - low) else reward


def shares_of(rewards: Floats, within: Range | None) -> Floats:
    """Returns r of many rewards that are known to be within the range."""
    if within is None:
        return rewards
    low, high = within
    shares: Floats = (rewards - low) / (high - low)
    return shares


def money_of(share: float, within: Range | None) -> float:
    """Returns a counted reward in the reported unit, to as many digits as were counted."""
    if within is None:
        return share
    low, high = within
    if share in (0.0, 1.0):
        return within[int(share)]
    places = DIGITS - math.ceil(math.log10(high - low))
    return min(high, max(low, round(low + (high - low) * share, places)))


def all_money_of(shares: Floats, within: Range | None) -> Floats:
    """Returns many counted rewards in the reported unit."""
    if within is None:
        return shares
    low, high = within
    # just so at both ends
    return np.clip(low * (1.0 - shares) + high * shares, low, high)


def range_words(within: Range | None) -> str:
    """Says in words between which limits a reward lies, for an error message.

    >>> range_words((-500.0, 30.0))
    'from -500 to 30'
    """
    return (
        "from 0 to 1" if within is None else f"from {as_price(within[0])} to {as_price(within[1])}"
    )


def remedy_of_cell(cell: object, within: Range | None) -> str:
    """Says what to do about a cell of a table that is no such reward.

    >>> remedy_of_cell("50,00", (-500.0, 30.0))
    'write a number, with a point for decimals, such as 2.5'
    """
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        if isinstance(cell, str) and cell.strip():
            return "write a number, with a point for decimals, such as 2.5"
        number = math.nan
    return remedy(within) if math.isfinite(number) else "write a number, or leave such rows out"


def remedy(within: Range | None) -> str:
    """Says what to declare so that other rewards are accepted, for the end of an error message."""
    if within is None:
        return "declare rewards (low, high) in the problem to tell money"
    return "declare wider rewards in the problem if such can be earned"
