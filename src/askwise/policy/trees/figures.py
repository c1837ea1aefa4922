"""Shares, amounts and gains as text, with as many decimals as matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from askwise._support.numbers import as_price, fixed, places, places_with_error, shown, with_error
from askwise.counting.units import UNIT
from askwise.policy.trees.nodes import NORMAL, Bounds, Look, Reason
from askwise.problem import Observation, Value
from askwise.problem.bins import labels

NOISE = 4 * UNIT
"""This part of β is only rounding error, since rewards are counted in such units."""


@dataclass(frozen=True)
class Figures:
    """The least decimals of gains and of amounts spent. Small numbers get as many as they need."""

    gain: int = 2
    spend: int = 2
    least: float = 0.0
    """A smaller number is shown as 0, because it is only rounding error."""

    @classmethod
    def of(cls, reward_value: float, costs: Sequence[float]) -> Figures:
        """Returns the figures of a problem. A thousandth of β is shown, and so is the smallest
        price.
        """
        decimals = max(0, 3 - math.ceil(math.log10(reward_value)))
        least = min((cost for cost in costs if cost > 0), default=1.0)
        finest = next((d for d in range(6) if abs(round(least, d) - least) < 1e-9 * least), 6)
        return cls(decimals, min(max(decimals, finest), decimals + 3), NOISE * reward_value)

    def amount(self, spent: float) -> str:
        """Returns an amount that was spent, with the decimals that matter."""
        return shown(spent, decimals=self.spend, least=self.least)

    def gained(self, reason: Reason) -> str:
        """Returns the gain with its interval, if it is uncertain."""
        if reason.gain is None or reason.share == 0:
            return "?"
        return self.with_doubt(reason.gain, reason.variance, reason.bounds)

    def with_doubt(self, gain: float, variance: float, bounds: Bounds) -> str:
        """Returns a gain with half of its interval, if it is uncertain. It has both ends, if one of
        them is the least or the most that can be gained.
        """
        error = NORMAL * math.sqrt(variance)
        low, high = bounds.interval(gain, variance)
        if min(gain - low, high - gain) < error - self.least:
            needed = max(self.gain, places_with_error(gain, error))
            mean, *ends = (fixed(number, needed) for number in (gain, low, high))
            return f"{mean} ({ends[0]} to {ends[1]})"
        return with_error(gain, error, decimals=self.gain, least=self.least)

    def plain_gain(self, gain: float | None) -> str:
        """Returns a gain without its interval."""
        return "?" if gain is None else shown(gain, decimals=self.gain, least=self.least)

    def stopped(self, reason: Reason) -> str:
        """Returns the best action if a case stopped here, and its gain."""
        stop = reason.stop
        if stop is None:
            return ""
        if stop.gain is None or reason.share == 0:
            return stop.action
        return f"{stop.action} {self.with_doubt(stop.gain, stop.variance, stop.bounds)}"

    def estimate(self, value: float, low: float, high: float) -> str:
        """Returns an amount, with its interval if it is uncertain."""
        value, low, high = (0.0 if abs(n) < self.least else n for n in (value, low, high))
        if high - low <= self.least:
            return shown(value, decimals=self.gain)
        if not math.isfinite(high):
            return f"{shown(value, decimals=self.gain)} ({shown(low, decimals=self.gain)} or more)"
        half = (high - low) / 2
        needed = max(self.gain, min(places(value, 2), places(half)), places(half, 2))
        return f"{fixed(value, needed)} ({fixed(low, needed)} to {fixed(high, needed)})"


def share(part: float) -> str:
    """Returns a share of all cases."""
    if part == 0:
        return "never"
    if part < 0.001:
        return "<0.1%"
    return f"{part:.1%}" if part < 0.0995 else f"{part:.0%}"


def values_of(node: Look, values: Sequence[Value | None], *, titled: bool = False) -> str:
    """Returns the values of a branch. It names the observation if several are bought together or
    given, unless the node is `titled` with it.
    """
    label = label_of(node, values)
    names_it = len(node.bought) == 1 or (titled and not node.bought)
    return label if names_it else f"{node.observation} {label}"


def label_of(node: Look, values: Sequence[Value | None]) -> str:
    """Returns the values of a branch: each of them, or the range of ordered ones."""
    seen = [value for value in values if value is not None]
    named = list(map(str, seen)) if node.scale is None else _range(node.scale, seen)
    return " or ".join(named if len(seen) == len(values) else [*named, "unavailable"])


def _range(scale: Observation, values: Sequence[Value]) -> list[str]:
    """Neighbouring values as one range; if they are bins that are called by their edges, one bin.

    >>> age = Observation.binned("age", edges=[40, 50, 60], cost=1.0)
    >>> _range(age, age.values[:2]), _range(age, age.values[1:3]), _range(age, age.values)
    (['<50'], ['40-60'], ['any value'])
    >>> _range(Observation("grade", values=range(5), cost=1.0, ordered=True), [2, 3, 4])
    ['2 to 4']
    """
    if len(values) < 2:
        return list(map(str, values))
    if len(values) == len(scale.values):
        return ["any value"]
    first, last = (scale.values.index(value) for value in (values[0], values[-1]))
    if scale.edges is None or scale.values != labels(scale.edges):
        return [f"{values[0]} to {values[-1]}"]
    outer = [scale.edges[first - 1]] if first else []
    outer += scale.edges[last : last + 1]
    name = labels(outer)
    return [name[0] if not first else name[1]]


def headline(node: Look) -> str:
    """Returns what is bought, at what price, and how much a folded node leaves out.

    A folded node that buys nothing has what it depends on.
    """
    rest = f" … {node.folded} more" if node.folded else ""
    if not node.bought:
        return f"by {node.observation}{rest}"
    return f"buy {' + '.join(node.bought)} ({as_price(node.cost)}){rest}"
