"""The tree of a policy: as text, as a picture, as HTML and as data."""

from __future__ import annotations

from html import escape
from typing import Any

from askwise.policy.trees.figures import Figures, label_of
from askwise.policy.trees.nodes import Act, Look, Node, Reason, Stop
from askwise.policy.trees.text import outline, text
from askwise.problem import Value
from askwise.problem.stakes import for_stake


class Tree:
    """The tree shows what a policy buys and does. `print` it, or show it in a notebook.

    If it is known, each node shows the number of cases that come there and what they have spent so
    far. It also shows what they gain in the end (an interval of 95 %), and the best action if a
    case stopped there.
    """

    def __init__(self, root: Node, figures: Figures, note: str = "", stake: float = 1.0) -> None:
        self.root = root
        at_stake = for_stake(stake).capitalize()
        self.note = ". ".join(part for part in (at_stake, note) if part)
        """A remark on the estimates, if they are not what a reader expects. If the stake is not 1,
        it names the stake.
        """
        self.figures = figures
        """The format of numbers."""

    def outline(self) -> str:
        """Returns the tree as text without numbers."""
        return outline(self.root)

    def __str__(self) -> str:
        note = self.note and f"\n\n{self.note}."
        return text(self.root, self.figures) + note

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        """Whether it buys and does the same, at the same prices."""
        return isinstance(other, Tree) and self.outline() == other.outline()

    def __hash__(self) -> int:
        return hash(self.outline())

    def __contains__(self, words: str) -> bool:
        return words in str(self)

    def svg(self) -> str:
        """Returns the tree as a picture, one SVG element."""
        from askwise.policy.trees.svg import svg

        return svg(self.root, self.figures)

    def html(self) -> str:
        """Returns the tree as a list that unfolds, for a page; it brings its own style."""
        from askwise.policy.trees.html import html

        note = self.note and f"<p>{escape(self.note)}.</p>"
        return html(self.root, self.figures) + note

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Returns the tree as plain data, for JSON."""
        return as_dict(self.root)


def _doubt(known: Reason | Stop) -> dict[str, float | None]:
    """Returns the standard error of a gain, and the ends of its interval."""
    ends: tuple[float | None, float | None] = (None, None)
    if known.gain is not None:
        ends = known.bounds.interval(known.gain, known.variance)
    return {"gain_error": known.variance**0.5, "gain_low": ends[0], "gain_high": ends[1]}


def as_dict(node: Node) -> dict[str, Any]:
    """Returns a node and all below it as plain data."""
    reason = node.reason
    why: dict[str, Any] = {}
    if reason is not None:
        why = {
            "share": reason.share,
            "spent": reason.spent,
            "gain": reason.gain,
            **_doubt(reason),
        }
        if reason.stop is not None:
            stop = reason.stop
            why["stop"] = {"action": stop.action, "gain": stop.gain, **_doubt(stop)}
    if isinstance(node, Act):
        return {"action": node.action, **({"cost": node.cost} if node.cost else {}), **why}
    branches = [{**_when(node, values), **as_dict(child)} for values, child in node.branches]
    left_out = {"folded": node.folded} if node.folded else {}
    return {
        "buy": list(node.bought),
        "cost": node.cost,
        "observation": node.observation,
        **why,
        **left_out,
        "branches": branches,
    }


def _when(node: Look, values: tuple[Value | None, ...]) -> dict[str, Any]:
    """Returns the values of a branch, and the name of their range if they are ordered."""
    named = {} if node.scale is None else {"range": label_of(node, values)}
    return {"values": list(values), **named}
