"""The style of figures, and how they become files and parts of a page.

Matplotlib is used without pyplot, so no global setting stays changed and no display is needed. A
figure in a page has real text and named colours, so it follows the page into dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from askwise._support.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, PAPER = "#1c2024", "#5a6169", "#e1e4e8", "#ffffff"
# Okabe and Ito's hues, made darker in steps, so that they also differ as greys.
SERIES = ("#005a9c", "#00875f", "#c98200", "#b3558a", "#3f3f46", "#7d5a3c")
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"} | {
    colour: f"series-{place}" for place, colour in enumerate(SERIES)
}
"""Colours drawn with → CSS variables of the page."""

SIZE = 10.0
STYLE: dict[str, Any] = {
    "font.size": SIZE,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.solid_capstyle": "round",
    "lines.dash_capstyle": "butt",
    "svg.hashsalt": "askwise",
}
UNSIGNED = {"Date": None, "Creator": None, "Format": None, "Type": None}
_drawing = Lock()


@dataclass(frozen=True)
class Look:
    """The style of a series, which is distinct also without colour."""

    colour: str
    marker: str
    dash: Any = "solid"
    hollow: bool = False

    @property
    def face(self) -> str:
        """The fill of its marker."""
        return PAPER if self.hollow else self.colour


KNOWN = {
    "seq-oos": Look(SERIES[0], "o"),
    "sim-oos": Look(SERIES[1], "s", (0, (6, 1.5)), hollow=True),
    "contextual-ucb": Look(SERIES[2], "^", (0, (3, 1.2, 1, 1.2))),
}
OTHERS = (
    Look(SERIES[3], "D", (0, (1.2, 1.2))),
    Look(SERIES[4], "v", (0, (8, 2, 2, 2)), hollow=True),
    Look(SERIES[5], "P", (0, (4, 3))),
)
REFERENCE = (0, (4, 2.5))


def looks(learners: Sequence[str]) -> dict[str, Look]:
    """A style for each name. Known names always have the same style; others get what is left."""
    spare = [*OTHERS, *(look for name, look in KNOWN.items() if name not in learners)]
    others = [name for name in learners if name not in KNOWN]
    rest = {name: spare[place % len(spare)] for place, name in enumerate(others)}
    return {name: KNOWN.get(name) or rest[name] for name in learners}


@contextmanager
def style(*, text: bool = True) -> Iterator[None]:
    """A block to draw and save in, apart from the user's own settings of Matplotlib.

    Matplotlib's settings belong to the process, so one figure is drawn at a time. With `text`
    letters stay text. Otherwise they become outlines, which look the same everywhere.
    """
    matplotlib = need("matplotlib", "report")
    with _drawing, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | {"svg.fonttype": "none" if text else "path"})
        yield


def blank(width: float, height: float, *, left: float, right: float) -> tuple[Figure, Axes]:
    """A figure of this size in points with one pair of axes; `left` and `right` are margins."""
    from matplotlib.figure import Figure

    bottom, top = 37.0, 10.0
    figure = Figure(figsize=(width / 72, height / 72), facecolor=PAPER)
    box = (
        left / width,
        bottom / height,
        (width - left - right) / width,
        (height - bottom - top) / height,
    )
    axes = figure.add_axes(box, facecolor="none")
    axes.tick_params(length=3)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Save a figure as a file. The same figure gives the same bytes."""
    metadata: dict[str, Any] = UNSIGNED if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, dpi=200, metadata=metadata)


def inline(figure: Figure, *, name: str, alt: str) -> str:
    """SVG for the inside of a page: no background, the page's colours, unique ids."""
    out = StringIO()
    figure.savefig(out, format="svg", metadata=UNSIGNED, transparent=True)
    whole = out.getvalue()
    body = whole[whole.index(">", whole.index("<svg")) + 1 :]
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)  # it would style the page
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    for colour, variable in VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    width, height = (round(inches * 72, 2) for inches in figure.get_size_inches())
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(alt)}">'
    return head + body.strip()
