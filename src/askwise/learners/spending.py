"""The control of a budget: the spend so far, and the allowed spend of the next round.

A learner within a budget b plans every round at prices of 1 + λ, where its cases spend the target
by its estimates (`policy/budgeted.py`). The estimates have errors. So the target of a round
corrects what n cases spent too little or too much, within the next n / `CORRECTED_WITHIN` cases:

    target = b + (n b − spent) / max(SHORTEST, n / CORRECTED_WITHIN) − what tries cost beside.

An error D of the sum becomes D (n / n')^CORRECTED_WITHIN after n' cases. So the error of the
average of n cases comes from the random variation of the last twentieth of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.learners.cases import Case
from askwise.policy import Policy
from askwise.policy.budgeted import Plan, best_within
from askwise.problem import Budget

CORRECTED_WITHIN = 20
SHORTEST = 20

UNITS = 2**20
"""The allowed spend of a case, in the units in which spend is counted."""

MOST_UNITS = 2**43
"""The most units of one case, so that the sum of all cases fits into a counter."""


class Spending:
    """The spend of cases within a budget."""

    def __init__(self, budget: Budget) -> None:
        self.per_case = budget.per_case
        self.tally: Integers = np.zeros(2, np.int64)
        """The spend, in 1 / `UNITS` of what a case may spend, and the number of cases."""
        self.shadow_price: Floats = np.zeros(1)
        """λ of the round."""
        self.trying: Floats = np.zeros(1)
        """The estimated spend of exploration a case, beside the plan."""

    def count(self, costs: Floats | float) -> None:
        """Counts the spend of cases."""
        self.count_more(costs)
        self.tally[1] += np.size(costs)

    def count_more(self, costs: Floats | float) -> None:
        """Counts more spend of cases that are counted already."""
        units = np.minimum(np.rint(np.asarray(costs) * (UNITS / self.per_case)), MOST_UNITS)
        self.tally[0] += int(units.sum())

    def best(self, plan: Plan, finish: Callable[[Policy], Policy], beta: float) -> Policy:
        """Returns the best policy that spends the target. Its λ is that of the round."""
        within = best_within(plan, self.target, beta)
        self.shadow_price[0] = within.shadow_price
        return within.mixed(finish)

    @property
    def target(self) -> float:
        """The target of the next round's plan, without exploration."""
        cases = self.tally.item(1)
        owed = cases - self.tally.item(0) / UNITS
        part = owed / max(SHORTEST, cases / CORRECTED_WITHIN)
        return max(0.0, self.per_case * (1.0 + part) - self.trying.item(0))

    @property
    def rate(self) -> float:
        """1 + λ, the factor on the prices with which the round is planned."""
        return 1.0 + self.shadow_price.item(0)


def spent_on_looks(case: Case) -> float:
    """The spend of a case on observations so far, without the cost of its action."""
    action = case.action_index
    acting = 0.0 if action < 0 else case.lattice.problem.actions[action].cost
    return case.cost - acting
