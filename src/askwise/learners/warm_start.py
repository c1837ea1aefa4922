"""A learner can begin with a log: its first cases follow the log's recommendation."""

from __future__ import annotations

from askwise._support.typing import Integers
from askwise.counting import Statistics
from askwise.errors import StatisticsError
from askwise.estimation.complete_records import Log
from askwise.learners.default import Learner
from askwise.learners.learner import BaseLearner, rounds_of


def begin_with_log(
    learner: Learner,
    log: Log,
    statistics: Statistics | None = None,
    stakes: Integers | None = None,
) -> None:
    """Learns from a log before the first case: its records, or the statistics of its decisions.

    `stakes` has the stakes of its cases by kind (`case_kinds.py`), if the log says them.

    `fit.learner()` calls it. The first cases follow the log's recommendation, and exploration
    starts from there.
    """
    rounds = rounds_of(learner)
    with rounds.lock:
        now, strategy = rounds.now, rounds.strategy
        if now.opened or now.statistics.cases:
            raise StatisticsError("a learner that has opened cases cannot begin with a log")
        if statistics is not None:
            now.statistics += statistics
        now.count_opened(log.cases)  # so that a round is a part of all cases before it
        strategy.begin_with(log)
        if stakes is not None:
            strategy.count_stakes(stakes)
        strategy.settle(now)
        rounds.forget_plan()


def continue_from_log(learner: BaseLearner, log: Log, statistics: Statistics) -> None:
    """Lets another learner count a log, whose records are in the statistics, and follow it.

    Its first cases follow the log's recommendation, as many as the log has (`after_log.py`).
    """
    learner.merge(statistics)
    rounds_of(learner).strategy.begin_with(log)
