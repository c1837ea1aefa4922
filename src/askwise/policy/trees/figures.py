"""How shares, amounts and gains are written, with as many decimals as matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from askwise._support.numbers import as_price, fixed, places, shown, with_error
from askwise.policy.trees.nodes import Look, Reason
from askwise.problem import Value

NORMAL = 1.96
"""Standard errors on each side of an interval of 95 %."""
NOISE = 1e-9
"""A part of β that is nothing but rounding."""


@dataclass(frozen=True)
class Figures:
    """Decimals of gains, and of amounts spent, at least; small ones get as many as they need."""

    gain: int = 2
    spend: int = 2
    least: float = 0.0
    """What is smaller is 0: it is left over from rounding."""

    @classmethod
    def of(cls, reward_value: float, costs: Sequence[float]) -> Figures:
        """A thousandth of β is worth showing, and so is the smallest price."""
        decimals = max(0, 3 - math.ceil(math.log10(reward_value)))
        least = min((cost for cost in costs if cost > 0), default=1.0)
        finest = next((d for d in range(6) if abs(round(least, d) - least) < 1e-9 * least), 6)
        return cls(decimals, min(max(decimals, finest), decimals + 3), NOISE * reward_value)

    def amount(self, spent: float) -> str:
        """An amount that was spent, with the decimals that matter."""
        return shown(spent, decimals=self.spend, least=self.least)

    def gained(self, reason: Reason) -> str:
        """The gain with its interval, if there is any doubt."""
        if reason.gain is None or reason.share == 0:
            return "?"
        return self.with_doubt(reason.gain, reason.variance)

    def with_doubt(self, gain: float, variance: float) -> str:
        """A gain with half of its interval, if there is any doubt."""
        error = NORMAL * math.sqrt(variance)
        return with_error(gain, error, decimals=self.gain, least=self.least)

    def plain_gain(self, gain: float | None) -> str:
        """A gain alone, without how sure it is."""
        return "?" if gain is None else shown(gain, decimals=self.gain, least=self.least)

    def stopped(self, reason: Reason) -> str:
        """What would be done if one stopped here, and what that would gain."""
        if reason.stop is None:
            return ""
        if reason.stop.gain is None or reason.share == 0:
            return reason.stop.action
        return f"{reason.stop.action} {self.with_doubt(reason.stop.gain, reason.stop.variance)}"

    def estimate(self, value: float, low: float, high: float) -> str:
        """An amount, and between which two it is said to lie, if it is not known."""
        value, low, high = (0.0 if abs(n) < self.least else n for n in (value, low, high))
        if high - low <= self.least:
            return shown(value, decimals=self.gain)
        if not math.isfinite(high):
            return f"{shown(value, decimals=self.gain)} ({shown(low, decimals=self.gain)} or more)"
        needed = max(self.gain, places(value, 2), places((high - low) / 2, 2))
        return f"{fixed(value, needed)} ({fixed(low, needed)} to {fixed(high, needed)})"


def share(part: float) -> str:
    """A part of all cases."""
    if part == 0:
        return "never"
    if part < 0.001:
        return "<0.1%"
    return f"{part:.1%}" if part < 0.0995 else f"{part:.0%}"


def values_of(node: Look, values: Sequence[Value | None], *, titled: bool = False) -> str:
    """What a branch is for; of several bought together, or given, it says which, unless the node
    is `titled` with its observation."""
    label = " or ".join("unavailable" if v is None else str(v) for v in values)
    names_it = len(node.bought) == 1 or (titled and not node.bought)
    return label if names_it else f"{node.observation} {label}"


def headline(node: Look) -> str:
    """What is bought, at what price; of a node that is folded, how much is left out."""
    rest = f" … {node.folded} more" if node.folded else ""
    return f"buy {' + '.join(node.bought)} ({as_price(node.cost)}){rest}"
