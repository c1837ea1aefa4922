"""Puts the counters of the ledger into a learner, so that it plans with them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from askwise._support.typing import Integers
from askwise.counting import BY_ROW, Statistics
from askwise.errors import LedgerError
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.service.ledger.counters import TALLY
from askwise.service.ledger.rows import Increment


def fill_counters(learner: BaseLearner, counters: Iterable[Increment]) -> None:
    """Replace the counters of a learner with those of these rows."""
    rows, rounds = _by_kind(counters), rounds_of(learner)
    rounds.now.statistics = _statistics(learner, rows)
    for name, array in rounds.strategy.tallies().items():
        array[...] = 0
        _put(array, rows.get(TALLY + name, ()), None)


def statistics_of(learner: BaseLearner, counters: Iterable[Increment]) -> Statistics:
    """The counters of these rows, stored as the learner stores its own, as a separate object."""
    return _statistics(learner, _by_kind(counters))


def _by_kind(counters: Iterable[Increment]) -> dict[str, list[Increment]]:
    rows: dict[str, list[Increment]] = {}
    for row in counters:
        rows.setdefault(row.kind, []).append(row)
    return rows


def _statistics(learner: BaseLearner, rows: dict[str, list[Increment]]) -> Statistics:
    statistics = rounds_of(learner).new_counters()
    states = {row.cell for name in BY_ROW for row in rows.get(name, ())}
    statistics.give_rows(np.array(sorted(states), np.int64))
    statistics.cases = sum(row.amount for row in rows.get("cases", ()))
    for name, array in statistics.arrays():
        _put(array, rows.get(name, ()), statistics if name in BY_ROW else None)
    # an older askwise did not count these; a reward of then may be taken back now
    np.maximum(statistics.graded_sums, 0, out=statistics.graded_sums)
    return statistics


def _put(
    array: Integers,
    rows: Iterable[Increment],
    statistics: Statistics | None,
) -> None:
    table = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3)
    cells, places, amounts = table.T
    if statistics is not None:
        cells = statistics.rows_of(np.ascontiguousarray(cells))
    try:
        array[(cells, places) if array.ndim == 2 else cells] = amounts
    except IndexError as error:
        raise LedgerError(
            f"the ledger has a counter that is not one of the problem's ({error}): "
            "askwise ledger verify shows what differs from the events"
        ) from None
