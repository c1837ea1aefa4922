"""Which learners the service offers: those that learn from counters alone.

A class of learners says itself why it cannot be served (`_why_not_served`).
"""

from __future__ import annotations

from typing import Any

from askwise.errors import OptionError
from askwise.learners import LEARNERS, BaseLearner, make
from askwise.learners.learner import why_not_served
from askwise.learners.registry import learner_class
from askwise.problem import Problem


def new_learner(problem: Problem, name: str, options: dict[str, Any], seed: int) -> BaseLearner:
    """The learner that a project asks for, or one error that says what cannot be."""
    reason = why_not_served(learner_class(name))
    if reason:
        raise OptionError(f"learner {name!r} cannot be served: {reason}")
    return make(name, problem, options, rng=seed)


def served() -> list[str]:
    """The names of the learners that can be served."""
    return [name for name in LEARNERS if not why_not_served(LEARNERS[name])]
