"""The highest gain at every average spend, as data and as a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from askwise._support.extras import need
from askwise._support.frames import framed
from askwise._support.numbers import shown, together
from askwise.policy.policy import Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_DECIMALS = 6
"""Gains and spends of neighbours that differ less than so many decimals show look the same."""


class Point(NamedTuple):
    """A policy of the frontier, with the mean spend and gain of a case."""

    spend: float
    gain: float
    policy: Policy


@dataclass(frozen=True)
class Frontier(Sequence[Point]):
    """The frontier of gain against spend: its policies, the cheapest first.

    The best policy within any budget is a mixture of two of them. `print` it, `plot` it, or take
    its numbers (`frame`).
    """

    points: tuple[Point, ...]

    def __getitem__(self, place: Any) -> Any:
        return self.points[place]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    @property
    def shadow_prices(self) -> tuple[float, ...]:
        """What one more unit of spend adds, from each point up to the next; 0 at the last."""
        pairs = zip(self.points, self.points[1:], strict=False)
        slopes = [(b.gain - a.gain) / (b.spend - a.spend) for a, b in pairs]
        return (*slopes, 0.0)

    def gain_at(self, spend: float) -> float:
        """Returns the highest gain at this average spend."""
        below = [k for k, point in enumerate(self.points) if point.spend <= spend]
        if not below:
            return math.nan
        point = self.points[below[-1]]
        if below[-1] == len(self.points) - 1:
            return point.gain
        return point.gain + self.shadow_prices[below[-1]] * (spend - point.spend)

    def frame(self, kind: str = "dict") -> Any:
        """Returns a row for each point: spend, gain, and what one more unit of spend would add.

        The columns come in a "dict", or a "pandas", "polars" or "pyarrow" frame.
        """
        columns = {
            "spend": [point.spend for point in self.points],
            "gain": [point.gain for point in self.points],
            "shadow_price": list(self.shadow_prices),
        }
        return framed(columns, kind)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plots the highest gain against spend, with a dot for each policy."""
        pyplot = need("matplotlib.pyplot", "report")
        axes: Axes = pyplot.subplots()[1] if ax is None else ax
        spend, gain = [p.spend for p in self.points], [p.gain for p in self.points]
        marks = "o" if len(self.points) <= 30 else ""
        axes.plot(spend, gain, marker=marks, ms=4, lw=1.7, color="#005a9c")
        best = self.points[-1]
        words = f"without a budget: {shown(best.gain)}\nfor {shown(best.spend)} a case"
        # there is space below a curve whose slope falls
        axes.text(0.98, 0.04, words, transform=axes.transAxes, ha="right", va="bottom")
        axes.set_xlabel("spend on observations, a case")
        axes.set_ylabel("gain, a case")
        axes.grid(True, color="#e1e4e8", lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def __str__(self) -> str:
        columns = [
            ["spend", *_told_apart([p.spend for p in self.points])],
            ["gain", *_told_apart([p.gain for p in self.points])],
            ["one more adds", *together(self.shadow_prices, decimals=2)],
        ]
        widths = [max(map(len, column)) for column in columns]
        rows = zip(*columns, strict=True)
        return "\n".join(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in rows
        )

    def __repr__(self) -> str:
        cheap, best = self.points[0], self.points[-1]
        spends = f"spend {shown(cheap.spend)} to {shown(best.spend)}"
        gains = f"gain {shown(cheap.gain)} to {shown(best.gain)}"
        return f"<Frontier of {len(self.points)} policies: {spends}, {gains}>"


def _told_apart(numbers: Sequence[float]) -> list[str]:
    """Numbers with as many decimals as tell all of them apart, within reason."""
    found = together(numbers)
    for decimals in range(1, MOST_DECIMALS + 1):
        if len(set(found)) == len(numbers):
            break
        found = together(numbers, decimals=decimals)
    return found
