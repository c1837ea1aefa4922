"""The units in which rewards and prices are counted, and how many of them fit into a counter."""

from __future__ import annotations

import numbers

import numpy as np

from askwise.errors import CaseError
from askwise.problem.amounts import LARGEST_SUM

PAID_UNIT = 2.0**-20
"""The resolution of a price that was paid."""

MOST_PAID = LARGEST_SUM
"""So that the sum of prices paid fits into 63 bits."""

UNIT = 2.0**-30
"""The resolution of a reward."""


def units_of(reward: float) -> tuple[int, int]:
    """A reward, and r(1 − r) of it, in units: what it adds to Σr, and how far it is from 0 and 1.

    The second is r less r², each rounded: so Σr less it is Σr² to the bit, and none is negative.
    """
    units = round(reward / UNIT)
    return units, units - round(reward * reward / UNIT)


MOST_CASES = 2**33 - 1
"""So many rewards of 1 still fit into 63 bits; no counter can exceed the number of cases."""


def check_reward(reward: object) -> float:
    """The reward as a float in [0, 1], or an error that names it."""
    if type(reward) is float and 0.0 <= reward <= 1.0:  # the usual case, fast
        return reward
    if isinstance(reward, numbers.Real) and not isinstance(reward, bool):
        number = float(reward)
        if 0.0 <= number <= 1.0:  # NaN is not
            return number
    hint = "; write 1.0 or 0.0" if isinstance(reward, bool | np.bool_) else ""
    raise CaseError(f"reward must be a number from 0 to 1, got {reward!r}{hint}")
