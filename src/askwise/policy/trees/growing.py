"""This module builds the nodes of a policy's tree, with the evidence at each node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from askwise.errors import ModelError
from askwise.estimation.evidence import Distribution, Evidence
from askwise.policy.trees.figures import Figures
from askwise.policy.trees.folding import folded
from askwise.policy.trees.nodes import (
    Act,
    Bounds,
    Look,
    Node,
    Reason,
    Stop,
    before_acting,
    blended_reason,
    merge,
    raised,
    scaled,
)
from askwise.policy.trees.tree import Tree

if TYPE_CHECKING:
    from askwise.policy.policy import Policy

SELECTION = 1.2
"""Intervals are wider by this factor than the evidence says, because a policy scores too well on
the cases that chose it. docs/decisions-learning.md has the evidence for this choice.
"""
START = 0
"""The empty state, or the first of as many as there are contexts."""


def root_of(policy: Policy, evidence: Evidence | None) -> Node:
    """Returns the whole policy: a level for each given observation that matters, then the
    purchases.

    A mixture of two policies begins with one level for chance.
    """
    if policy.mixture is not None:
        return _by_chance(policy, evidence)
    often = None if evidence is None else evidence.contexts()
    return _Growing(policy, evidence).from_given({}, policy.lattice.buyable, often)


def tree_of(
    policy: Policy, evidence: Evidence | None, max_depth: int | None, min_share: float
) -> Tree:
    """Returns the tree of a policy by its own evidence or by another, shortened if that is asked
    for.
    """
    if evidence is not None and not hasattr(evidence, "outcome_distribution"):
        kind = type(evidence).__name__
        raise ModelError(f"expected a Model, or evidence as of learner.evidence(), got {kind}")
    problem = policy.problem
    root = root_of(policy, policy.evidence if evidence is None else evidence)
    root = folded(raised(root, problem.lowest_reward), max_depth, min_share)
    costs = [o.cost for o in problem.observations] + [action.cost for action in problem.actions]
    figures = Figures.of(problem.reward_value, costs)
    return Tree(root, figures, policy.note, policy.lattice.stake)


def _by_chance(policy: Policy, evidence: Evidence | None) -> Node:
    """Returns one level for chance, which decides the policy that a case follows."""
    branches, reasons = [], []
    for part, one in policy.parts:
        root = scaled(root_of(one, evidence), part)
        branches.append(((f"{part:.1%}",), root))
        if root.reason is not None:
            reasons.append(before_acting(root, root.reason))
    known = replace(blended_reason(reasons), stop=None) if reasons else None
    return Look((), 0.0, "chance", tuple(branches), known)


def node_of(policy: Policy, state: int, evidence: Evidence | None = None) -> Node:
    """Returns the policy from this state on, as if all cases came there."""
    return _Growing(policy, evidence).node(state, 1.0)


class _Growing:
    """A policy, and the evidence for it."""

    def __init__(self, policy: Policy, evidence: Evidence | None) -> None:
        self.policy, self.lattice, self.evidence = policy, policy.lattice, evidence

    def from_given(self, known: dict[int, int], i: int, often: Distribution | None) -> Node:
        """Returns one level for each given observation on which anything depends, then the
        policy.
        """
        if i == len(self.lattice.observations):
            start = self.lattice.index_of(known)
            return self.node(start, 0.0 if often is None else float(often.probability[start]))
        observation = self.lattice.observations[i]
        outcomes = observation.outcomes
        children = [self.from_given(known | {i: x}, i + 1, often) for x in range(len(outcomes))]
        ordered = observation.is_ordered
        branches = merge(list(zip(outcomes, children, strict=True)), ordered=ordered)
        if len(branches) == 1:
            return branches[0][1]
        share = sum(child.reason.share for child in children if child.reason is not None)
        cases = 0.0 if often is None else often.cases * share  # those with the values above it
        reason = self._why_look(START, False, children, share, cases)
        scale = observation if ordered else None
        return Look((), 0.0, observation.name, branches, reason, scale=scale)

    def node(self, state: int, share: float) -> Node:
        """Returns what is bought now, with one level for each observation on which anything
        depends.
        """
        looks = self.policy.looks(state)
        return self._split(state, looks, looks, share) if looks else self._act(state, share)

    def _split(
        self, state: int, looks: tuple[int, ...], bought: tuple[int, ...], share: float
    ) -> Node:
        if not looks:
            return self.node(state, share)
        shares, cases = self._shares_after(state, looks[0], share)
        children = [
            self._split(child, looks[1:], (), part)
            for child, part in zip(self.lattice.children(state, looks[0]), shares, strict=True)
        ]
        observation = self.lattice.observations[looks[0]]
        ordered = observation.is_ordered
        branches = merge(list(zip(observation.outcomes, children, strict=True)), ordered=ordered)
        if len(branches) == 1 and not bought:
            return branches[0][1]
        return Look(
            bought=self.lattice.names_of(bought),
            cost=self.lattice.price(state, bought),
            observation=observation.name,
            branches=branches,
            reason=self._why_look(state, bool(bought), children, share, cases),
            scale=observation if ordered else None,
        )

    def _shares_after(self, state: int, i: int, share: float) -> tuple[list[float], float]:
        """Returns the share of the cases of each outcome of an observation, and the cases behind
        it.
        """
        outcomes = None
        if self.evidence is not None and share != 0:
            outcomes = self.evidence.outcome_distribution(state, i)
        if outcomes is None:
            return [0.0] * len(self.lattice.children(state, i)), 0.0
        return (share * outcomes.probability).tolist(), outcomes.cases

    def _act(self, state: int, share: float) -> Act:
        action, problem = self.policy.act(state), self.policy.problem
        name, cost = problem.action_names[action], problem.actions[action].cost
        if self.evidence is None:
            return Act(name, cost=cost)
        earned, spent = self.evidence.mean_reward(state, action), self.lattice.spent(state) + cost
        if earned is None:
            return Act(name, Reason(share, spent, None, 0.0), cost)
        beta = problem.reward_value
        variance = (SELECTION * beta) ** 2 * earned.variance
        bounds = Bounds(-spent, beta - spent)
        reason = Reason(share, spent, beta * earned.mean - spent, variance, bounds=bounds)
        return Act(name, reason, cost)

    def _why_look(
        self, state: int, buys: bool, children: list[Node], share: float, cases: float
    ) -> Reason | None:
        """Returns the reason at a node that buys. `cases` is the evidence for its outcomes."""
        if self.evidence is None:
            return None
        reasons = [before_acting(c, c.reason) for c in children if c.reason is not None]
        after = blended_reason(reasons)
        variance, gain = after.variance, after.gain
        if after.share == 0 and share > 0:  # no case ever bought this here
            gain = None
        elif gain is not None and cases < np.inf and after.share > 0:
            # the probability of each outcome is itself an estimate
            between = sum(
                c.reason.share / after.share * (c.reason.gain - gain) ** 2
                for c in children
                if c.reason is not None and c.reason.gain is not None
            )
            variance += SELECTION**2 * between / max(1.0, cases)
        if not buys:
            return Reason(share, after.spent, gain, variance, bounds=after.bounds)
        spent, action = self.lattice.spent(state), self.policy.act(state)
        earned, problem = self.evidence.mean_reward(state, action), self.policy.problem
        stop = Stop(problem.action_names[action], None)
        if earned is not None:
            beta = problem.reward_value
            doubt = (SELECTION * beta) ** 2 * earned.variance
            paid = problem.actions[action].cost + spent
            gained = beta * earned.mean - problem.actions[action].cost - spent
            stop = Stop(stop.action, gained, doubt, Bounds(-paid, beta - paid))
        return Reason(share, spent, gain, variance, stop, after.bounds)
