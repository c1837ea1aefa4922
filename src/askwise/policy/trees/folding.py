"""Large trees are folded: deep nodes, and nodes that few cases reach, are left out."""

from __future__ import annotations

from dataclasses import replace

from askwise.errors import OptionError
from askwise.policy.trees.nodes import Act, Node
from askwise.problem.bins import is_number
from askwise.problem.checks import is_whole


def folded(root: Node, max_depth: int | None, min_share: float) -> Node:
    """Returns the tree without nodes after `max_depth` observations, or of less than `min_share` of
    all cases. Given observations do not count. Each observation of a set that is bought at once
    counts. A folded node shows what is bought there, or what it depends on, and how many nodes
    would follow.
    """
    if max_depth is not None and not (is_whole(max_depth) and max_depth >= 1):
        raise OptionError(
            f"max_depth must be a whole number of at least 1, or None, got {max_depth!r}"
        )
    if not is_number(min_share) or not 0 <= min_share <= 1:
        raise OptionError(f"min_share must be a part of all cases, from 0 to 1, got {min_share!r}")
    return _folded(root, max_depth, min_share, 0)


def _folded(node: Node, max_depth: int | None, min_share: float, depth: int) -> Node:
    if isinstance(node, Act):
        return node
    is_deep = max_depth is not None and depth >= max_depth
    is_rare = node.reason is not None and node.reason.share < min_share
    if depth and (is_deep or is_rare):
        return replace(node, branches=(), folded=_number_below(node))
    deeper = depth + (depth > 0 or bool(node.bought))
    branches = tuple(
        (values, _folded(child, max_depth, min_share, deeper)) for values, child in node.branches
    )
    return replace(node, branches=branches)


def _number_below(node: Node) -> int:
    if isinstance(node, Act):
        return 0
    return node.folded + sum(1 + _number_below(child) for _, child in node.branches)
