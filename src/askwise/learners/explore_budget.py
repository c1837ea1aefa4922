"""The limit on the loss by exploration: `explore_budget`, in the currency of the costs.

The loss so far is what the best action without observations would have earned, less what was
earned. That action is the best by the current estimate.
"""

from __future__ import annotations

from askwise.counting import UNIT, Statistics
from askwise.errors import OptionError
from askwise.problem.amounts import LARGEST_SUM
from askwise.problem.bins import is_number


def check_explore_budget(budget: object) -> float | None:
    """The budget as a float, None for no limit, or an error that names it."""
    if budget is None:
        return None
    if is_number(budget) and 0 <= budget <= LARGEST_SUM:  # type: ignore[operator]
        return float(budget)  # type: ignore[arg-type]
    raise OptionError(
        f"explore_budget must be a number from 0 to {LARGEST_SUM:,.0f}, or None for no limit, "
        f"got {budget!r}"
    )


def affordable_cases(statistics: Statistics, opened: int, blind_gain: float, budget: float) -> int:
    """How many cases can still lose the most, including all purchases, within the budget.

    `opened` cases were opened. For rewards that have not come the worst is assumed.
    """
    lattice = statistics.lattice
    acted = statistics.action_counts[: statistics.visited].sum(axis=1)
    rewarded = int(acted.sum())
    spent = float(lattice.costs_of(statistics.states) @ acted)
    spent += float(
        statistics.action_counts[: statistics.visited].sum(axis=0) @ lattice.action_costs
    )
    earned = lattice.problem.reward_value * float(statistics.reward_sums.sum()) * UNIT
    lost = rewarded * blind_gain - (earned - spent)
    worst = blind_gain + float(lattice.subset_costs.max() + lattice.action_costs.max())
    left = budget - lost - (opened - rewarded) * worst
    return max(0, int(left / worst)) if worst > 0 else 1 << 62
