"""A policy as a tree: what is bought, what each value leads to, what is done, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from askwise._support.numbers import as_price
from askwise.problem import Value


@dataclass(frozen=True)
class Stop:
    """What would be done in a node that looks, if one stopped there."""

    action: str
    gain: float | None
    """What that would earn; None if nobody knows."""
    variance: float = 0.0
    """Of that estimate; 0 if it is known."""


@dataclass(frozen=True)
class Reason:
    """What is known of the cases that come to a node."""

    share: float
    """Of all cases."""
    spent: float
    """On the way there, on average; in a leaf it is all that is spent, on the action too."""
    gain: float | None
    """What such a case earns in the end, β r − cost(a) − Σ c and, in a tree that is shown, the
    lowest reward; None if nobody knows."""
    variance: float
    """Of that estimate; 0 if it is known."""
    stop: Stop | None = None


@dataclass(frozen=True)
class Act:
    """A leaf: what is done."""

    action: str
    reason: Reason | None = field(default=None, compare=False)
    cost: float = 0.0
    """What doing it costs."""

    @property
    def label(self) -> str:
        """Its name, with what it costs, if it does."""
        return f"{self.action} ({as_price(self.cost)})" if self.cost else self.action


@dataclass(frozen=True)
class Look:
    """A node: what is bought here (nothing, if it came with an earlier one or is given), and what
    each value of `observation` leads to. Values that lead to the same are one branch."""

    bought: tuple[str, ...]
    cost: float
    observation: str
    branches: Branches
    reason: Reason | None = field(default=None, compare=False)
    folded: int = 0
    """How many nodes below are left out; then there are no branches."""


Node = Act | Look
Branches: TypeAlias = tuple[tuple[tuple[Value | None, ...], Node], ...]


def merge(branches: list[tuple[Value | None, Node]]) -> Branches:
    """Branches with equal nodes become one, at the place of the first."""
    together: dict[Node, list[tuple[Value | None, Node]]] = {}
    for value, node in branches:
        together.setdefault(node, []).append((value, node))
    return tuple(
        (tuple(value for value, _ in equal), blended([node for _, node in equal]))
        for equal in together.values()
    )


def blended(nodes: Sequence[Node]) -> Node:
    """Equal nodes as one, for the cases that come to any of them."""
    first = nodes[0]
    if len(nodes) == 1 or first.reason is None:
        return first
    reason = blended_reason([node.reason for node in nodes if node.reason is not None])
    if isinstance(first, Act):
        return replace(first, reason=reason)
    looks = [node for node in nodes if isinstance(node, Look)]
    branches = tuple(
        (values, blended([look.branches[k][1] for look in looks]))
        for k, (values, _) in enumerate(first.branches)
    )
    return replace(first, branches=branches, reason=reason)


def scaled(node: Node, part: float) -> Node:
    """The same node, if only a part of the cases comes to it."""
    reason = node.reason and replace(node.reason, share=part * node.reason.share)
    if isinstance(node, Act):
        return replace(node, reason=reason)
    branches = tuple((values, scaled(child, part)) for values, child in node.branches)
    return replace(node, branches=branches, reason=reason)


def raised(node: Node, by: float) -> Node:
    """The same node and all below it, with gains that are so much higher."""
    if by == 0.0 or node.reason is None:
        return node
    reason, stop = node.reason, node.reason.stop
    if stop is not None and stop.gain is not None:
        stop = replace(stop, gain=by + stop.gain)
    gain = None if reason.gain is None else by + reason.gain
    reason = replace(reason, gain=gain, stop=stop)
    if isinstance(node, Act):
        return replace(node, reason=reason)
    branches = tuple((values, raised(child, by)) for values, child in node.branches)
    return replace(node, branches=branches, reason=reason)


def blended_reason(reasons: Sequence[Reason]) -> Reason:
    """Of the cases of all of them."""
    share = sum(reason.share for reason in reasons)
    came = [reason for reason in reasons if reason.share > 0] or list(reasons)
    weights = [reason.share / share if share > 0 else 1 / len(came) for reason in came]
    pairs = list(zip(weights, came, strict=True))
    stops = {None if r.stop is None else r.stop.action for r in came}
    stop = came[0].stop if len(stops) == 1 else None
    if stop is not None:
        every = [(w, r.stop) for w, r in pairs if r.stop is not None]
        gain = _mean([(w, s.gain) for w, s in every])
        stop = Stop(stop.action, gain, sum(w * w * s.variance for w, s in every))
    return Reason(
        share=share,
        spent=sum(w * r.spent for w, r in pairs),
        gain=_mean([(w, r.gain) for w, r in pairs]),
        variance=sum(w * w * r.variance for w, r in pairs),
        stop=stop,
    )


def _mean(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    """None, if one of them is not known."""
    total = 0.0
    for weight, value in pairs:
        if value is None:
            return None
        total += weight * value
    return total
