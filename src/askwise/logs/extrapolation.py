"""How many cases a policy ends with an action that a log of decisions never took in their state.

A log shows what an action earns in a state if the action was taken there. It also shows it if the
action was taken in all states that the log reached from there: a rule that always pays after a
clean scan shows what paying without the scan would earn in the cases with a clean scan. In the
other cases the estimate comes from other states, and the log cannot correct it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from askwise._support.typing import Flags
from askwise.logs.counting import Decisions, states_of
from askwise.policy import Policy
from askwise.policy.trees.nodes import Act, Node
from askwise.states import Lattice

FEW = 0.01
"""A smaller share of the cases is not worth a note."""

Branch = Mapping[int, list[int]]
"""The values, by observation, with which cases come to a node."""


def of_policy(policy: Policy, decisions: Decisions) -> tuple[str, ...]:
    """The note on actions that were never tried where the policy takes them."""
    share = untried_share(policy, decisions)
    if share < FEW:
        return ()
    return (
        f"About {share:.0%} of the cases end with an action that the log never took in such a "
        "state. What they gain is estimated from other states and may be far off. Try the policy "
        "beside today's rule, on a part of new cases, before you rely on it.",
    )


def untried_share(policy: Policy, decisions: Decisions) -> float:
    """The share of the cases that end with an action that the log never took in such a state."""
    lattice, actions = Lattice(policy.problem), policy.problem.action_names
    states, _ = states_of(lattice, decisions.digits)
    taken = np.unique(states * len(actions) + decisions.actions)
    untried = 0.0
    for part, one in policy.parts:
        for branch, leaf in _leaves(one.tree().root, lattice, {}):
            agree = _agreeing(decisions, branch)
            looks = lattice.subset(tuple(i for i in sorted(branch) if i < lattice.buyable))
            here = lattice.states_of(looks, decisions.digits[agree])
            action, counts = actions.index(leaf.action), decisions.counts[agree]
            tried = np.isin(here * len(actions) + action, taken)
            tried |= np.isin(states[agree] * len(actions) + action, taken)
            share = 0.0 if leaf.reason is None else part * leaf.reason.share
            untried += share * (1 - counts[tried].sum() / max(1, counts.sum()))
    return untried


def _leaves(node: Node, lattice: Lattice, branch: Branch) -> Iterator[tuple[Branch, Act]]:
    """Every leaf, with the values that lead there."""
    if isinstance(node, Act):
        yield branch, node
        return
    i = lattice.position(node.observation)
    for values, below in node.branches:
        digits = [lattice.digit(i, value) for value in values]
        yield from _leaves(below, lattice, {**branch, i: digits})


def _agreeing(decisions: Decisions, branch: Branch) -> Flags:
    """Which rows have these values."""
    agree = np.ones(len(decisions.counts), np.bool_)
    for i, digits in branch.items():
        agree &= np.isin(decisions.digits[:, i], digits)
    return agree
