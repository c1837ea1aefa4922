r"""The gain of a policy on records from which it was not learned.

For every record it is known what the policy would have bought and earned. So the gain is a plain
mean with a normal interval. But rewards near 0 or 1 vary too little in a few rows. If a hundred
rows are all right, the interval would have no width. So z² rows are added for the interval, half
with the lowest and half with the highest reward, and with the mean spend (Agresti, Coull, 1998,
"Approximate is better than 'exact' for interval estimation of binomial proportions").

If cases have stakes, a row gains stake · (low + β r) − Σ c, and the added rows have the stakes of
the table. `row_variances.py` has the variance of such rows, and what they are worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from askwise._support.frames import framed
from askwise._support.numbers import interval, shown
from askwise._support.typing import Floats
from askwise.policy.row_variances import (
    LEAST_EFFECTIVE,
    effective_rows,
    is_enough,
    larger_variance,
)
from askwise.problem import Problem


class Estimate(NamedTuple):
    """A mean over cases, with an interval of the given confidence."""

    value: float
    """NaN if no row agrees, and there is no other estimate."""
    low: float
    """NaN if there are too few rows for an interval, and so is `high`."""
    high: float

    def raised(self, by: float) -> Estimate:
        """Returns the same estimate, raised by an amount."""
        return Estimate(*(by + number for number in self)) if by else self

    def within(self, least: float, most: float) -> Estimate:
        """Returns the same estimate, with an interval that stays within the possible range."""
        low = min(max(self.low, least), self.value)
        high = max(min(self.high, most), self.value)
        return self if math.isnan(self.low) else Estimate(self.value, low, high)

    def __str__(self) -> str:
        if not math.isnan(self.low):
            return interval(*self)
        value = "unknown" if math.isnan(self.value) else shown(self.value)
        return f"{value} (too few rows for an interval)"


class Outcomes(NamedTuple):
    """The results of records under a policy, with equal ones grouped."""

    rows: Floats
    """The number of records of each line."""
    reward: Floats
    """The sum of their rewards, each from 0 to 1."""
    squares: Floats
    """The sum of the squares of these rewards."""
    spend: Floats
    """What each of them spent."""
    looks: Floats
    """The number of observations that each bought."""
    stakes: Floats
    """How many times the reward of each of them counts."""


@dataclass(frozen=True)
class Score:
    """What a policy earns, spends and gains for each row of a table."""

    gain: Estimate
    reward: Estimate
    """From 0 to 1, or in the currency if the problem has `rewards`; then the stakes count. It is
    how often the policy is right if the table has a label."""
    spend: Estimate
    """The mean spend on observations and actions."""
    looks: float
    """The mean number of observations that are bought."""
    rows: int
    confidence: float
    stake: float = 1.0
    """The mean stake of the rows: how many times their rewards count."""
    has_own_stakes: bool = False
    """Whether a column of the table has the stake of each row. If not, all rows have the same."""
    effective_rows: float = math.nan
    """(Σ u)² / Σ u²: the number of rows with equal stakes u that have as much information."""
    warnings: tuple[str, ...] = ()
    """Why the figures may be off, if they may."""

    def frame(self, kind: str = "dict") -> Any:
        """A row for each figure: its name, the mean, and the interval, empty if there is none.

        The columns come in a "dict", or a "pandas", "polars" or "pyarrow" frame.
        """
        named = {"gain": self.gain, "reward": self.reward, "spend": self.spend}
        columns: dict[str, list[Any]] = {"figure": list(named)}
        for place, name in enumerate(("mean", "low", "high")):
            numbers = [estimate[place] for estimate in named.values()]
            columns[name] = [None if math.isnan(number) else number for number in numbers]
        return framed(columns, kind)

    def __str__(self) -> str:
        named = {"gain": self.gain, "reward": self.reward, "spend": self.spend}
        spend = shown(self.spend.value) if self._is_same_spend() else self.spend
        lines = [f"{name:<6} {shown_as}" for name, shown_as in (named | {"spend": spend}).items()]
        lines.append(f"looks  {shown(self.looks)}")
        lines.append(f"by {self.rows:,} row{'s' * (self.rows != 1)}{self._at()}")
        if is_enough(self.rows) and not is_enough(self.effective_rows):
            lines.append(
                f"a few rows with large stakes decide, worth {self.effective_rows:,.0f} rows; an "
                f"interval of the gain needs {LEAST_EFFECTIVE}: add rows with large stakes"
            )
        return "\n".join([*lines, *self.warnings])

    def _is_same_spend(self) -> bool:
        """Whether every row spends the same, but for rounding."""
        return math.isclose(self.spend.low, self.spend.high, rel_tol=1e-9)

    def _at(self) -> str:
        """The stake of the rows, unless it is 1 in all of them."""
        if self.has_own_stakes:
            return f" with their own stakes, {shown(self.stake)} on average"
        return "" if self.stake == 1.0 else f" with a stake of {shown(self.stake)}"


def score_of(
    problem: Problem, found: Outcomes, confidence: float, *, has_own_stakes: bool = False
) -> Score:
    """Returns the means, and their intervals; the problem is that of a stake of 1."""
    n = float(found.rows.sum())
    beta, low = problem.reward_value, problem.lowest_reward
    right, spend = float(found.reward.sum()) / n, float(found.rows @ found.spend) / n
    looks = float(found.rows @ found.looks) / n
    mean_stake = float(found.rows @ found.stakes) / n
    # all amounts are those above the lowest reward at the mean stake
    lowest, shift = low * mean_stake, low * (found.stakes - mean_stake)
    worth = beta * found.stakes  # what a reward of 1 is worth in each row
    earned = (float(found.rows @ shift) + float(worth @ found.reward)) / n
    effective = effective_rows(found.stakes, found.rows)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    more = z * z / (n + z * z)  # the added share of the rows

    def estimate(value: float, centre: float, variance: float, rows: float) -> Estimate:
        half = z * math.sqrt(max(variance, 0.0) / rows)
        return Estimate(value, centre - half, centre + half)

    def known(each: Estimate, rows: float) -> Estimate:
        return each if is_enough(rows) else Estimate(each.value, math.nan, math.nan)

    middle = (1 - more) * earned + more / 2 * beta * mean_stake
    of_reward, of_gain, of_right, of_spend = _variances(problem, found, more)
    gain = estimate(earned - spend, middle - spend, of_gain, n + z * z)
    # a row earns at least the lowest reward at its stake, and at most the highest
    some = found.rows > 0
    least, most = float(shift[some].min()), float((shift + worth)[some].max())
    spent = found.spend[some]
    gain = gain.within(least - float(spent.max()), most - float(spent.min())).raised(lowest)
    rewards = estimate(earned, middle, of_reward, n + z * z).within(least, most).raised(lowest)
    rewards = known(rewards, effective)
    if problem.rewards is None:
        half = (1 - more) * right + more / 2
        rewards = known(estimate(right, half, of_right, n + z * z).within(0.0, 1.0), n)
    return Score(
        known(gain, effective),
        rewards,
        known(estimate(spend, spend, of_spend * n / max(n - 1, 1.0), n), n),
        looks,
        round(n),
        confidence,
        mean_stake,
        has_own_stakes,
        effective,
    )


class _Variances(NamedTuple):
    """The variances of rows, of which a share was added."""

    reward: float
    """In the currency, with the stakes."""
    gain: float
    right: float
    """Of the reward from 0 to 1, whatever the stakes."""
    spend: float


def _variances(problem: Problem, found: Outcomes, more: float) -> _Variances:
    """Returns the variances if a share of the rows is added, half of it with each extreme reward.

    The added rows have the stakes of the table and the mean spend.
    """
    n, low, beta = float(found.rows.sum()), problem.lowest_reward, problem.reward_value

    def mean(of_lines: Floats, times: Floats = found.rows) -> float:
        return float(times @ of_lines) / n

    ones, stake = np.ones(len(found.rows)), mean(found.stakes)
    shift, worth = low * (found.stakes - stake), beta * found.stakes
    off = found.spend - mean(
        found.spend
    )  # the part that varies, so that large prices do not cancel
    middle = (1 - more) * (mean(shift) + mean(worth, found.reward)) + more / 2 * beta * stake
    square = mean(shift**2) + 2 * mean(shift * worth, found.reward) + mean(worth**2, found.squares)
    added = mean(shift**2 + (shift + worth) ** 2)
    of_rows = (1 - more) * square + more / 2 * added - middle**2
    of_spend, across = mean(off**2), mean(shift * off) + mean(worth * off, found.reward)
    # the same, by what all rows earn per unit of stake
    half = (1 - more) * mean(ones, found.reward) + more / 2
    second = (1 - more) * mean(ones, found.squares) + more / 2
    of_right = second - half**2
    at_mean, along = (stake * beta) ** 2 * of_right, stake * beta * mean(off, found.reward)
    per_unit = mean((found.stakes - stake) ** 2), low**2 + 2 * low * beta * half + beta**2 * second
    spent, spent_at_mean = ((1 - more) * (of_spend - 2 * each) for each in (across, along))
    return _Variances(
        larger_variance(of_rows, at_mean, *per_unit),
        larger_variance(of_rows + spent, at_mean + spent_at_mean, *per_unit),
        of_right,
        of_spend,
    )
