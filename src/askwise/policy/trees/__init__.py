"""A policy as a tree people can read: as text, as a picture, as a page."""

from askwise.policy.trees.nodes import (
    Act,
    Branches,
    Look,
    Node,
    Reason,
    Stop,
    blended_reason,
    merge,
)
from askwise.policy.trees.tree import Tree

__all__ = [
    "Act",
    "Branches",
    "Look",
    "Node",
    "Reason",
    "Stop",
    "Tree",
    "blended_reason",
    "merge",
]
