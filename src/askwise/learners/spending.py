"""A budget while it runs: what was spent, and what the cases of the next round may spend.

A learner within a budget b plans every round at prices of 1 + λ, λ such that by what is believed
its cases spend what they may (`policy/budgeted.py`). What is believed is not what comes: so the
target of a round is b, and what n cases spent too little or too much so far, made good within the
next n / `CORRECTED_WITHIN` of them:

    target = b + (n b − spent) / max(SHORTEST, n / CORRECTED_WITHIN) − what tries cost beside.

A sum that is off by D is off by D (n / n')^CORRECTED_WITHIN after n' cases: what the average of n
cases is off by is what luck adds in the last twentieth of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.policy import Policy
from askwise.policy.budgeted import Plan, best_within
from askwise.problem import Budget

CORRECTED_WITHIN = 20
SHORTEST = 20

UNITS = 2**20
"""What a case may spend, as a number of the units in which is counted what it did."""

MOST_UNITS = 2**43
"""Of one case, so that the sum of all cases that can be counted fits into a counter."""


class Spending:
    """What cases spent within a budget."""

    def __init__(self, budget: Budget) -> None:
        self.per_case = budget.per_case
        self.tally: Integers = np.zeros(2, np.int64)
        """What was spent, in 1 / `UNITS` of what a case may spend, and by how many cases."""
        self.shadow_price: Floats = np.zeros(1)
        """λ of the round."""
        self.trying: Floats = np.zeros(1)
        """What the tries of the round cost a case beside its plan, by what is believed."""

    def count(self, costs: Floats | float) -> None:
        """Cases spent so much."""
        units = np.minimum(np.rint(np.asarray(costs) * (UNITS / self.per_case)), MOST_UNITS)
        self.tally[0] += int(units.sum())
        self.tally[1] += units.size

    def best(self, plan: Plan, finish: Callable[[Policy], Policy], beta: float) -> Policy:
        """The best that spends what a case of the next round may; its λ is that of the round."""
        within = best_within(plan, self.target, beta)
        self.shadow_price[0] = within.shadow_price
        return within.mixed(finish)

    @property
    def target(self) -> float:
        """What the plan of the next round may spend on a case; its tries come on top."""
        cases = self.tally.item(1)
        owed = cases - self.tally.item(0) / UNITS
        part = owed / max(SHORTEST, cases / CORRECTED_WITHIN)
        return max(0.0, self.per_case * (1.0 + part) - self.trying.item(0))

    @property
    def rate(self) -> float:
        """1 + λ: so many times as high are the prices that the round is planned with."""
        return 1.0 + self.shadow_price.item(0)
