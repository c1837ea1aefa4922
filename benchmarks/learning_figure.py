"""The figure of docs/learning.md, from the table in docs/decisions-learning.md.

Run it when the table has changed: `python benchmarks/learning_figure.py`.
"""

import re
from pathlib import Path

from matplotlib.figure import Figure

from askwise.reproduction.drawing import INK, MUTED, PAPER, SERIES, save, style

DOCS = Path(__file__).parent.parent / "docs"
SHOWN = {
    "UCB1 that buys nothing": ("UCB1, buys nothing", MUTED, (0, (1.2, 1.2)), 1.5),
    "`LinUCB`": ("LinUCB, buys a fixed set", SERIES[3], (0, (3, 1.5)), 1.5),
    "a pilot of 1,000": ("1,000 complete cases, then their policy", SERIES[4], (0, (5, 1.2)), 1.5),
    "`SeqOOS(width=0.5)`": ("SeqOOS(width=0.5)", SERIES[1], "solid", 1.6),
    "**`Learner`**": ("Learner", SERIES[0], "solid", 2.8),
}
"""Row of the table: name, colour, dash and width; the most important on top."""
LOWEST, FIRST = -1.3, 500


def scores(page: str) -> tuple[list[int], dict[str, list[float]]]:
    """The numbers of cases, and the mean scores of each row, as the page has them."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    start = next(k for k, cells in enumerate(lines) if cells[0] == "mean score")
    cases = [int(text.replace(",", "")) for text in lines[start][1:5]]
    rows = {}
    for cells in lines[start + 1 :]:
        if cells[0] in SHOWN:
            texts = [re.match(r"[−\d.]+", cell) for cell in cells[1:5]]
            rows[cells[0]] = [float(text[0].replace("−", "-")) for text in texts if text]
    return cases, rows


def draw(path: Path) -> None:
    cases, rows = scores((DOCS / "decisions-learning.md").read_text(encoding="utf-8"))
    with style(text=False):
        figure = Figure(figsize=(7.6, 3.9), layout="constrained", facecolor=PAPER)
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_xticks(cases, [f"{n:,}" for n in cases])
        axes.minorticks_off()
        axes.set_ylim(LOWEST, 1.06)
        axes.axhline(0, color=MUTED, linewidth=0.9)
        axes.axhline(1, color=INK, linewidth=0.9)
        axes.set_xlim(FIRST, 1.3 * cases[-1])
        axes.annotate("the best policy", (FIRST, 1), (4, -11), textcoords="offset points")
        axes.annotate("no information", (FIRST, 0), (4, 4), textcoords="offset points")
        for row, (label, colour, dash, width) in SHOWN.items():
            axes.plot(
                cases,
                rows[row],
                color=colour,
                linestyle=dash,
                linewidth=width,
                marker="o",
                markersize=width + 1.5,
                label=label,
            )
        axes.set_xlabel("cases so far")
        axes.set_ylabel("mean score of all cases")
        handles = axes.get_legend_handles_labels()[0][::-1]
        axes.legend(handles=handles, loc="lower right", frameon=False, handlelength=2.8)
        save(figure, path)


if __name__ == "__main__":
    draw(DOCS / "learning.svg")
