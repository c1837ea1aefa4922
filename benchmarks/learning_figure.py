"""The figure of benchmarks/learning.py: score against cases, a line for each learner."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from askwise.reproduction.drawing import GRID, INK, MUTED, PAPER, SERIES, save, style

SHOWN = {
    "Learner": (SERIES[0], "solid", 2.6),
    "Learner, simultaneous": (SERIES[1], (0, (6, 1.5)), 2.0),
    "Seq-OOS, width 0.5": (SERIES[2], "solid", 1.6),
    "Sim-OOS, width 0.5": (SERIES[3], (0, (3, 1.5)), 1.6),
    "PSRL": (SERIES[5], (0, (1.2, 1.2)), 1.6),
}
"""Colour, dash and width of those that are drawn."""

TITLES = {"small": "A few hundred full states", "many": "20 to 50 observations, few matter"}
LOWEST = -0.5
APART = 0.062
"""The least distance between two labels."""


def draw(rows: Iterable[Any], path: Path) -> None:
    """Mean score of the populations that were kept aside, for each suite one panel."""
    scores: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.half == "kept-aside" and not row.is_regret and row.contestant in SHOWN:
            scores[row.suite, row.contestant][row.cases].append(row.result)
    suites = [suite for suite in TITLES if any(key[0] == suite for key in scores)]
    with style(text=False):
        figure = Figure(figsize=(4.6 * len(suites), 4.2), layout="constrained", facecolor=PAPER)
        for axes, suite in zip(np.ravel(figure.subplots(1, len(suites))), suites, strict=True):
            _panel(axes, suite, {who: line for (s, who), line in scores.items() if s == suite})
        save(figure, path)


def _panel(axes: Any, suite: str, lines: dict[str, dict[int, list[float]]]) -> None:
    axes.set_xscale("log")
    axes.set_title(TITLES[suite], loc="left", fontsize=11, color=INK)
    axes.set_xlabel("cases")
    axes.set_ylabel("score: 0 blind, 1 all known" if suite == "small" else "")
    axes.set_ylim(LOWEST, 1.04)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.axhline(1, color=GRID, linewidth=0.8)
    ends = []
    for who, (colour, dash, width) in SHOWN.items():
        if who in lines:
            cases = sorted(lines[who])
            means = [float(np.mean(lines[who][n])) for n in cases]
            axes.plot(cases, means, color=colour, linestyle=dash, linewidth=width)
            ends.append((max(means[-1], LOWEST + 0.03), cases[-1], who, colour))
    last = max(at for _, at, _, _ in ends)
    axes.set_xlim(900, last * 8)
    ticks = [n for n in (1_000, 5_000, 20_000, 100_000) if n <= last]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.minorticks_off()
    height = 2.0
    for value, _, who, colour in sorted(ends, reverse=True):
        height = min(value, height - APART)
        axes.text(last * 1.12, height, who, color=colour, va="center")
