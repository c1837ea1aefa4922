"""Labels at the ends of lines, never on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from askwise.reproduction.drawing import INK, SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 1.3
"""The distance between two labels, in heights of letters."""
LEADER = 20.0
LONGEST = 22


@dataclass(frozen=True)
class End:
    """The end of a line, in data coordinates, and what to write there."""

    x: float
    y: float
    text: str
    colour: str
    rank: float = 0.0
    """Orders ends at the same height: the higher rank goes above."""


def shorten(text: str) -> str:
    """A name, shortened so that it leaves room for the figure."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def room(texts: Sequence[str], size: float = SIZE) -> float:
    """The margin, in points, that these labels need."""
    return LEADER + 6 + max((_width(shorten(text), size) for text in texts), default=0.0)


@cache
def _width(text: str, size: float) -> float:
    """The width of a text in points; cached, because a page repeats the same few labels."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=size).get_extents().width)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places nearest to the wanted ones (rising) that keep a gap and stay within limits.

    Without the gaps this is a rising sequence fitted by least squares: neighbours that would
    collide are pooled around their common mean.

    >>> spread([0.0, 1.0, 50.0], gap=10.0, low=0.0, high=100.0)
    [0.0, 10.0, 50.0]
    >>> spread([40.0, 40.0, 40.0], gap=10.0, low=0.0, high=100.0)
    [30.0, 40.0, 50.0]
    """
    pools: list[tuple[float, int]] = []
    for place, value in enumerate(wanted):
        mean, count = value - place * gap, 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean = (mean * count + before * many) / (count + many)
            count += many
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    highest = max(low, high - gap * (len(flat) - 1))
    return [min(max(value, low), highest) + place * gap for place, value in enumerate(flat)]


def label_ends(axes: Axes, ends: Sequence[End], size: float = SIZE) -> None:
    """Write the labels in the right margin, with a thin line to each end. Limits must be final."""
    figure = axes.figure
    to_points = 72 / figure.dpi
    box = axes.get_window_extent()
    placed = sorted(
        ((axes.transData.transform((end.x, end.y)) * to_points, end) for end in ends),
        key=lambda item: (round(item[0][1], 1), item[1].rank),
    )
    low, high = box.y0 * to_points + size / 2, box.y1 * to_points
    heights = spread([point[1] for point, _ in placed], GAP * size, low, high)
    edge = box.x1 * to_points
    for (_, end), height in zip(placed, heights, strict=True):
        axes.annotate(
            shorten(end.text),
            xy=(end.x, end.y),
            xytext=(edge + LEADER, height),
            textcoords="figure points",
            ha="left",
            va="center",
            fontsize=size,
            color=INK,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "linewidth": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )
