"""Learning from cases that were counted elsewhere: statistics, or another learner of the same kind.

What a learner has learned is a sum: its statistics, and what it tallies beside them. Sums are added
exactly. A learner may also keep where its estimates stand, from which the next ones go on. Those
cannot be added, so they are worked out anew from the sums: it does not matter who is merged into
whom, nor in which order.
"""

from __future__ import annotations

import numpy as np

from askwise.counting import Statistics
from askwise.counting.forgetting import Knowledge
from askwise.errors import OptionError, StatisticsError
from askwise.learners.learner import BaseLearner, rounds_of


def merge(learner: BaseLearner, other: Statistics | BaseLearner) -> None:
    """Add what the other has counted; nothing changes if it does not fit.

    The other is copied before the learner is locked: two may be merged into each other at a time.
    """
    rounds = rounds_of(learner)
    strategy = rounds.strategy
    if not strategy.is_mergeable:
        raise StatisticsError(f"{learner.name} learns from more than statistics hold")
    if isinstance(other, BaseLearner):
        known = _knowledge(learner, other)
    elif isinstance(other, Statistics):
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
    """A copy of what the other learner knows, if it fits."""
    if other is learner:
        raise StatisticsError("a learner cannot be merged into itself: its cases would count twice")
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
