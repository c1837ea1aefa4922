"""Beginning with a log: the first cases do what the log recommends, and explore from there."""

from __future__ import annotations

from askwise.counting import Statistics
from askwise.errors import StatisticsError
from askwise.estimation.complete_records import CompleteRecords, Log
from askwise.learners.default import Learner
from askwise.learners.learner import rounds_of


def begin_with_log(
    learner: Learner,
    cases: int,
    statistics: Statistics | None = None,
    records: CompleteRecords | None = None,
) -> None:
    """Learn from a log of so many cases, before the first one: its decisions, or its records.

    `fit.learner()` calls it. From its first case on the learner does what the log recommends, and
    explores from there.
    """
    rounds = rounds_of(learner)
    with rounds.lock:
        now, strategy = rounds.now, rounds.strategy
        if now.opened or now.statistics.cases:
            raise StatisticsError("a learner that has opened cases cannot begin with a log")
        if statistics is not None:
            now.statistics += statistics
        now.count_opened(cases)  # so that its rounds are a part of all cases before them
        strategy.begin_with(Log(cases, records))
        strategy.settle(now)
        rounds.forget_plan()
