"""One function for each figure. Call them inside `drawing.style()`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from askwise._support.typing import AcquisitionName
from askwise.reproduction.drawing import MUTED, REFERENCE, SERIES, SIZE, Look, blank, looks
from askwise.reproduction.labels import End, label_ends, room
from askwise.reproduction.statistics import MeanOfRuns
from askwise.reproduction.summary import Summary, display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRICE = "Price of one observation"
MANY_PRICES = 12
ORACLES: tuple[tuple[AcquisitionName, str, str], ...] = (
    ("sequential", "Sequential oracle", SERIES[0]),
    ("simultaneous", "Simultaneous oracle", SERIES[1]),
)


def gain_against_price(summary: Summary, *, narrow: bool = False) -> Figure:
    """Figure 1: what a case earns as observations get dearer."""
    learners = sorted(summary.learners, key=lambda name: _overall(summary, name))
    texts = [display(name) for name in learners] + [text for _, text, _ in ORACLES]
    width, height = (350.0, 330.0) if narrow else (700.0, 390.0)
    figure, axes = blank(width, height, left=46, right=room(texts))
    ends = []
    for plan, text, colour in ORACLES:
        values = [summary.best(plan, price) for price in summary.prices]
        _reference_line(axes, summary.prices, values, colour, width=1.0)
        rank = 1e9 + sum(values)
        ends.append(End(summary.prices[-1], values[-1], text, colour, rank))
    nothing = [summary.oracle(price).nothing for price in summary.prices]
    marker = "_" if len(nothing) == 1 else ""
    dots = (0, (1, 2))
    axes.plot(summary.prices, nothing, color=MUTED, lw=0.8, ls=dots, marker=marker, ms=22, zorder=1)
    styles = looks(summary.learners)
    for name in learners:
        prices = summary.ran(name)
        gains = [summary.gain(name, price) for price in prices]
        _bars(axes, prices, gains, styles[name])
        rank = _overall(summary, name)
        ends.append(End(prices[-1], gains[-1].mean, display(name), styles[name].colour, rank))
    _price_axis(axes, summary.prices)
    axes.set_ylabel("Mean gain per case")
    axes.margins(y=0.05)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    if low < 0 < high:
        axes.axhline(0, color=MUTED, lw=0.8, zorder=1)
    axes.annotate(
        "Buying nothing",
        xy=(summary.prices[0], nothing[0]),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=SIZE - 1,
        color=MUTED,
    )
    label_ends(axes, ends)
    return figure


def share_bought(summary: Summary, observation: str) -> Figure:
    """The share of cases that buy one observation: of a learner, and of the oracle."""
    figure, axes = blank(350, 195, left=46, right=12)
    focus = summary.focus
    plan = summary.plan(focus)
    look = looks(summary.learners)[focus]
    ideal = [100 * summary.ideal(plan, price).get(observation, 0.0) for price in summary.prices]
    _reference_line(axes, summary.prices, ideal, MUTED, width=1.4)
    prices = summary.ran(focus)
    shares = [summary.bought(focus, price, observation) for price in prices]
    _bars(axes, prices, shares, look, limits=(0, 100))
    _price_axis(axes, summary.prices, most=10)
    axes.set_ylim(-5, 105)
    axes.set_yticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    return figure


def regret_over_time(summary: Summary, price: float, *, theorem: bool = False) -> Figure:
    """Cumulative regret on logarithmic scales, with practical radii or with the theorems'."""
    names = _with_regret(summary, price, theorem)
    figure, axes = blank(310, 250, left=46, right=room([display(name) for name in names]))
    styles = looks(summary.learners)
    ends = []
    for name in names:
        times, values = summary.regret(name, price, theorem=theorem)
        shown = [(t, value) for t, value in zip(times, values, strict=True) if value.mean > 0]
        if not shown or shown[-1][0] != times[-1]:
            continue
        end = _band(axes, [t for t, _ in shown], [value for _, value in shown], styles[name])
        ends.append(End(*end, display(name), styles[name].colour))
    axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(*_regret_limits(summary))
    _case_axis(axes, summary)
    axes.yaxis.set_major_formatter(_compact)
    axes.set_ylabel("Regret so far")
    label_ends(axes, ends)
    return figure


