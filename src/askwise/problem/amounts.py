"""Limits for amounts of money: costs, fees, prices that were paid, and the reward value.

Sums of what cases spent are whole numbers of 2⁻²⁰ in 64 bits, so they are exact in any order of
arrival. A price below a millionth cannot be distinguished from 0. A billion is less than 2³⁰, which
is 2⁵⁰ of these units. One amount is thus exact as a float, whose whole numbers end at 2⁵³, and so
is the sum of up to eight such amounts in a case. With a reward value between 10⁻⁹ and 10⁹, no
quotient of an amount and a reward value overflows a float. Neither does a sum of them over all
cases that can be counted.
"""

from __future__ import annotations

from askwise._support.numbers import remedy_for
from askwise.errors import CaseError, ProblemError
from askwise.problem.bins import is_number

LARGEST_AMOUNT = 1e9
"""The largest cost, fee, price paid and reward value."""

LEAST_AMOUNT = 1e-6
"""The least cost, fee and price that is not 0. A smaller one would be counted as nothing, or as
twice as much."""

LEAST_REWARD_VALUE = 1e-9

LARGEST_SUM = 2.0**40
"""The largest sum of reported prices of one observation, and the largest budget."""


def check_amount(amount: object, what: str, error: type[Exception] = ProblemError) -> float:
    """Returns the amount as a float, 0 or within the limits, or raises an error that names it."""
    if not is_number(amount) or not amount >= 0:  # type: ignore[operator]
        raise error(
            f"{what} must be a finite number of at least 0, got {amount!r}{remedy_for(amount)}"
        )
    if amount > LARGEST_AMOUNT:  # type: ignore[operator]
        raise error(f"{what} must be at most {LARGEST_AMOUNT:,.0f}, got {amount!r}: {REMEDY}")
    if 0 < amount < LEAST_AMOUNT:  # type: ignore[operator]
        raise error(
            f"{what} must be 0 or at least {LEAST_AMOUNT:.6f}, got {amount!r}: what is spent is "
            "counted in millionths; write all costs, fees and the reward value in a smaller unit "
            "of the currency, such as thousandths"
        )
    return float(amount) + 0.0  # type: ignore[arg-type]  # so that −0.0 is 0.0


def check_reward_value(value: object) -> float:
    """Returns β as a float within its limits, or raises an error that names it."""
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
    """Returns the stake as a float such that β times it is a valid reward value, or raises an
    error.
    """
    if not is_number(stake) or not stake > 0:  # type: ignore[operator]
        raise CaseError(f"stake must be a finite number above 0, got {stake!r}{remedy_for(stake)}")
    if not LEAST_REWARD_VALUE <= reward_value * float(stake) <= LARGEST_AMOUNT:  # type: ignore[arg-type]
        raise CaseError(
            f"stake must be from {LEAST_REWARD_VALUE / reward_value:g} to "
            f"{LARGEST_AMOUNT / reward_value:,.10g}, so that it times the reward value of "
            f"{reward_value:g} is at most {LARGEST_AMOUNT:,.0f}, got {stake!r}: rewards are per "
            f"unit of stake; if they are totals, divide them by the stake, and if not, {REMEDY}"
        )
    return float(stake)  # type: ignore[arg-type]


REMEDY = (
    "write all costs, fees and the reward value in another unit of the currency, such as thousands"
)
