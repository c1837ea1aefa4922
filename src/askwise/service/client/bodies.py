"""Makes the bodies of the clients' requests from the arguments of their methods."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

from askwise.errors import ServiceError
from askwise.problem import Problem
from askwise.service.api.messages import (
    ChosenLearner,
    NewProject,
    Observing,
    Opening,
    Rewarding,
    Seen,
)


class Decided(TypedDict, total=False):
    """How people decided on the action that they took."""

    knew_more: bool
    """Whether they knew more about the case than it did, as by default."""
    propensity: float | None
    """The probability of stopping with this action, if it is known."""


def new_project(
    name: str, problem: Problem, learner: str, options: Mapping[str, Any] | None
) -> NewProject:
    """Returns a new project with its problem and its learner."""
    return NewProject(name, problem, ChosenLearner(learner, dict(options or {})))


def opening(
    known: Mapping[str, Seen] | None, prices: Mapping[str, float] | None, stake: float
) -> Opening:
    """Returns a case to open, and refuses what JSON cannot represent."""
    if not math.isfinite(stake):  # JSON has no such numbers
        raise ServiceError(f"a stake must be a number above 0, got {stake!r}")
    own = None if prices is None else dict(prices)
    return Opening(None if known is None else dict(known), own, stake)


def observing(
    values: Mapping[str, Seen], paid: Mapping[str, float] | None, unasked: bool, knew_more: bool
) -> Observing:
    """Returns the observed values of a case."""
    return Observing(dict(values), None if paid is None else dict(paid), unasked, knew_more)


def rewarding(reward: float, default: bool, replaces: bool) -> Rewarding:
    """Returns the reward of a case, and refuses what JSON cannot represent."""
    if not math.isfinite(reward):  # JSON has no such numbers
        raise ServiceError(f"a reward must be a finite number, got {reward!r}")
    return Rewarding(reward, default, replaces)
