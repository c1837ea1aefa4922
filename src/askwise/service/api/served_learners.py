"""Which learners the service offers: those that learn from counters alone, and forget nothing.

A class of learners says itself why it cannot be served (`_why_not_served`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from askwise.errors import OptionError
from askwise.learners import LEARNERS, BaseLearner, make
from askwise.learners.learner import why_not_served
from askwise.learners.registry import learner_class
from askwise.problem import Problem

FORGETS = {"window": None, "detect": False}
"""Options of learners that forget, and what they are for one that does not."""


def new_learner(problem: Problem, name: str, options: dict[str, Any], seed: int) -> BaseLearner:
    """The learner that a project asks for, or one error that says what cannot be."""
    reason = why_not_served(learner_class(name))
    if reason:
        raise OptionError(f"learner {name!r} cannot be served: {reason}")
    for option, value in options.items():
        if option in FORGETS and value != FORGETS[option]:
            raise OptionError(
                f"option {option!r}: the service keeps every event and cannot forget yet, "
                f"expected {msgspec.json.encode(FORGETS[option]).decode()}"
            )
    return make(name, problem, options, rng=seed)


def served() -> list[str]:
    """The names of the learners that can be served."""
    return [name for name in LEARNERS if not why_not_served(LEARNERS[name])]
