"""Columns of a log that are nothing to look at: identifiers, times, what came of a decision.

A draft leaves them out and says why, so that a person can put back what was taken wrongly.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from askwise.problem.bins import as_date

FEWEST = 20
"""With fewer cells than this, it is no evidence that all of them differ."""
NEARLY = 0.9
"""From this share of different texts on, a column names its rows."""
SEVERAL = 20
"""A column that is called an identifier, and has more values than that, is one."""
IDENTIFIERS = {"id", "ids", "uuid", "guid", "key", "rowid", "index", "identifier"}
TIMESTAMPS = {"timestamp", "timestamps", "datetime", "epoch", "unixtime", "ts"}
SINCE_2001 = 1e9
"""Seconds since 1970: smaller numbers are no times of a log."""
REWARDS = {"reward", "rewards", "payoff", "utility", "regret"}
"""A column with one of these among the words of its name is what came of a decision,"""
RESULTS = {"profit", "gain", "outcome", "result"}
"""and so is one that is called just this."""


def why_not_to_look(name: str, cells: Sequence[Any], actions: Collection[str]) -> str | None:
    """Why a column is no observation; None if it may be one. `cells` holds what is not missing."""
    words = words_of(name)
    if REWARDS.intersection(words) or name.strip().lower() in RESULTS:
        return "looks like what came of a decision, by its name: it is not known before"
    if name in actions:
        return "is called like an action, so it looks like what that earned"
    return _why_timestamp(words, cells) or _why_identifier(words, cells)


def _why_timestamp(words: Sequence[str], cells: Sequence[Any]) -> str | None:
    """Why a column says when its rows were written: where each has its own moment, or where dates
    never go back from row to row."""
    dates = [as_date(cell) if not isinstance(cell, str | int | float) else None for cell in cells]
    written = [day.isoformat() for day in dates if day is not None]
    is_dates = 0 < len(cells) == len(written)
    is_number = bool(cells) and all(isinstance(cell, int | float) for cell in cells)
    holds_times = is_dates or (is_number and min(cells) >= SINCE_2001)
    if holds_times and TIMESTAMPS.intersection(words):
        return "looks like a timestamp, when a row was written: its name, and what it holds"
    if not is_dates or len(cells) < FEWEST:
        return None
    different = len(set(written))
    if all(isinstance(day, datetime) for day in dates) and different >= NEARLY * len(cells):
        return "looks like a timestamp, when a row was written: nearly every row has its own"
    if different > 1 and written == sorted(written):
        return "looks like a timestamp, when a row was written: it never goes back"
    return None


def _why_identifier(words: Sequence[str], cells: Sequence[Any]) -> str | None:
    different = len(set(map(str, cells)))
    counted = f"{different:,} different values in {len(cells):,} rows"
    is_called = bool(words) and (words[-1] in IDENTIFIERS or words[0] in ("id", "uuid", "guid"))
    if is_called and (different > SEVERAL or different == len(cells)):
        return f"looks like an identifier: its name, and {counted}"
    if len(cells) < FEWEST:
        return None
    if all(isinstance(cell, str) for cell in cells) and different >= NEARLY * len(cells):
        return f"looks like an identifier or free text: {counted}"
    if _numbers_the_rows(cells):
        return f"looks like an identifier: it numbers the rows, {counted}"
    return None


def words_of(name: str) -> list[str]:
    """The words of a name: customer_id, customerId and "Customer ID" have the same."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", str(name))
    return re.findall(r"[a-z0-9]+", parted.lower())


def _numbers_the_rows(cells: Sequence[Any]) -> bool:
    """Whether whole numbers rise from row to row, with few gaps: a measurement does not."""
    if not all(isinstance(cell, int | float) and float(cell).is_integer() for cell in cells):
        return False
    rises = all(a < b for a, b in itertools.pairwise(cells))
    return rises and cells[-1] - cells[0] < 2 * len(cells)
