"""The gains of two policies and their difference, estimated from the rows of a log.

The difference is estimated row by row. Rows on which both policies do the same contribute 0 and do
not widen its interval.

For a log the interval is the normal one. A live split is usually checked repeatedly and stopped
when the result looks good, and then normal intervals are too narrow. Its interval is therefore
valid at all times at once. For n rows of variance s² (`policy/row_variances.py`) it is

    ± s √( 2 (n ρ² + 1) / (n² ρ²) · log(√(n ρ² + 1) / α) ),

where ρ makes it narrowest at about `NARROWEST` rows (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas:
Time-uniform central limit theory and asymptotic confidence sequences, 2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

from askwise._support.numbers import interval, shown
from askwise._support.typing import Floats
from askwise.logs.off_policy import why_weights_are_off
from askwise.logs.policy_rows import PolicyRows
from askwise.policy.row_variances import (
    LEAST_EFFECTIVE,
    effective_rows,
    is_enough,
    spread_of,
    spread_of_gains,
)
from askwise.policy.scores import Estimate

NARROWEST = 1_000
MOST_ROWS = 1e9
"""Beyond this number of rows no forecast is made."""

Reach = Callable[[float], float]
"""How many standard deviations of a row an interval reaches, for a number of rows."""


@dataclass(frozen=True)
class Comparison:
    """The gains of two policies, and their difference."""

    a: Estimate
    """The gain of a case under the first policy."""
    b: Estimate
    """The gain of a case under the second policy."""
    difference: Estimate
    """The gain of the first less that of the second; without an interval if too few rows differ.

    Policies that do the same at other prices differ by what they spend.
    """
    rows: int
    differing: int
    """The number of rows with different weights for the two policies. In these rows the policies
    would not have done the same, or people overruled the case.
    """
    more_rows: float
    """The number of further rows that would settle the comparison, if the difference is as
    estimated; 0 if it is settled, infinite if that cannot be foreseen.
    """
    mean_weights: tuple[Estimate, Estimate]
    """The mean weight of the rows for each policy. Its expected value is 1 if the log could have
    followed the policy in every case.
    """
    effective_rows: tuple[float, float]
    """For each policy, the number of equally weighted rows with as much information."""
    overruled: tuple[int, int] = (0, 0)
    """The cases of a split in which people did something else than the policy that was drawn, for
    each policy. They count for that policy.
    """
    warnings: tuple[str, ...] = ()
    """The reasons why the log does not support an estimate, if there are any."""
    names: tuple[str, str] = ("a", "b")
    """The names of the policies in print."""

    @property
    def is_settled(self) -> bool:
        """Whether the interval of the difference excludes 0, and the log supports both policies."""
        if self.warnings:
            return False
        return self.difference.low > 0 or self.difference.high < 0  # NaN is neither

    def __str__(self) -> str:
        first, second = self.names
        if self.rows == 0:
            return f"no case has its reward yet: nothing is known about {first} and {second}"
        lines = [
            f"{first} gains {self.a}",
            f"{second} gains {self.b}",
            self._said(),
            *self._people(),
        ]
        return "\n".join([*lines, *self.warnings])

    def _said(self) -> str:
        value, low, high = self.difference
        first, second = self.names
        beside = ""
        if self.differing == 0:
            same = f"they would have done the same in all {self.rows:,} rows that tell"
            if value == 0:
                return same
            beside = f"{same}, but not at the same prices: "
        if math.isnan(low):
            more = f"{shown(abs(value))} {'more' if value >= 0 else 'less'}"
            if beside:
                return f"{beside}{first} gains {more} than {second}, by too few for an interval"
            why = f"only {self.differing:,} of {self.rows:,} rows tell them apart: too few"
            if self.differing >= LEAST_EFFECTIVE:
                why = "only a few rows, of large weight or stake, decide: too few"
            return f"{first} gains {more} than {second}, but {why} for an interval"
        better, other = (first, second) if value >= 0 else (second, first)
        bounds = (low, high) if value >= 0 else (-high, -low)
        said = f"{beside}{better} gains {interval(abs(value), *bounds)} more than {other}: "
        return said + self._verdict()

    def _verdict(self) -> str:
        if self.warnings:
            return "not settled, because the log does not support these estimates"
        if self.is_settled:
            return f"settled, by {self.rows:,} rows"
        if not math.isfinite(self.more_rows):
            return f"not settled by {self.rows:,} rows, and more than can be foreseen would be"
        scale = 10 ** max(0, math.floor(math.log10(max(1.0, self.more_rows))))
        some = math.ceil(self.more_rows / scale) * scale
        return f"not settled by {self.rows:,} rows; some {some:,} more would, if it is so"

    def _people(self) -> list[str]:
        """Returns a line on the cases that people overruled, if there are any."""
        if not any(self.overruled):
            return []
        each = zip(self.overruled, self.names, strict=True)
        by_side = " and ".join(f"{number:,} of {name}" for number, name in each)
        return [f"people overruled {by_side}; each counts for the policy it was drawn to follow"]


def nothing_compared(names: tuple[str, str]) -> Comparison:
    """Returns the comparison before any case has its reward."""
    nothing = Estimate(math.nan, math.nan, math.nan)
    both = (nothing, nothing)
    return Comparison(*both, nothing, 0, 0, math.inf, both, (0.0, 0.0), names=names)


def compared(a: PolicyRows, b: PolicyRows, reach: Reach, names: tuple[str, str]) -> Comparison:
    """Compares two policies by their rows, with intervals of this reach."""
    number = len(a.weights)
    apart, staked = a.weights != b.weights, [rows.weights * rows.stakes for rows in (a, b)]
    apart_by = a.robust - b.robust
    if apart.any():
        telling = min(effective_rows(each[apart]) for each in staked)
    else:  # what was done may have had other prices
        telling = min(map(effective_rows, staked)) if apart_by.any() else 0.0
    effective = effective_rows(staked[0]), effective_rows(staked[1])

    def estimate(centre: float, spread: float, *, enough: bool) -> Estimate:
        if not enough or number < 2:
            return Estimate(centre, math.nan, math.nan)
        width = reach(number) * spread
        return Estimate(centre, centre - width, centre + width)

    def of_weights(weights: Floats) -> Estimate:
        return estimate(float(weights.mean()), spread_of(weights), enough=True)

    def of_gains(parts: Floats, worth: float) -> Estimate:
        centre, spread = float(parts.sum(axis=0).mean()), spread_of_gains(parts, a.stakes)
        return estimate(centre, spread, enough=is_enough(worth))

    difference, more = of_gains(apart_by, telling), math.inf
    if is_enough(telling):
        spread = spread_of_gains(apart_by, a.stakes)
        more = _rows_needed(abs(difference.value), spread, reach) - number
    return Comparison(
        of_gains(a.robust, effective[0]),
        of_gains(b.robust, effective[1]),
        difference,
        number,
        int(apart.sum()),
        max(0.0, more),
        (of_weights(a.weights), of_weights(b.weights)),
        effective,
        names=names,
    )


def with_warnings(found: Comparison) -> Comparison:
    """Returns the comparison with warnings on what its log does not support.

    A split needs none, because its propensities are known.
    """
    sides = zip(found.names, found.mean_weights, found.effective_rows, strict=True)
    warnings = tuple(
        f"{name}: {why}; its gain may be far off, its rows are worth {worth:,.0f}"
        for name, weight, worth in sides
        if (why := why_weights_are_off(weight))
    )
    more = math.inf if warnings else found.more_rows
    return replace(found, warnings=warnings, more_rows=more)


def normal_reach(confidence: float) -> Reach:
    """Returns the reach of the normal interval."""
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    return lambda n: normal / math.sqrt(n)


def reach_at_all_times(confidence: float) -> Reach:
    """Returns the reach of an interval that is valid at all times at once."""
    alpha = 1.0 - confidence
    wide = -2 * math.log(alpha)
    rho = (wide + math.log(wide + 1)) / NARROWEST

    def reach(n: float) -> float:
        return math.sqrt(
            2 * (n * rho + 1) / (n * n * rho) * math.log(math.sqrt(n * rho + 1) / alpha)
        )

    return reach


def _rows_needed(difference: float, spread: float, reach: Reach) -> float:
    """Returns the number of rows that make the interval narrower than the difference."""
    low, high = 2.0, 4.0
    while high < MOST_ROWS and reach(high) * spread >= difference:
        low, high = high, 2.0 * high
    if high >= MOST_ROWS:
        return math.inf
    while high - low > 1.0:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reach(middle) * spread >= difference else (low, middle)
    return high
