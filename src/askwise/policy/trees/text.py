"""Trees as text."""

from __future__ import annotations

from collections.abc import Iterator

from askwise.policy.trees.figures import Figures, headline, share, values_of
from askwise.policy.trees.nodes import Act, Look, Node

TITLES = ("cases", "spent", "gain", "stopping here")


def outline(root: Node) -> str:
    """The tree alone.

    >>> branches = ((("neg",), Act("wait")), (("pos",), Act("treat")))
    >>> print(outline(Look(("mri",), 9.0, "mri", branches)))
    buy mri (9)
    ├─ neg → wait
    └─ pos → treat
    """
    return "\n".join(line for line, _ in _lines(root))


def text(root: Node, figures: Figures) -> str:
    """Returns the tree with the evidence of each node beside it."""
    if root.reason is None:
        return outline(root)
    rows: list[tuple[str, ...]] = [("", *TITLES)]
    for line, node in _lines(root):
        reason = node.reason if node is not None else None
        if reason is None:
            rows.append((line, "", "", "", ""))
            continue
        spent, gain = figures.amount(reason.spent), figures.gained(reason)
        rows.append((line, share(reason.share), spent, gain, figures.stopped(reason)))
    return "\n".join(_columns(rows))


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    # the intervals are aligned, too
    split = [(*row[:3], *_parted(row[3]), row[4]) for row in rows]
    width = [max(len(row[k]) for row in split) for k in range(6)]
    for line, cases, spent, gain, doubt, stop in split:
        numbers = f"{cases:>{width[1]}}  {spent:>{width[2]}}  {gain:>{width[3]}}{doubt:<{width[4]}}"
        yield f"{line:<{width[0]}}  {numbers}  {stop}".rstrip()


def _parted(gain: str) -> tuple[str, str]:
    mean, space, doubt = gain.partition(" ")
    return mean, space + doubt


def _lines(node: Node) -> Iterator[tuple[str, Node | None]]:
    """Yields each line with its node."""
    if isinstance(node, Act):
        yield f"{node.label} (buying nothing)", node
        return
    if node.bought:
        yield headline(node), node
    yield from _branches(node, "")


def _branches(node: Look, prefix: str) -> Iterator[tuple[str, Node | None]]:
    for place, (values, child) in enumerate(node.branches):
        last = place == len(node.branches) - 1
        line = f"{prefix}{'└─' if last else '├─'} {values_of(node, values)}"
        if isinstance(child, Act):
            yield f"{line} → {child.label}", child
            continue
        is_named = child.bought or child.folded
        yield (f"{line} → {headline(child)}" if is_named else line), child
        yield from _branches(child, prefix + ("   " if last else "│  "))
