"""Which learners the service offers: those that learn from counters alone, and forget nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from askwise.errors import OptionError
from askwise.learners import LEARNERS, make
from askwise.learners.base import BaseLearner
from askwise.problem import Problem

NOT_SERVED = {
    "policy-ucb": "it learns from more than counters hold",
    "epoch-greedy": "it plans anew for every case",
    "random-choice": "it plans anew for every case",
}
FORGETS = {"window": None, "detect": False}
"""Options of learners that forget, and what they are for one that does not."""


def new_learner(problem: Problem, name: str, options: dict[str, Any], seed: int) -> BaseLearner:
    """The learner that a project asks for, or one error that says what cannot be."""
    if name in NOT_SERVED:
        raise OptionError(f"learner {name!r} cannot be served: {NOT_SERVED[name]}")
    for option, value in options.items():
        if option in FORGETS and value != FORGETS[option]:
            raise OptionError(
                f"option {option!r}: the service keeps every event and cannot forget yet, "
                f"expected {msgspec.json.encode(FORGETS[option]).decode()}"
            )
    return make(name, problem, options, rng=seed)


def served() -> list[str]:
    """The names of the learners that can be served."""
    return [name for name in LEARNERS if name not in NOT_SERVED]
