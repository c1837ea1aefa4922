"""How large an amount of money may be: a cost, a fee, a price that was paid, a reward value.

Sums of what cases spent are whole numbers of 2⁻²⁰ in 64 bits, so that they are exact in any order
of arrival. A billion is less than 2³⁰, that is 2⁵⁰ of these units: one amount is exact as a float
too, whose whole numbers end at 2⁵³, and so is what a case spends on up to eight such amounts. With
the reward value between 10⁻⁹ and 10⁹ no quotient of an amount and a reward value, and no sum of
them over all cases that can be counted, leaves what a float holds.
"""

from __future__ import annotations

from askwise._support.numbers import remedy_for
from askwise.errors import CaseError, ProblemError
from askwise.problem.bins import is_number

LARGEST_AMOUNT = 1e9
"""Of a cost, a fee, a price that was paid, and of the reward value."""

LEAST_REWARD_VALUE = 1e-9

LARGEST_SUM = 2.0**40
"""Of all that was paid for one observation, as far as it was told, and of a budget."""


def check_amount(amount: object, what: str, error: type[Exception] = ProblemError) -> float:
    """The amount as a float from 0 to the largest one, or an error that names it."""
    if not is_number(amount) or not amount >= 0:  # type: ignore[operator]
        raise error(
            f"{what} must be a finite number of at least 0, got {amount!r}{remedy_for(amount)}"
        )
    if amount > LARGEST_AMOUNT:  # type: ignore[operator]
        raise error(f"{what} must be at most {LARGEST_AMOUNT:,.0f}, got {amount!r}: {REMEDY}")
    return float(amount) + 0.0  # type: ignore[arg-type]  # so that −0.0 is 0.0


def check_reward_value(value: object) -> float:
    """β as a float within its limits, or an error that names it."""
    what = "reward_value"
    if not is_number(value) or not value > 0:  # type: ignore[operator]
        raise ProblemError(
            f"{what} must be a finite number above 0, got {value!r}{remedy_for(value)}"
        )
    if not LEAST_REWARD_VALUE <= value <= LARGEST_AMOUNT:  # type: ignore[operator]
        raise ProblemError(
            f"{what} must be from {LEAST_REWARD_VALUE:g} to {LARGEST_AMOUNT:,.0f}, "
            f"got {value!r}: {REMEDY}"
        )
    return float(value)  # type: ignore[arg-type]


def check_stake(stake: object, reward_value: float) -> float:
    """The stake of a case as a float, such that β times it is a reward value, or an error."""
    if not is_number(stake) or not stake > 0:  # type: ignore[operator]
        raise CaseError(f"stake must be a finite number above 0, got {stake!r}{remedy_for(stake)}")
    if not LEAST_REWARD_VALUE <= reward_value * float(stake) <= LARGEST_AMOUNT:  # type: ignore[arg-type]
        raise CaseError(
            f"stake must be from {LEAST_REWARD_VALUE / reward_value:g} to "
            f"{LARGEST_AMOUNT / reward_value:,.10g}, so that it times the reward value of "
            f"{reward_value:g} is at most {LARGEST_AMOUNT:,.0f}, got {stake!r}: {REMEDY}"
        )
    return float(stake)  # type: ignore[arg-type]


REMEDY = (
    "write all costs, fees and the reward value in another unit of the currency, such as thousands"
)
