"""Remarks on a drafted problem: what a reader should check before fitting."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askwise._support.numbers import shown
from askwise.problem import Observation
from askwise.problem.bins import is_missing
from askwise.problem.observation import UNAVAILABLE

GROWS = 0.8
"""The least correlation of |reward| and stake at which rewards seem to be totals."""
ROWS_EACH = 2
"""The least number of rows that a log should have for each combination of values."""
MANY_VALUES = 10
"""The number of values above which an observation is named, if there are too many combinations."""
NEARLY = 0.9
"""The least share of numbers at which a column of texts is one of numbers with wrong cells."""

FEWEST_TOLD = 20
"""With fewer rows that the most frequent label misses, a column may tell them by chance."""
TELLS = 20
"""A column that is wrong so many times less often than the most frequent label may be a result."""


def of_one_action(name: str, actions: Sequence[str]) -> list[str]:
    """Returns a remark if there is only one action, so that there is nothing to decide."""
    if len(actions) > 1:
        return []
    return [
        f"{name} has one action only, {actions[0]!r}: there is nothing to decide, so nothing is "
        "worth buying. Add the other actions to the problem, with rows in which they are right"
    ]


def of_copies(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Returns a remark on every column that has the same cells as one before it."""
    first, said = dict[tuple[Any, ...], str](), list[str]()
    for name, cells in columns.items():
        same = first.setdefault(tuple(None if is_missing(c) else c for c in cells), name)
        if same != name:
            said.append(f"{name} has the same cells as {same} in every row: leave out one of them")
    return said


def of_telling_alone(
    observation: Observation, cells: Sequence[Any], labels: Sequence[Any]
) -> list[str]:
    """Returns a remark if one column tells nearly every label: it may come from the decision."""
    by_value: dict[int | None, Counter[Any]] = defaultdict(Counter)
    for cell, label in zip(cells, labels, strict=True):
        failed = is_missing(cell) or cell == UNAVAILABLE
        by_value[None if failed else observation.place(cell)][label] += 1
    every = sum(by_value.values(), Counter[Any]())
    rows = every.total()
    missed = rows - max(every.values())
    wrong = rows - sum(max(count.values()) for count in by_value.values())
    if missed < FEWEST_TOLD or wrong * TELLS > missed:
        return []
    return [
        f"{observation.name} alone tells the label in {rows - wrong:,} of {rows:,} rows. Leave it "
        "out if it is written after the decision, or follows from what came of it"
    ]


def of_totals(stake: str, stakes: Sequence[Any], rewards: Mapping[str, Sequence[Any]]) -> list[str]:
    """Returns a remark on rewards that grow with the stake: they seem to be totals of cases."""
    found = []
    for name, cells in rewards.items():
        pairs = [
            (abs(float(r)), float(s))
            for r, s in zip(cells, stakes, strict=True)
            if isinstance(r, int | float) and isinstance(s, int | float)
        ]
        pairs = [pair for pair in pairs if all(map(math.isfinite, pair)) and pair[0] > 0]
        if len(pairs) < 3:
            continue
        sizes, at_stake = np.array(pairs).T
        if np.ptp(sizes) == 0 or np.ptp(at_stake) == 0:
            continue
        by = float(np.corrcoef(sizes, at_stake)[0, 1])
        if by >= GROWS:
            found.append(
                f"{name} seems to be the total of a case: its size grows with {stake} "
                f"(correlation {by:.2f}). Rewards are per unit of stake: make a new column, "
                f"{name} divided by {stake}, and name that as the reward"
            )
    return found


def of_combinations(observations: Sequence[Observation], rows: int) -> list[str]:
    """Returns a remark if the values of observations have too many combinations for a log."""
    total = math.prod(len(o.outcomes) for o in observations)
    many = [o for o in observations if len(o.values) > MANY_VALUES]
    if rows >= ROWS_EACH * total or not many:
        return []
    most = max(many, key=lambda o: len(o.values))
    return [
        f"{most.name} has {len(most.values)} values: {_count(total)} combinations of values for "
        f"{rows:,} rows. Leave {most.name} out, or merge its values"
    ]


def _count(total: int) -> str:
    return f"{total:,}" if total < 10**9 else shown(float(total))


def of_empty_cells(name: str, cells: Sequence[Any]) -> list[str]:
    """Returns a remark on empty cells of logged decisions, where no observation was made."""
    empty = sum(map(is_missing, cells))
    if empty == 0 or empty == len(cells):
        return []
    return [
        f"{name} is empty in {empty:,} of {len(cells):,} rows, which means that it was not looked "
        f"at. If it was, and gave no value, write {UNAVAILABLE!r} in the cell, and declare "
        "fails: charged or refunded"
    ]


def numbers_with_gaps(cells: Sequence[Any]) -> tuple[list[Any], str] | None:
    """Returns a column of texts that are nearly all numbers as numbers, with a remark.

    The remark names the first cell that is not a number.
    """
    if not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return None
    filled = [k for k, c in enumerate(cells) if not is_missing(c) and c != UNAVAILABLE]
    wrong = [k for k in filled if not _is_number(cells[k])]
    right = len(filled) - len(wrong)
    if not wrong or right < NEARLY * len(filled):
        return None
    numbers: list[Any] = [UNAVAILABLE if cell == UNAVAILABLE else None for cell in cells]
    for k in set(filled).difference(wrong):
        numbers[k] = float(cells[k])
    said = (
        f"{right:,} of {len(filled):,} cells are numbers, row {wrong[0]} is {cells[wrong[0]]!r}. "
        "It is drafted as numbers: correct such cells, or leave such rows out, before fitting"
    )
    return numbers, said


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def why_a_leak(
    cells: Sequence[Any], actions: Sequence[Any], reward: Sequence[Any], stakes: Sequence[Any]
) -> str | None:
    """Returns why a column of numbers is another form of the reward; None if it is not.

    Such a column is linear in the reward, or in the reward times the stake, within every action.
    """
    rows = [
        (str(a), float(x), float(y), float(s))
        for x, a, y, s in zip(cells, actions, reward, stakes, strict=True)
        if all(_is_finite(number) for number in (x, y, s)) and a is not None
    ]
    if len(rows) < 20 or len({row[1] for row in rows}) < 10:
        return None
    x, y, s = (np.array(column) for column in list(zip(*rows, strict=True))[1:])
    done = np.array([row[0] for row in rows])
    for other in (y, y * s):
        if all(_follows(x[done == a], other[done == a]) for a in set(done.tolist())):
            return (
                "follows from the reward within each action, so it is what came of a decision: it "
                "is not known before"
            )
    return None


def _is_finite(cell: Any) -> bool:
    return isinstance(cell, int | float) and math.isfinite(cell)


def _follows(x: Any, y: Any) -> bool:
    """Whether one column is linear in the other, or both are constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return bool(np.ptp(x) == np.ptp(y) == 0)
    return len(x) > 2 and abs(float(np.corrcoef(x, y)[0, 1])) > 1 - 1e-6
