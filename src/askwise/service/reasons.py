"""Why: the policy as a tree, and what each observation is worth, as the library tells it."""

from __future__ import annotations

import math
from typing import Any

from askwise.policy import Policy
from askwise.service.policies import Planned
from askwise.trees import Act, Node


def policy_tree(planned: Planned) -> dict[str, Any]:
    """What cases follow now (it may be trying something out), and what has been learned."""
    return {
        "policy_version": planned.version,
        "follows": _tree(planned.policy),
        "recommends": _tree(planned.learner.recommend()),
    }


def worth(planned: Planned, bought: dict[str, int]) -> dict[str, Any]:
    """What each observation costs and how often it was bought."""
    lattice = planned.learner.lattice
    return {
        "policy_version": planned.version,
        "observations": [
            {"name": o.name, "cost": o.cost, "bought": bought.get(o.name, 0)}
            for o in lattice.observations[: lattice.buyable]
        ],
    }


def _tree(policy: Policy) -> dict[str, Any]:
    root = policy._from_given({}, policy.lattice.buyable)
    value = policy.value
    return {
        "value": None if math.isnan(value) else value,
        "text": policy.tree(),
        "tree": _node(root),
    }


def _node(node: Node) -> dict[str, Any]:
    if isinstance(node, Act):
        return {"action": node.action}
    return {
        "buy": list(node.bought),
        "cost": node.cost,
        "observation": node.observation,
        "branches": [{"values": list(v), "then": _node(n)} for v, n in node.branches],
    }
