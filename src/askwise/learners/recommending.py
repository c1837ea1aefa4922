"""The one policy that is recommended, by whatever is known.

Plans are made with what can be relied on: rewards less one standard deviation (`Beliefs`), or lower
bounds among what was tried (`CountedEvidence`). What is shown of them are means: the value of what
is recommended is the gain at the root of its tree. Estimates of states by themselves need not
average out, so two things are seen to afterwards: a look after which the same is done whatever it
shows is not bought, and nothing is bought where buying nothing is expected to gain more.
"""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Choices
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.learners.acquisition import WayToBuy
from askwise.planning.trees import without_idle_looks
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.states import Lattice


def best_by(way: WayToBuy, evidence: Beliefs | CountedEvidence, lattice: Lattice) -> Policy:
    """The best policy at the prices of a lattice, by what can be relied on."""
    if isinstance(evidence, Beliefs):
        return way.best_policy(lattice, evidence)
    return way.cautious_policy(evidence.at(lattice))


def recommended(way: WayToBuy, evidence: Beliefs | CountedEvidence) -> Policy:
    """What to buy and do by all that is known of a problem."""
    policy = best_by(way, evidence, evidence.lattice)
    if isinstance(policy, SequentialPolicy):
        return _checked_path(policy, evidence)
    assert isinstance(policy, SimultaneousPolicy)
    return _checked_set(policy, evidence)


def _checked_path(
    policy: SequentialPolicy, evidence: Beliefs | CountedEvidence
) -> SequentialPolicy:
    following: Choices = policy.following.copy()
    actions: Choices = policy.actions.copy()
    if isinstance(evidence, Beliefs):
        following[evidence.probability <= 0] = -1  # nothing is known of what never comes
        following, actions = without_idle_looks(policy.lattice, following, actions)

    def now() -> SequentialPolicy:
        tables = (following.copy(), actions.copy(), policy.values)
        return SequentialPolicy(policy.lattice, *tables, policy.row_of, policy.frequency)

    stops = _where_nothing_is_better(now(), evidence)
    following[[policy.row(g) for g in stops]] = -1
    actions[[policy.row(g) for g in stops]] = [policy.act(g) for g in stops]
    return now().recommended_by(evidence)


def _checked_set(
    policy: SimultaneousPolicy, evidence: Beliefs | CountedEvidence
) -> SimultaneousPolicy:
    lattice, sets = policy.lattice, policy.sets.copy()

    def now() -> SimultaneousPolicy:
        tables = (sets, policy.actions, policy.values)
        return SimultaneousPolicy(lattice, *tables, policy.row_of, policy.frequency)

    if isinstance(evidence, Beliefs):
        for context, subset in enumerate(sets.tolist()):
            context_subset = lattice.context_subset(subset, context)
            first, end = lattice.layout.context_offsets[context_subset : context_subset + 2]
            if len(np.unique(policy.actions[first:end])) == 1:
                sets[context] = 0
    sets[_where_nothing_is_better(now(), evidence)] = 0
    return now().recommended_by(evidence)


def _where_nothing_is_better(policy: Policy, evidence: Beliefs | CountedEvidence) -> list[int]:
    """The contexts in which acting at once is expected to gain more than the policy."""
    beta, found = policy.problem.reward_value, []
    for context in range(policy.lattice.contexts):
        if not policy.looks(context):
            continue
        stopped = evidence.mean_reward(context, policy.act(context))
        reason = policy.nodes(context, evidence, 1.0).reason
        if stopped is None or reason is None or reason.gain is None:
            continue
        if reason.gain < beta * stopped.mean:
            found.append(context)
    return found
