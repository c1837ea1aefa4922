"""The figure of the erratum: gain over a million cases, with conf₂ as printed and corrected."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from askwise.reproduction.drawing import GRID, INK, MUTED, PAPER, SERIES, save, style

PANELS = (
    ("printed", "conf₂ at most 1, as printed", SERIES[3]),
    ("corrected", "conf₂ at most 2, corrected", SERIES[0]),
)

TICKS = [1_000, 10_000, 100_000, 1_000_000]


def draw(found: Mapping[str, Any], cases: np.ndarray, path: Path) -> None:
    """A thin line for each run, a thick one for their mean, a dashed one for the oracle."""
    with style(text=False):
        figure = Figure(figsize=(9.2, 3.9), layout="constrained", facecolor=PAPER)
        for axes, (confidence, title, colour) in zip(
            figure.subplots(1, 2, sharey=True), PANELS, strict=True
        ):
            runs = found[confidence]
            below = int(runs.is_below.sum())
            axes.set_title(
                f"{title}\n{below} of {len(runs.gains)} runs plan below the oracle",
                loc="left",
                fontsize=10,
                color=INK,
            )
            axes.axhline(runs.best, color=MUTED, linewidth=1.2, linestyle=(0, (4, 2)))
            axes.annotate(
                f"oracle {runs.best:.4f}",
                (1_000, runs.best),
                xytext=(2, 3),
                textcoords="offset points",
                color=MUTED,
                fontsize=9,
            )
            for gains, is_below in zip(runs.gains, runs.is_below, strict=True):
                line = (SERIES[4], 1.1) if is_below else (GRID, 0.8)
                axes.plot(cases, gains, color=line[0], linewidth=line[1], zorder=2 + is_below)
            axes.plot(cases, runs.gains.mean(axis=0), color=colour, linewidth=2.4, zorder=5)
            axes.set_xscale("log")
            axes.set_xlim(1_000, cases[-1])
            axes.set_xticks(TICKS, [f"{n:,}" for n in TICKS])
            axes.minorticks_off()
            axes.set_ylim(0.1, 0.47)
            axes.set_xlabel("cases so far")
        figure.get_layout_engine().set(wspace=0.06)
        figure.axes[0].set_ylabel("gain of the last tenth, a case")
        save(figure, path)
