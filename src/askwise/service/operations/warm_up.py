"""What a new installation has yet to compile, done ahead in a process of its own.

Kernels are compiled on first use and kept on disk, where other processes find them. The first
project that is created, and the first page that is opened, would wait for that; so both are tried
out as soon as the server has started.
"""

from __future__ import annotations

from typing import Any

from askwise.problem import Observation, Problem
from askwise.service.api.served_learners import new_learner, served
from askwise.service.dashboard.explanations import policy_tree, worth
from askwise.service.replanning.policy_versions import PolicyVersion, first_plan, from_blob


def warm_up() -> None:
    """Plan for a made-up problem and explain the policy, with one learner after the other."""
    observations = [Observation(name=name, values=["neg", "pos"], cost=1.0) for name in "abc"]
    problem = Problem(observations=observations, actions=["treat", "wait"], reward_value=10.0)
    parts: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in served()]
    for name, options in [*parts, ("learner", {"model": "additive"})]:
        learner = from_blob(first_plan(new_learner(problem, name, options, seed=0)))
        planned = PolicyVersion(1, learner, learner.policy)
        policy_tree(planned)
        worth(planned)
