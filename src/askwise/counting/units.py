"""The units in which rewards and prices are counted, and how many of them fit into a counter."""

from __future__ import annotations

import numbers

import numpy as np

from askwise.errors import CaseError
from askwise.problem.amounts import LARGEST_SUM

PAID_UNIT = 2.0**-20
"""The resolution of a price that was paid."""

MOST_PAID = LARGEST_SUM
"""The most units of paid prices, so that their sum fits into 63 bits."""

UNIT = 2.0**-30
"""The resolution of a reward."""


def units_of(reward: float) -> tuple[int, int]:
    """Returns a reward and its r(1 − r) in units: its contribution to Σr, and how far it is from 0
    and 1.

    The second is r less r², each rounded, so that Σr less it is Σr² to the bit and none is
    negative.
    """
    units = round(reward / UNIT)
    if reward in (0.0, 1.0):
        return units, 0
    return units, units - round(reward * reward / UNIT)


MOST_CASES = 2**33 - 1
"""This many rewards of 1 fit into 63 bits; no counter can exceed the number of cases."""


def check_reward(reward: object) -> float:
    """Returns the reward as a float in [0, 1], or raises an error that names it."""
    if type(reward) is float and 0.0 <= reward <= 1.0:  # the usual case, fast
        return reward
    if isinstance(reward, numbers.Real) and not isinstance(reward, bool):
        number = float(reward)
        if 0.0 <= number <= 1.0:  # NaN is not
            return number
    hint = "; write 1.0 or 0.0" if isinstance(reward, bool | np.bool_) else ""
    raise CaseError(f"reward must be a number from 0 to 1, got {reward!r}{hint}")
