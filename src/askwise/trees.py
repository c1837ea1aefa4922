"""A policy as a tree people can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from askwise.problem import Value


@dataclass(frozen=True)
class Act:
    """A leaf: what is done."""

    action: str


@dataclass(frozen=True)
class Look:
    """A node: what is bought here (nothing, if it came with an earlier one), and what each value
    of `observation` leads to. Values that lead to the same are one branch."""

    bought: tuple[str, ...]
    cost: float
    observation: str
    branches: Branches


Node = Act | Look
Branches: TypeAlias = tuple[tuple[tuple[Value | None, ...], Node], ...]


def merge(branches: list[tuple[Value | None, Node]]) -> Branches:
    """Branches with equal nodes become one, at the place of the first."""
    together: dict[Node, list[Value | None]] = {}
    for value, node in branches:
        together.setdefault(node, []).append(value)
    return tuple((tuple(values), node) for node, values in together.items())


def render(root: Node) -> str:
    """The tree as text.

    >>> branches = ((("neg",), Act("wait")), (("pos",), Act("treat")))
    >>> print(render(Look(("mri",), 9.0, "mri", branches)))
    buy mri (9)
    ├─ neg → wait
    └─ pos → treat
    """
    return "\n".join(_lines(root, prefix=""))


def _lines(node: Node, prefix: str) -> Iterator[str]:
    if isinstance(node, Act):
        yield f"{node.action} (buying nothing)"
        return
    if node.bought:
        yield _headline(node)
    yield from _branches(node, prefix)


def _branches(node: Look, prefix: str) -> Iterator[str]:
    for place, (values, child) in enumerate(node.branches):
        last = place == len(node.branches) - 1
        label = " or ".join("unavailable" if v is None else str(v) for v in values)
        if len(node.bought) != 1:  # one of several bought together: say which
            label = f"{node.observation} {label}"
        line = f"{prefix}{'└─' if last else '├─'} {label}"
        if isinstance(child, Act):
            yield f"{line} → {child.action}"
            continue
        yield f"{line} → {_headline(child)}" if child.bought else line
        yield from _branches(child, prefix + ("   " if last else "│  "))


def _headline(node: Look) -> str:
    return f"buy {' + '.join(node.bought)} ({node.cost:g})"
