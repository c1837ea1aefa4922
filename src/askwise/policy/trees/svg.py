"""Trees as pictures from left to right. The thicker a line, the more cases take it.

Each node is a box, each level is a column, and leaves are below one another. Colours follow the
reader's light or dark scheme. The text is text: it can be selected and read aloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from askwise.policy.trees.figures import Figures, headline, share, values_of
from askwise.policy.trees.nodes import Act, Node

LINE = 17
PADDING = 10
BETWEEN = 14
"""The space between two leaves."""
LABEL = 13
WIDEST = 34
"""The most letters in a line of a box."""

STYLE = """
.askwise-tree { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.askwise-tree text { fill: #1c2733; }
.askwise-tree .title { font-weight: 600; }
.askwise-tree .why, .askwise-tree .value { fill: #5a6a7a; font-size: 11.5px; }
.askwise-tree rect { fill: #eef3f8; stroke: #b9c8d6; }
.askwise-tree rect.act { fill: #e3f4e8; stroke: #9fcfae; }
.askwise-tree path { fill: none; stroke: #b9c8d6; }
@media (prefers-color-scheme: dark) {
.askwise-tree text { fill: #e6edf3; }
.askwise-tree .why, .askwise-tree .value { fill: #9fb0c0; }
.askwise-tree rect { fill: #1d2835; stroke: #3d5166; }
.askwise-tree rect.act { fill: #173123; stroke: #34694a; }
.askwise-tree path { stroke: #3d5166; }
}
"""


@dataclass
class Box:
    """A node with its position."""

    node: Node
    label: str
    """The values that lead here."""
    title: list[str]
    why: list[str]
    children: list[Box]
    y: float = 0.0
    """The position of its middle."""

    @property
    def height(self) -> float:
        """Returns the height of the box, by its lines."""
        return LINE * (len(self.title) + len(self.why)) + PADDING

    @property
    def width(self) -> float:
        """Returns the approximate width of its text."""
        letters = [7.9 * len(line) for line in self.title] + [6.5 * len(line) for line in self.why]
        return max(letters) + 2 * PADDING


def svg(root: Node, figures: Figures) -> str:
    """The whole picture as one SVG element."""
    box = _box(root, "", figures)
    height = _place(box, 0.0)
    columns = _columns(box)
    drawn = "\n".join(_drawn(box, columns, 0))
    width = columns[-1] + _widest_at(box, len(columns) - 1) + 2
    return (
        f'<svg class="askwise-tree" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="What is bought and done" viewBox="-1 -1 {width:.0f} {height + 2:.0f}" '
        f'width="{width:.0f}" height="{height + 2:.0f}">\n<style>{STYLE}</style>\n{drawn}\n</svg>'
    )


def _box(node: Node, label: str, figures: Figures) -> Box:
    if isinstance(node, Act):
        title, children = [node.label], []
    else:
        is_named = node.bought or node.folded
        title = _wrapped(headline(node) if is_named else f"{node.observation}?")
        children = [
            _box(child, values_of(node, values, titled=True), figures)
            for values, child in node.branches
        ]
    return Box(node, label, title, _why(node, figures), children)


def _why(node: Node, figures: Figures) -> list[str]:
    reason = node.reason
    if reason is None:
        return []
    if reason.share == 0:
        return ["never seen"]
    lines = [
        f"{share(reason.share)} of cases, spent {figures.amount(reason.spent)}",
        f"gain {figures.gained(reason)}",
    ]
    if reason.stop is not None:
        lines.append(f"stopping here: {figures.stopped(reason)}")
    return lines


def _wrapped(line: str) -> list[str]:
    """Returns lines, broken between observations that are bought together."""
    lines = [""]
    for k, word in enumerate(line.split(" + ")):
        joined = word if k == 0 else f"{lines[-1]} + {word}"
        if k and len(joined) > WIDEST:
            lines[-1] += " +"
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _place(box: Box, top: float) -> float:
    """Positions every box from this top on. Returns where the next may begin."""
    if not box.children:
        box.y = top + box.height / 2
        return top + box.height
    end = top
    for k, child in enumerate(box.children):
        end = _place(child, end + (BETWEEN if k else 0))
    box.y = (box.children[0].y + box.children[-1].y) / 2
    overlap = top - (box.y - box.height / 2)
    if overlap > 0:  # taller than all that follows
        _shift(box, overlap)
        end += overlap
    return max(end, box.y + box.height / 2)


def _shift(box: Box, down: float) -> None:
    box.y += down
    for child in box.children:
        _shift(child, down)


def _columns(box: Box) -> list[float]:
    """Returns where each level begins."""
    starts, level = [0.0], [box]
    while any(one.children for one in level):
        below = [child for one in level for child in one.children]
        label = max(6.3 * max(map(len, _label_lines(child.label))) for child in below)
        starts.append(starts[-1] + max(one.width for one in level) + label + 44)
        level = below
    return starts


def _widest_at(box: Box, level: int) -> float:
    if level == 0:
        return box.width
    return max((_widest_at(child, level - 1) for child in box.children), default=0.0)


def _label_lines(label: str) -> list[str]:
    lines = [""]
    for k, word in enumerate(label.split(" or ")):
        joined = word if k == 0 else f"{lines[-1]} or {word}"
        if k and len(joined) > WIDEST // 1.5:
            lines[-1] += " or"
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _drawn(box: Box, columns: list[float], level: int) -> Iterator[str]:
    x, y = columns[level], box.y - box.height / 2
    for child in box.children:
        yield from _edge(x + box.width, box.y, columns[level + 1], child)
        yield from _drawn(child, columns, level + 1)
    kind = ' class="act"' if isinstance(box.node, Act) else ""
    yield (
        f'<rect{kind} x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        'rx="7"/>'
    )
    for k, line in enumerate(box.title + box.why):
        css = "title" if k < len(box.title) else "why"
        base = y + PADDING / 2 + LINE * (k + 0.75)
        yield f'<text class="{css}" x="{x + PADDING:.1f}" y="{base:.1f}">{escape(line)}</text>'


def _edge(x: float, y: float, end: float, child: Box) -> Iterator[str]:
    reason = child.node.reason
    thick = 1.0 if reason is None else 1.0 + 7.0 * reason.share
    turn = x + 16
    yield (
        f'<path stroke-width="{thick:.1f}" d="M{x:.1f} {y:.1f} C{turn:.1f} {y:.1f} {x:.1f} '
        f'{child.y:.1f} {turn + 8:.1f} {child.y:.1f} L{end:.1f} {child.y:.1f}"/>'
    )
    lines = _label_lines(child.label)
    above = child.y - 5 - thick / 2
    for k, line in enumerate(lines):
        base = above - LABEL * (len(lines) - 1 - k)
        yield f'<text class="value" x="{turn + 12:.1f}" y="{base:.1f}">{escape(line)}</text>'
