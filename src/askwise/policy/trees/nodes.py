"""A policy as a tree: what is bought, where each value leads, what is done, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from askwise._support.numbers import as_price
from askwise.problem import Observation, Value

NORMAL = 1.96
"""Standard errors on each side of an interval of 95 %."""


class Bounds(NamedTuple):
    """The least and the most that a case can gain."""

    least: float = -math.inf
    most: float = math.inf

    def raised(self, by: float) -> Bounds:
        """Returns both bounds, raised by an amount."""
        return Bounds(self.least + by, self.most + by)

    def interval(self, gain: float, variance: float) -> tuple[float, float]:
        """Returns the 95 % interval of an estimate, within what a case can gain."""
        reach = NORMAL * math.sqrt(variance)
        return min(gain, max(self.least, gain - reach)), max(gain, min(self.most, gain + reach))


UNBOUNDED = Bounds()


@dataclass(frozen=True)
class Stop:
    """The best action in a node that buys, if the case stopped there."""

    action: str
    gain: float | None
    """The gain of that action; None if it is unknown."""
    variance: float = 0.0
    """The variance of that estimate; 0 if it is known."""
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True)
class Reason:
    """The evidence about the cases that come to a node."""

    share: float
    """The share of all cases."""
    spent: float
    """The mean spend on the way there. In a leaf it is all that is spent, including the action."""
    gain: float | None
    """The mean gain of such a case in the end, β r − cost(a) − Σ c. In a tree that is shown it
    includes the lowest reward. None if it is unknown.
    """
    variance: float
    """The variance of that estimate; 0 if it is known."""
    stop: Stop | None = None
    bounds: Bounds = UNBOUNDED


@dataclass(frozen=True)
class Act:
    """A leaf, with its action."""

    action: str
    reason: Reason | None = field(default=None, compare=False)
    cost: float = 0.0
    """The cost of the action."""

    @property
    def label(self) -> str:
        """Returns its name, with its cost if it has one."""
        return f"{self.action} ({as_price(self.cost)})" if self.cost else self.action


@dataclass(frozen=True)
class Look:
    """A node with what is bought here, and where each value of `observation` leads. Nothing is
    bought if the observation came with an earlier one or is given. Values that lead to the same are
    one branch.
    """

    bought: tuple[str, ...]
    cost: float
    observation: str
    branches: Branches
    reason: Reason | None = field(default=None, compare=False)
    folded: int = 0
    """The number of nodes below that are left out. There are no branches then."""
    scale: Observation | None = field(default=None, compare=False)
    """The observation, if its values are ordered. A branch is then a range of them."""


Node = Act | Look
Branches: TypeAlias = tuple[tuple[tuple[Value | None, ...], Node], ...]


def merge(branches: list[tuple[Value | None, Node]], *, ordered: bool = False) -> Branches:
    """Returns branches with equal nodes as one, at the place of the first. If the values are
    ordered, only neighbours are joined. A failed observation has no neighbours, so it joins the
    first equal branch.
    """
    if ordered:
        return _merge_neighbours(branches)
    together: dict[Node, list[tuple[Value | None, Node]]] = {}
    for value, node in branches:
        together.setdefault(node, []).append((value, node))
    return tuple(map(_joined, together.values()))


def _merge_neighbours(branches: list[tuple[Value | None, Node]]) -> Branches:
    together: list[list[tuple[Value | None, Node]]] = []
    for value, node in branches:
        near = together if value is None else together[-1:]
        for equal in near:
            if equal[0][1] == node:
                equal.append((value, node))
                break
        else:
            together.append([(value, node)])
    return tuple(map(_joined, together))


def _joined(equal: list[tuple[Value | None, Node]]) -> tuple[tuple[Value | None, ...], Node]:
    return tuple(value for value, _ in equal), blended([node for _, node in equal])


def blended(nodes: Sequence[Node]) -> Node:
    """Returns equal nodes as one, for the cases that come to any of them."""
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
    """Returns the same node, if only a part of the cases comes to it."""
    reason = node.reason and replace(node.reason, share=part * node.reason.share)
    if isinstance(node, Act):
        return replace(node, reason=reason)
    branches = tuple((values, scaled(child, part)) for values, child in node.branches)
    return replace(node, branches=branches, reason=reason)


def raised(node: Node, by: float) -> Node:
    """Returns the same node and all below it, with gains raised by an amount."""
    if by == 0.0 or node.reason is None:
        return node
    reason, stop = node.reason, node.reason.stop
    if stop is not None and stop.gain is not None:
        stop = replace(stop, gain=by + stop.gain, bounds=stop.bounds.raised(by))
    gain = None if reason.gain is None else by + reason.gain
    reason = replace(reason, gain=gain, stop=stop, bounds=reason.bounds.raised(by))
    if isinstance(node, Act):
        return replace(node, reason=reason)
    branches = tuple((values, raised(child, by)) for values, child in node.branches)
    return replace(node, branches=branches, reason=reason)


def before_acting(node: Node, reason: Reason) -> Reason:
    """Returns the reason with what is spent on the way to a node. That of a leaf includes its
    action.
    """
    return replace(reason, spent=reason.spent - node.cost) if isinstance(node, Act) else reason


def blended_reason(reasons: Sequence[Reason]) -> Reason:
    """Returns the reason for the cases of all of them."""
    share = sum(reason.share for reason in reasons)
    came = [reason for reason in reasons if reason.share > 0] or list(reasons)
    weights = [reason.share / share if share > 0 else 1 / len(came) for reason in came]
    pairs = list(zip(weights, came, strict=True))
    stops = {None if r.stop is None else r.stop.action for r in came}
    stop = came[0].stop if len(stops) == 1 else None
    if stop is not None:
        every = [(w, r.stop) for w, r in pairs if r.stop is not None]
        gain = _mean([(w, s.gain) for w, s in every])
        variance = sum(w * w * s.variance for w, s in every)
        stop = Stop(stop.action, gain, variance, _mean_bounds([(w, s.bounds) for w, s in every]))
    return Reason(
        share=share,
        spent=sum(w * r.spent for w, r in pairs),
        gain=_mean([(w, r.gain) for w, r in pairs]),
        variance=sum(w * w * r.variance for w, r in pairs),
        stop=stop,
        bounds=_mean_bounds([(w, r.bounds) for w, r in pairs]),
    )


def _mean_bounds(pairs: Sequence[tuple[float, Bounds]]) -> Bounds:
    return Bounds(sum(w * b.least for w, b in pairs), sum(w * b.most for w, b in pairs))


def _mean(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    """Returns the weighted mean, or None if one of them is unknown."""
    total = 0.0
    for weight, value in pairs:
        if value is None:
            return None
        total += weight * value
    return total
