"""The figure of `benchmarks/tables.py`: accuracy against looks, with what others publish."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from askwise.reproduction.drawing import INK, MUTED, PAPER, SERIES, save, style


def draw(
    curves: Mapping[str, tuple[Sequence[dict[str, float]], float, int]],
    published: Mapping[str, Sequence[tuple[float, float]]],
    path: Path,
) -> None:
    """A panel for each table: our curve, the points of others, and boosting with everything."""
    with style(text=False):
        size = (4.6 * len(curves), 3.6)
        figure = Figure(figsize=size, layout="constrained", facecolor=PAPER)
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (name, (rows, everything, columns)) in zip(panels, curves.items(), strict=True):
            ordered = sorted(rows, key=lambda row: row["spend"])
            points = [[row[key] for row in ordered] for key in ("spend", "accuracy")]
            axes.plot(*points, color=SERIES[0], marker="o", markersize=4, label="askwise")
            if others := published.get(name):
                axes.plot(*zip(*others, strict=True), "^", color=SERIES[1], label="published")
            label = f"boosting with all {columns}"
            axes.axhline(everything, color=MUTED, linewidth=0.9, linestyle="--", label=label)
            _label(axes, name)
        save(figure, path)


def _label(axes: Any, name: str) -> None:
    axes.set_title(name, loc="left", fontsize=11, color=INK)
    axes.set_xlabel("features bought for a row, on average")
    axes.set_ylabel("right")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlim(left=0)
    axes.legend(loc="lower right", frameon=False)