def rounds_over_time(summary: Summary, price: float) -> Figure:
    """The number of rounds against the logarithm of the cases."""
    names = [name for name in summary.learners if summary.plans_rarely(name)]
    names = [name for name in names if price in summary.ran(name)]
    figure, axes = blank(310, 225, left=46, right=room([display(name) for name in names]))
    styles = looks(summary.learners)
    ends = []
    for name in names:
        times, values = summary.rounds(name, price)
        if not times:
            continue
        end = _band(axes, times, values, styles[name])
        ends.append(End(*end, display(name), styles[name].colour))
    axes.set_xscale("log")
    rarely = [cell.rounds for cell in summary.cells if summary.plans_rarely(cell.learner)]
    axes.set_ylim(0, 1.08 * max([1, *rarely]))
    _case_axis(axes, summary)
    axes.yaxis.set_major_formatter(_compact)
    axes.set_ylabel("Rounds so far")
    label_ends(axes, ends)
    return figure


def _overall(summary: Summary, learner: str) -> float:
    return sum(summary.gain(learner, price).mean for price in summary.ran(learner))


def _reference_line(
    axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, width: float
) -> None:
    """Draw a thin dashed line; a single point becomes a dash."""
    marker = "_" if len(x) == 1 else ""
    axes.plot(x, y, color=colour, lw=width, ls=REFERENCE, marker=marker, ms=22, zorder=2)


def _bars(
    axes: Axes,
    prices: Sequence[float],
    values: Sequence[MeanOfRuns],
    look: Look,
    limits: tuple[float, float] = (-inf, inf),
) -> None:
    """Draw a line through the means, with a capped bar for each interval, cut at the limits."""
    low, high = limits
    down = [max(0.0, min(value.bar, value.mean - low)) for value in values]
    up = [max(0.0, min(value.bar, high - value.mean)) for value in values]
    axes.errorbar(
        prices,
        [value.mean for value in values],
        yerr=(down, up) if any(value.known for value in values) else None,
        color=look.colour,
        linestyle=look.dash,
        linewidth=1.8,
        marker=look.marker,
        markersize=5,
        markerfacecolor=look.face,
        elinewidth=1.2,
        capsize=4.5,
        capthick=1.0,
        zorder=4,
    )


def _band(
    axes: Axes, times: Sequence[float], values: Sequence[MeanOfRuns], look: Look
) -> tuple[float, float]:
    """Draw a line through the means in a band of the intervals; returns its end."""
    means = [value.mean for value in values]
    low = [value.mean - value.bar for value in values]
    high = [value.mean + value.bar for value in values]
    axes.fill_between(times, low, high, color=look.colour, alpha=0.2, linewidth=0, zorder=2)
    marker = look.marker if len(means) == 1 else ""
    axes.plot(times, means, color=look.colour, lw=1.8, ls=look.dash, marker=marker, ms=5, zorder=4)
    return times[-1], means[-1]


def _price_axis(axes: Axes, prices: Sequence[float], most: int = MANY_PRICES) -> None:
    axes.set_xlabel(PRICE)
    if len(prices) <= most:
        axes.set_xticks(prices, [f"{price:g}" for price in prices])
    reach = prices[-1] - prices[0] or max(1.0, abs(prices[0]))
    axes.set_xlim(prices[0] - 0.04 * reach, prices[-1] + 0.03 * reach)
    axes.grid(visible=False, axis="x")


def _case_axis(axes: Axes, summary: Summary) -> None:
    times = [row[0] for cell in summary.cells for row in cell.curve]
    first, last = max(1, min(times, default=1)), max(times, default=10)
    axes.set_xlim(first, max(last, first + 1))
    axes.set_xlabel("Cases so far")
    axes.xaxis.set_major_formatter(_compact)
    axes.minorticks_off()


def _with_regret(summary: Summary, price: float, theorem: bool) -> list[str]:
    if theorem:
        return summary.with_theorem(price)
    return [name for name in summary.learners if price in summary.ran(name)]


def _regret_limits(summary: Summary) -> tuple[float, float]:
    """The same limits for all prices shown, so that the panels can be compared."""
    heights = []
    for price in summary.three:
        for theorem in (False, True):
            for name in _with_regret(summary, price, theorem):
                values = summary.regret(name, price, theorem=theorem)[1]
                heights += [value.mean for value in values]
    positive = [height for height in heights if height > 0 and isfinite(height)]
    high = max(positive, default=10.0)
    return max(min(positive, default=1.0), high / 1e5) / 1.3, high * 1.5


def _compact(value: float, place: object = None) -> str:
    """A number of cases in few characters: 1000 is 1k."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
