"""The figure of benchmarks/drift.py: score against cases while the world changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from askwise.reproduction.drawing import GRID, INK, MUTED, PAPER, SERIES, save, style
from drift import PIECE, RECENT, recent
from drift_worlds import STRETCH, Drift

SHOWN = {
    "Learner, restarted": ("restarted when told", SERIES[4], (0, (1.2, 1.2)), 1.4),
    "Seq-OOS": ("Seq-OOS", MUTED, (0, (5, 1.2, 1.2, 1.2)), 1.4),
    "Learner": ("Learner", SERIES[2], (0, (6, 1.5)), 1.6),
    "NCC-UCRL2, its best window": ("NCC-UCRL2, best window", SERIES[3], (0, (3, 1.5)), 1.6),
    "Learner, window 4,000": ("Learner(window=4000)", SERIES[1], "solid", 1.6),
    "Learner, detect": ("Learner(detect=True)", SERIES[0], "solid", 2.6),
}
"""Name, colour, dash and width of those that are drawn, the most important on top."""

PANELS = (
    "actions swapped",
    "a sign goes stale, another tells",
    "there and back",
    "slow change",
)
LOWEST = -1.0


def draw(scores: Mapping[Any, np.ndarray], suite: list[Drift], path: Path) -> None:
    """For each population a panel; lines are means over seeds, bands their 95 % intervals."""
    shown = [drift for name in PANELS for drift in suite if drift.name == name]
    with style(text=False):
        figure = Figure(figsize=(9.2, 6.6), layout="constrained", facecolor=PAPER)
        panels = np.ravel(figure.subplots(2, 2, sharey=True, sharex=True))
        for axes, drift in zip(panels, shown, strict=False):
            _panel(axes, drift, scores)
        for axes in panels[2:]:
            axes.set_xlabel("cases")
        for axes in panels[::2]:
            axes.set_ylabel("score: 0 blind, 1 all known")
        lines = {line.get_label(): line for line in reversed(panels[0].lines)}
        handles = [lines[label] for label, *_ in reversed(SHOWN.values()) if label in lines]
        figure.legend(
            handles=handles, loc="outside upper center", ncols=3, frameon=False, handlelength=2.6
        )
        save(figure, path)


def _panel(axes: Any, drift: Drift, scores: Mapping[Any, np.ndarray]) -> None:
    axes.set_title(drift.name, loc="left", fontsize=11, color=INK)
    axes.set_ylim(LOWEST, 1.06)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.axhline(1, color=GRID, linewidth=0.8)
    axes.grid(visible=False, axis="x")
    ticks = [STRETCH * k for k in range(4)]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.set_xlim(0, ticks[-1])
    _shade_changes(axes, drift)
    for who, (label, colour, dash, width) in SHOWN.items():
        runs = [recent(s) for key, s in scores.items() if key[:2] == (drift.name, who)]
        if not runs:
            continue
        begin = RECENT // PIECE - 1
        line = np.array(runs)[:, begin:]
        cases = PIECE * (np.arange(line.shape[1]) + begin + 1)
        mean = line.mean(axis=0)
        axes.plot(cases, mean, color=colour, linestyle=dash, linewidth=width, label=label)
        if len(runs) > 1:
            half = 2.26 * line.std(axis=0, ddof=1) / np.sqrt(len(runs))
            axes.fill_between(
                cases, mean - half, mean + half, color=colour, alpha=0.13, linewidth=0
            )


def _shade_changes(axes: Any, drift: Drift) -> None:
    """A line where the world changes at once, a shade while it changes slowly."""
    if len(drift.worlds) > len(drift.changes) + 1:
        axes.axvspan(drift.worlds[0][1], drift.changes[0], color=GRID, alpha=0.5, linewidth=0)
        return
    for at in drift.changes:
        axes.axvline(at, color=INK, linewidth=0.9)
