"""Exact counters of what was observed and earned, which can be merged and subtracted."""

from askwise.counting.row_counters import BY_ROW, MOST_STATES, SPARSE_FROM
from askwise.counting.statistics import Statistics
from askwise.counting.units import MOST_CASES, MOST_PAID, PAID_UNIT, UNIT, check_reward, units_of

__all__ = [
    "BY_ROW",
    "MOST_CASES",
    "MOST_PAID",
    "MOST_STATES",
    "PAID_UNIT",
    "SPARSE_FROM",
    "UNIT",
    "Statistics",
    "check_reward",
    "units_of",
]
