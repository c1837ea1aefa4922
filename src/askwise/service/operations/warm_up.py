"""A new installation compiles its kernels in advance, in a separate process.

Kernels are compiled on first use and kept on disk, where other processes find them. The first
project and the first page would wait for that. So both are tried as soon as the server has started.
"""

from __future__ import annotations

from typing import Any

from askwise.problem import Observation, Problem
from askwise.service.api.served_learners import new_learner, served
from askwise.service.dashboard.explanations import policy_tree, worth
from askwise.service.replanning.policy_versions import PolicyVersion, first_plan, from_blob


def warm_up() -> None:
    """Plan for a made-up problem with one learner after the other, and explain what is planned.

    What explains a policy is the same for all learners of one model of the world.
    """
    observations = [Observation(name=name, values=["neg", "pos"], cost=1.0) for name in "abc"]
    problem = Problem(observations=observations, actions=["treat", "wait"], reward_value=10.0)
    parts: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in served()]
    for name, options in [*parts, ("learner", {"model": "additive"})]:
        learner = from_blob(first_plan(new_learner(problem, name, options, seed=0)))
        if name == "learner":
            planned = PolicyVersion(1, learner, learner.policy)
            policy_tree(planned)
            worth(planned)
