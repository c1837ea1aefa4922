"""The tree of a policy, and its forms."""

from __future__ import annotations

from html import escape
from typing import Any

from askwise.policy.trees.figures import Figures
from askwise.policy.trees.nodes import Act, Node
from askwise.policy.trees.text import outline, text


class Tree:
    """What a policy buys and does. `print` it, or show it in a notebook.

    Where it is known, each node says how many cases come there, what they have spent so far, what
    they gain in the end (an interval of 95 %), and what would be done if one stopped there.
    """

    def __init__(self, root: Node, figures: Figures, note: str = "") -> None:
        self.root = root
        self.note = note
        """What is to be known of the estimates, if they are not what one expects."""
        self.figures = figures
        """How numbers are written."""

    def outline(self) -> str:
        """As text without numbers."""
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
        """The tree as a picture, one SVG element."""
        from askwise.policy.trees.svg import svg

        return svg(self.root, self.figures)

    def html(self) -> str:
        """As a list that unfolds, to be put into a page; it brings its own style."""
        from askwise.policy.trees.html import html

        note = self.note and f"<p>{escape(self.note)}.</p>"
        return html(self.root, self.figures) + note

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return as_dict(self.root)


def as_dict(node: Node) -> dict[str, Any]:
    """A node and all below it as plain data."""
    reason = node.reason
    why: dict[str, Any] = {}
    if reason is not None:
        why = {
            "share": reason.share,
            "spent": reason.spent,
            "gain": reason.gain,
            "gain_error": reason.variance**0.5,
        }
        if reason.stop is not None:
            stop = reason.stop
            error = stop.variance**0.5
            why["stop"] = {"action": stop.action, "gain": stop.gain, "gain_error": error}
    if isinstance(node, Act):
        return {"action": node.action, **({"cost": node.cost} if node.cost else {}), **why}
    branches = [{"values": list(values), **as_dict(child)} for values, child in node.branches]
    left_out = {"folded": node.folded} if node.folded else {}
    return {
        "buy": list(node.bought),
        "cost": node.cost,
        "observation": node.observation,
        **why,
        **left_out,
        "branches": branches,
    }
