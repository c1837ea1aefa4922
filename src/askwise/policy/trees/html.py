"""Trees as lists that unfold, for phones, keyboards and paper."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from askwise.policy.trees.figures import Figures, headline, share, values_of
from askwise.policy.trees.nodes import Act, Node

OPEN = 0.05
"""A branch that fewer cases take is folded at first."""

STYLE = """
.askwise-list { line-height: 1.45; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.askwise-list ul { list-style: none; margin: 0 0 0 .55rem; padding: 0 0 0 .9rem;
  border-left: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.askwise-list > ul { margin: 0; padding: 0; border: 0; }
.askwise-list li { margin: .3rem 0; }
.askwise-list summary { cursor: pointer; }
.askwise-list .when { opacity: .75; }
.askwise-list .when::after { content: " → "; }
.askwise-list .leaf::before { content: "■ "; font-size: .6em; vertical-align: .2em; opacity: .5; }
.askwise-list b { font-weight: 600; }
.askwise-list small { display: block; opacity: .75; margin-left: 1rem; }
.askwise-list small span { display: inline-block; margin-right: .7rem; }
.askwise-list meter { width: 3.2rem; height: .65rem; vertical-align: middle; }
"""


def html(root: Node, figures: Figures) -> str:
    """Returns the list, with its style."""
    body = "\n".join(_item(root, "", figures, depth=0))
    return f'<div class="askwise-list">\n<style>{STYLE}</style>\n<ul>\n{body}\n</ul>\n</div>'


def _item(node: Node, label: str, figures: Figures, depth: int) -> Iterator[str]:
    when = f'<span class="when">{escape(label)}</span>' if label else ""
    why = _why(node, figures)
    if isinstance(node, Act):
        action = node.label if depth else f"{node.label} (buying nothing)"
        yield f'<li class="leaf">{when}<b>{escape(action)}</b>{why}</li>'
        return
    title = headline(node) if node.bought or node.folded else f"{node.observation}?"
    if node.folded:
        yield f'<li class="leaf">{when}<b>{escape(title)}</b>{why}</li>'
        return
    rare = node.reason is not None and node.reason.share < OPEN
    folded = "" if rare else " open"
    yield f"<li><details{folded}><summary>{when}<b>{escape(title)}</b>{why}</summary>"
    yield "<ul>"
    for values, child in node.branches:
        yield from _item(child, values_of(node, values, titled=True), figures, depth + 1)
    yield "</ul></details></li>"


def _why(node: Node, figures: Figures) -> str:
    reason = node.reason
    if reason is None:
        return ""
    if reason.share == 0:
        return "<small>never seen</small>"
    part = share(reason.share)
    words = [
        f'<meter value="{reason.share:.4f}" title="share of all cases">{part}</meter> {part}',
        f"spent {figures.amount(reason.spent)}",
        f"gain {figures.gained(reason)}",
    ]
    if reason.stop is not None:
        words.append(f"stopping here: {escape(figures.stopped(reason))}")
    return f"<small>{' '.join(f'<span>{word}</span>' for word in words)}</small>"
