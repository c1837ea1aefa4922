"""A learner merges cases that were counted elsewhere: statistics, or a learner of the same kind.

A learner's statistics and tallies are sums, which are added exactly. A learner may also keep its
current estimates, from which the next ones continue. Estimates cannot be added, so they are
computed again from the sums. So the direction and the order of merging do not matter.
"""

from __future__ import annotations

import numpy as np

from askwise.counting import Statistics
from askwise.counting.forgetting import Knowledge
from askwise.errors import OptionError, StatisticsError
from askwise.learners.learner import BaseLearner, rounds_of

ITSELF = "a learner cannot be merged into itself: its cases would count twice"


def merge(learner: BaseLearner, other: Statistics | BaseLearner) -> None:
    """Adds what the other has counted. Nothing changes if it does not fit.

    The other is copied before the learner is locked, so two may be merged into each other at once.
    """
    rounds = rounds_of(learner)
    strategy = rounds.strategy
    if not strategy.is_mergeable:
        raise StatisticsError(f"{learner.name} learns from more than statistics hold")
    if isinstance(other, BaseLearner):
        known = _knowledge(learner, other)
    elif isinstance(other, Statistics):
        if other is rounds.now.statistics:
            raise StatisticsError(ITSELF)
        if strategy.learns_from_tallies:
            raise StatisticsError(
                f"{learner.name} with this model learns from more than statistics hold: merge the "
                "learner that counted them, merge(other), not merge(other.statistics)"
            )
        known = Knowledge(other, {})
    else:
        raise StatisticsError(f"expected Statistics, or a learner of the same kind, got {other!r}")
    with rounds.lock:
        rounds.now.statistics += known.statistics
        tallies = strategy.tallies()
        for name, counted in known.tallies.items():
            np.add(tallies[name], counted, out=tallies[name])
        rounds.forget_plan()
        strategy.begin_anew(rounds.now, known.statistics.cases)


def _knowledge(learner: BaseLearner, other: BaseLearner) -> Knowledge:
    """Returns a copy of the other learner's counters, if they fit."""
    if other is learner:
        raise StatisticsError(ITSELF)
    if type(other) is not type(learner):
        raise StatisticsError(
            f"a learner of the same kind can be merged: {learner.name} and {other.name} differ"
        )
    for name, value in learner.options.items():
        if other.options[name] != value:
            raise OptionError(
                f"learners with the same options can be merged: {name} is {value!r} here and "
                f"{other.options[name]!r} in the other"
            )
    rounds = rounds_of(other)
    if rounds.now.lattice != rounds_of(learner).now.lattice:
        raise StatisticsError("learners of two different problems cannot be merged")
    with rounds.lock:
        return Knowledge(rounds.now.statistics, rounds.strategy.tallies()).copy()
