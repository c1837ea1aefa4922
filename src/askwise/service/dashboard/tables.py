"""An uploaded table of past cases becomes a drafted problem, and a learner that starts from it.

A table is as large as a body may be. It is read in a thread of low priority, and nothing of it is
stored. The answer has the learner.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from askwise.errors import AskwiseError, TableError, TooLargeError
from askwise.explain.explanation import notes_of
from askwise.logs import Draft, draft, fit
from askwise.logs.files import check_header
from askwise.problem import Problem
from askwise.problem.booleans import BOOLEANS
from askwise.service.api.messages import TreeAnswer
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.api.sizes import MOST_OBSERVATIONS, check_size, why_not_served
from askwise.service.api.tables import DraftAnswer, Drafting, FitAnswer, Fitting

MOST_ROWS = 100_000
MOST_COLUMNS = MOST_OBSERVATIONS + 4
"""Beside observations there are actions, rewards, orders and propensities."""

MOST_SAVED = 700_000
"""Bytes of a learner, with which a project can still be created: a body has at most a megabyte."""

LARGER = "a larger one goes through `askwise fit` and `askwise ledger create`"

T = TypeVar("T")

_NUMBERS: tuple[tuple[str, Callable[[float], bool], str], ...] = (
    ("reward", math.isfinite, "a number"),
    ("stake", lambda number: 0.0 < number <= 1e9, "a number above 0"),
)
"""The roles of columns of numbers, and what their cells must be."""

_ROW = re.compile(r"\brow (\d+)")


class UploadedTable:
    """The cells of a CSV, column by column."""

    def __init__(self, text: str) -> None:
        reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
        try:
            self._read(reader)
        except csv.Error as error:
            raise TableError(f"line {reader.line_num}: not a CSV: {error}") from None

    def _read(self, reader: Any) -> None:
        header: list[str] = next(reader, [])
        if not header:
            raise TableError("line 1: the names of the columns are missing")
        if len(header) > MOST_COLUMNS:
            raise TableError(
                f"{len(header):,} columns, at most {MOST_COLUMNS:,} are read: {LARGER}"
            )
        check_header("line 1", header, is_path=False)
        rows: list[list[str]] = []
        self._lines: list[int] = []
        """On which line each row ends."""
        for row in reader:
            if not row:
                continue  # an empty line, such as the last one
            if len(rows) == MOST_ROWS:
                raise TableError(f"more than {MOST_ROWS:,} rows are not read: {LARGER}")
            if len(row) != len(header):
                raise TableError(self._ragged(reader.line_num, row, header))
            rows.append(row)
            self._lines.append(reader.line_num)
        if not rows:
            raise TableError("the table has no rows but the names of its columns")
        self.columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))

    @staticmethod
    def _ragged(line: int, row: list[str], header: list[str]) -> str:
        has = f"line {line} has {len(row):,} cells, the first line has {len(header):,}"
        if len(row) < len(header):
            return f"{has}: column {header[len(row)]!r} is missing there"
        return f"{has}: a cell with a comma in it needs quotes"

    @property
    def rows(self) -> int:
        """The number of rows, without the line of names."""
        return len(self._lines)

    def in_lines(self, message: str) -> str:
        """Returns a message of the library about a row, with its line number."""

        def with_line(found: re.Match[str]) -> str:
            row = int(found[1])
            return f"line {self._lines[row]}" if row < len(self._lines) else found[0]

        return _ROW.sub(with_line, message)


def drafted(asked: Drafting) -> DraftAnswer:
    """A problem that the table fits, as far as it was said what its columns are."""
    table = _table(asked)
    answer = DraftAnswer(list(table.columns), table.rows)
    if asked.label is None and asked.action is None and asked.reward is None:
        return answer
    columns = {name: cells for name, cells in table.columns.items() if name != asked.order}
    if asked.order is not None and len(columns) == len(table.columns):
        raise Refusal(422, f"the table has no column {asked.order!r}", "#/order")
    for role, is_right, expected in _NUMBERS:
        _check_numbers(table, getattr(asked, role), is_right, expected)

    def work() -> None:
        found = draft(columns, **_roles(asked))
        answer.problem, left_out = _to_be_served(found)
        answer.left_out = {name: in_fields(why) for name, why in left_out.items()}
        answer.remarks = [in_fields(table.in_lines(remark)) for remark in found.remarks]

    _within(table, work)
    return answer


def _check_numbers(
    table: UploadedTable, name: str | None, is_right: Callable[[float], bool], expected: str
) -> None:
    """Refuses a column with a cell that could not be fitted: a draft would hide it."""
    for row, cell in enumerate(table.columns.get(name or "", ())):
        try:
            number = 1.0 if cell.strip().lower() in BOOLEANS else float(cell)
        except ValueError:
            number = math.nan
        if not is_right(number):
            said = f"row {row}, column {name!r}: expected {expected}, got {cell[:40]!r}"
            raise Refusal(422, table.in_lines(said), "#/table")


def _to_be_served(found: Draft) -> tuple[Problem, dict[str, str]]:
    """The draft as a problem that a project takes, and which columns are left out, and why.

    Columns with names or values that are too long are left out. If there are too many states, a
    case may buy fewer observations.
    """
    reasons = {o.name: why_not_served(o) for o in found.problem.observations}
    left_out = {**found.left_out, **{name: why for name, why in reasons.items() if why}}
    kept = [o for o in found.problem.observations if o.name not in left_out]
    if not kept:
        why = "; ".join(f"{name[:40]} {reason}" for name, reason in left_out.items())
        raise TableError(f"the table has no column that could be an observation: {why}")
    most = min(found.problem.m, len(kept))
    while True:
        problem = msgspec.structs.replace(found.problem, observations=kept, max_observations=most)
        try:
            check_size(problem, "learner", {})
        except TooLargeError as error:
            if most == 1:
                raise TableError(str(error)) from None
            most -= 1
        else:
            return problem, left_out


def fitted(asked: Fitting) -> FitAnswer:
    """Returns the fit of the table for that problem, with a learner that starts from it."""
    table = _table(asked)

    def learn() -> FitAnswer:
        check_size(asked.problem, "learner", {})
        how = _roles(asked) | {"acquisition": asked.acquisition, "order": asked.order}
        found = fit(table.columns, asked.problem, **how)
        learner = found.learner(weight=asked.weight)
        saved = learner.to_bytes()
        if len(saved) > MOST_SAVED:
            why = f"what is learned has {len(saved) / 1e6:.1f} MB, more than a request may bring"
            raise TooLargeError(f"{why}: {LARGER}")
        policy = learner.recommend(stake=found.stake)
        tree = policy.tree(policy.evidence)
        reason = tree.root.reason
        value = None if reason is None else reason.gain
        recommends = TreeAnswer(value, str(tree), tree.to_dict())
        said = (*found.notes, *found.notes_on(policy), *notes_of(learner, policy))
        notes = [in_fields(note) for note in said]
        return FitAnswer(found.rows, notes, recommends, saved)

    return _within(table, learn)


def _table(asked: Drafting) -> UploadedTable:
    try:
        return UploadedTable(asked.table)
    except TableError as error:
        raise Refusal(422, str(error), "#/table") from None


def _roles(asked: Drafting) -> dict[str, Any]:
    names = ("label", "action", "reward", "stake")
    return {name: getattr(asked, name) for name in names}


def _within(table: UploadedTable, work: Callable[[], T]) -> T:
    """Returns the result of the work. An error of the library about the table is a refusal."""
    try:
        return work()
    except TableError as error:
        raise Refusal(422, in_fields(table.in_lines(str(error))), "#/table") from None
    except (AskwiseError, MemoryError) as error:
        why = in_fields(str(error)) or "the problem is too large"
        raise Refusal(422, why, "#/problem") from None
