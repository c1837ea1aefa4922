"""The control of a budget: the spend so far, and the allowed spend of the next round.

A learner within a budget b plans every round at prices of 1 + λ, where its cases spend the target
by its estimates (`policy/budgeted.py`). The estimates have errors. So the target of a round
corrects what n cases spent too little or too much, within the next n / `CORRECTED_WITHIN` cases:

    target = b + (n b − spent) / max(SHORTEST, n / CORRECTED_WITHIN) − e − d,

where e is the estimated spend of exploration, and d is the measured one of everything else that is
not in the plan: people who look on or stop early, values on file, errors of the estimates. It is
the mean of what cases spent more than planned, over about the last `MEASURED_OVER`-th of them.

An error D of the sum becomes D (n / n')^CORRECTED_WITHIN after n' cases. So the error of the
average of n cases comes from the random variation of the last twentieth of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.learners.case_kinds import CaseKinds
from askwise.learners.cases import Case
from askwise.policy import Policy
from askwise.policy.budgeted import BESIDE, Plan, Within, best_within
from askwise.problem import Budget
from askwise.states import Lattice

CORRECTED_WITHIN = 20
MEASURED_OVER = 5
SHORTEST = 20

UNITS = 2**20
"""The allowed spend of a case, in the units in which spend is counted."""

MOST_UNITS = 2**43
"""The most units of one case, so that the sum of all cases fits into a counter."""


class Spending:
    """The spend of cases within a budget."""

    def __init__(self, budget: Budget, lattice: Lattice) -> None:
        self.per_case = budget.per_case
        self.kinds = CaseKinds(lattice, budget.per_case)
        """The cases by their stakes and prices."""
        self.tally: Integers = np.zeros(2, np.int64)
        """The spend, in 1 / `UNITS` of what a case may spend, and the number of cases."""
        self.shadow_price: Floats = np.zeros(1)
        """λ of the round."""
        self.mixture: Floats = np.array([0.0, 0.0, 1.0])
        """The λ at which the more expensive plan and the cheaper one were found, which are mixed,
        and the share of the cases that follow the more expensive one."""
        self.trying: Floats = np.zeros(1)
        """The estimated spend of exploration a case, beside the plan."""
        self.control: Floats = np.array([0.0, 0.0, -1.0, 0.0])
        """The planned spend a case of the round, the sum of what was spent before it in units of
        the budget, the number of cases before it (−1: unknown), and d."""

    def count(self, costs: Floats | float) -> None:
        """Counts the spend of cases."""
        self.count_more(costs)
        self.tally[1] += np.size(costs)

    def count_more(self, costs: Floats | float) -> None:
        """Counts more spend of cases that are counted already."""
        units = np.minimum(np.rint(np.asarray(costs) * (UNITS / self.per_case)), MOST_UNITS)
        self.tally[0] += int(units.sum())

    def measure(self) -> None:
        """Compares the spend of the cases of a round with its plan, before the next one."""
        planned, spent, cases, more = self.control.tolist()
        now, new = self.tally.item(0) / UNITS, self.tally.item(1) - cases
        if cases >= 0 and new > 0:
            found = self.per_case * (now - spent) / new - planned - self.trying.item(0)
            weight = min(1.0, new / max(MEASURED_OVER * SHORTEST, self.tally[1] / MEASURED_OVER))
            more += weight * (found - more)
        self.control[:] = planned, now, self.tally[1], more

    def best(self, plan: Plan, finish: Callable[[Policy], Policy], beta: float) -> Policy:
        """Returns the best policy that spends the target. Its λ is that of the round."""
        dear, cheap, share = self.mixture.tolist()
        near = (dear, cheap) if 0.0 < share < 1.0 else None
        within = best_within(plan, self.target, beta, near)
        self.follow(within)
        return within.mixed(finish)

    def follow(self, within: Within) -> None:
        """Plans cases with their own stake or prices at the shadow price of this policy."""
        self.shadow_price[0] = within.shadow_price
        self.mixture[:] = within.dear.price, within.cheap.price, within.share
        self.control[0] = within.spend

    def planned(self, plan: Callable[[float], Policy]) -> Policy:
        """Returns the policy of a case with its own stake or prices, mixed like that of the round.

        `plan` returns the best one at prices that are that many times as high.
        """
        share, rate = self.mixture.item(2), 1.0 + self.shadow_price.item(0)
        if share == 1.0:  # it is within the budget
            return plan(rate)
        cheap = plan(rate * (1.0 + BESIDE))
        return cheap if share == 0.0 else plan(rate * (1.0 - BESIDE)).mixed(cheap, 1.0 - share)

    @property
    def target(self) -> float:
        """The target of the next round's plan, without exploration."""
        cases = self.tally.item(1)
        owed = cases - self.tally.item(0) / UNITS
        part = owed / max(SHORTEST, cases / CORRECTED_WITHIN)
        beside = self.trying.item(0) + self.control.item(3)
        return max(0.0, self.per_case * (1.0 + part) - beside)


def spent_on_looks(case: Case) -> float:
    """The spend of a case on observations so far, without the cost of its action."""
    action = case.action_index
    acting = 0.0 if action < 0 else case.lattice.problem.actions[action].cost
    return case.cost - acting
