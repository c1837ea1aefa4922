"""Draws a run as a figure: gain, spend and purchases a case, over time.

Every curve is a moving mean over the cases of a window, so it shows how the learner changes and not
the noise of single cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise._support.extras import need
from askwise._support.numbers import shown
from askwise._support.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WINDOWS, POINTS = 40, 200
"""A mean is over 1/40 of the cases; a curve has so many points."""
MOST_SHOWN = 8
"""The most observations that are shown: those that were bought most."""

INK, MUTED, GRID, PAPER = "#1c2024", "#5a6169", "#e1e4e8", "#ffffff"
COLOURS = (
    "#005a9c", "#c98200", "#00875f", "#b3558a", "#7d5a3c", "#3f3f46", "#4aa3df", "#a3a300",
)  # fmt: skip
DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
STYLE: dict[str, Any] = {
    "font.size": 10.0,
    "text.color": INK,
    "text.parse_math": False,  # a name may have a $ in it
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.borderaxespad": 0.0,
    "svg.hashsalt": "askwise",
}
_drawing = Lock()  # Matplotlib's settings belong to the process


def moving_mean(values: Floats) -> tuple[Floats, Floats]:
    """Returns some case numbers, and for each the mean of the window that ends there."""
    cases = len(values)
    width = max(1, cases // WINDOWS)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.unique(np.linspace(min(width, cases), cases, POINTS).astype(np.int64))
    return ends.astype(np.float64), (sums[ends] - sums[ends - width]) / width


def draw_run(gain: Floats, cost: Floats, bought: Mapping[str, Floats]) -> Figure:
    """Draws gain and spend above, and the share of the cases that bought each observation below."""
    matplotlib = need("matplotlib", "report")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

    class Shown(Figure):
        """Notebooks show it whether or not pyplot was ever imported."""

        def _repr_png_(self) -> bytes:
            out = BytesIO()
            self.savefig(out, format="png", dpi=110)
            return out.getvalue()

    with _drawing, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        layout = ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.06)
        figure = Shown(figsize=(8.0, 5.4), facecolor=PAPER, layout=layout)
        above, below = figure.subplots(2, 1, sharex=True)
        width = max(1, len(gain) // WINDOWS)
        _curve(above, gain, f"gain, mean {shown(gain.mean())}", COLOURS[0], "solid")
        _curve(above, cost, f"spent, mean {shown(cost.mean())}", COLOURS[1], DASHES[1])
        above.set_title("Gain and spend a case")
        low, high = above.get_ylim()
        above.set_ylim(min(low, 0.0), max(high, 0.0))  # how much it is shows only from nothing up
        most = sorted(bought, key=lambda name: -float(bought[name].mean()))[:MOST_SHOWN]
        for k, name in enumerate(n for n in bought if n in most):
            _curve(below, bought[name], name, COLOURS[k % 8], DASHES[k % 4])
        hidden = len(bought) - len(most)
        rest = f" (the top {MOST_SHOWN} of {len(bought)})" if hidden else ""
        below.set_title(f"Share of cases buying it{rest}")
        below.set_ylim(-0.03, 1.03)
        below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        below.xaxis.set_major_locator(MaxNLocator(integer=True, nbins="auto"))
        below.xaxis.set_major_formatter(
            FuncFormatter(_thousands if len(gain) >= 10_000 else _plain)
        )
        below.set_xlabel(f"case (means over the last {width:,})" if width > 1 else "case")
        below.set_xlim(0, max(1, len(gain)))
        for axes in (above, below):
            axes.tick_params(length=3)
            axes.legend(loc="upper left", bbox_to_anchor=(1.015, 1.0))
    return figure


def _plain(case: float, _: int | None = None) -> str:
    return f"{case:,.0f}"


def _thousands(case: float, _: int | None = None) -> str:
    return f"{case / 1000:,g}k" if case else "0"


def _curve(axes: Axes, values: Floats, name: str, colour: str, dash: Any) -> None:
    at, mean = moving_mean(values)
    marker = "o" if len(at) == 1 else ""
    short = name if len(name) <= 24 else f"{name[:23]}…"
    # a label that begins with _ would be left out of the legend
    label = f"\u200b{short}" if short.startswith("_") else short
    axes.plot(at, mean, color=colour, linestyle=dash, lw=1.7, marker=marker, ms=4, label=label)
