"""What was seen and earned, as exact counters that can be merged and taken back."""

from askwise.counting.statistics import (
    BY_ROW,
    MOST_CASES,
    MOST_PAID,
    MOST_STATES,
    PAID_UNIT,
    UNIT,
    Statistics,
    check_reward,
)

__all__ = [
    "BY_ROW",
    "MOST_CASES",
    "MOST_PAID",
    "MOST_STATES",
    "PAID_UNIT",
    "UNIT",
    "Statistics",
    "check_reward",
]
