"""Turns a table into numbers. Dates become seconds, and categories their places.

Rows come as arrays or as data frames. A missing cell is NaN in any kind of column. An empty text
among categories is a missing cell, as in a file. A column without any cell has no categories, so it
tells nothing, whatever is in it later. Categories with few rows share one category,
`Rare.OTHER`. A category that was not in the training rows is `Rare.OTHER` too, or `UNSEEN` in a
column without rare categories.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from askwise._support.frames import cells_of, twice
from askwise._support.typing import Floats
from askwise.errors import OptionError, ProblemError
from askwise.integrations.sklearn.alike import PRIOR_RECORDS
from askwise.integrations.sklearn.labels import check_labels
from askwise.problem.bins import as_date, is_missing
from askwise.problem.checks import check_one_line

UNSEEN = -1.0
"""The code of a category that no training row had."""


MOST_KEPT = 254
"""The most categories of a column beside `Rare.OTHER`: boosted trees take 255."""
FEW_KEPT = 4
"""The number of most frequent categories that are kept, however few rows they have."""
BEGINNING = datetime(1970, 1, 1)


class Rare(Enum):
    """The category that stands for all categories of a column with few rows."""

    OTHER = "any other"

    def __str__(self) -> str:
        return self.value


class Columns(NamedTuple):
    """The columns of a table as they were when a classifier was fitted."""

    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    """The categories of each column, in the order of their texts; None for numbers and dates."""
    dates: frozenset[int] = frozenset()
    """The places of the columns that are dates."""

    @property
    def is_coded(self) -> bool:
        """Whether some column is not of numbers."""
        return bool(self.dates) or any(one is not None for one in self.categories)

    def encode(self, rows: Any) -> Floats:
        """Returns a column of numbers for each column of the rows."""
        table = np.empty((len(rows), len(self.names)))
        for k, known in enumerate(self.categories):
            cells = column_at(rows, k)
            if k in self.dates:
                table[:, k] = [_seconds(cell, self.names[k]) for cell in cells]
            elif known is None:
                table[:, k] = [_number(cell, self.names[k]) for cell in cells]
            else:
                place = {category: float(x) for x, category in enumerate(known)}
                new = place.get(Rare.OTHER, UNSEEN)
                _check_categories(cells, self.names[k])
                table[:, k] = [
                    np.nan if _is_empty(cell) else place.get(cell, new) for cell in cells
                ]
        if np.isinf(table).any():
            name = self.names[int(np.isinf(table).any(axis=0).argmax())]
            raise OptionError(
                f"feature {name!r} is infinite in some row: make it missing, or a large number"
            )
        return table


def read_rows(estimator: Any, rows: Any, y: Any, wanted: Any) -> tuple[Columns, Floats, Any]:
    """Returns the columns of a training table, the table as numbers, and its labels.

    `wanted` selects the columns of categories. "from_dtype" selects the columns of a data frame
    that are neither numbers nor dates, or have pandas' type `category`. Otherwise it is a list of
    names, of places, or of booleans.
    """
    _check_names(rows)
    check_labels(y)
    which = _categorical(rows, wanted)
    dates = frozenset(_dates(rows, which))
    if _is_frame(rows):
        declared = [] if isinstance(wanted, str) else which
        for k, name in enumerate(_names_in(rows)):
            if not (declared and declared[k]):
                _check_spans(column_at(rows, k), name)
    if not any(which) and not dates:
        with _cells_refused(rows):
            table, labels = validate_data(
                estimator, rows, y, dtype=np.float64, ensure_all_finite="allow-nan"
            )
        names = _names_of(estimator)
        return Columns(names, (None,) * len(names)), table, labels
    validate_data(estimator, rows, skip_check_array=True)
    labels = column_or_1d(y, warn=True)
    check_consistent_length(rows, labels)
    found = []
    names = _names_of(estimator)
    for k, is_category in enumerate(which or [False] * len(names)):
        cells = column_at(rows, k) if is_category else []
        _check_categories(cells, names[k])
        present = {cell for cell in cells if not _is_empty(cell)}
        ordered = sorted(present, key=lambda cell: (str(cell), type(cell).__name__))
        _check_distinct(ordered, names[k])
        found.append(tuple(ordered) if is_category else None)
    columns = Columns(names, tuple(found), dates)
    return columns, columns.encode(rows), labels


def _check_names(rows: Any) -> None:
    """Raises an error if two columns of a data frame have the same name."""
    names = list(rows.columns) if _is_frame(rows) else []
    again = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if again is not None:
        raise OptionError(f"X: {twice(repr(again))}")
    for name in names:
        try:
            check_one_line(str(name), f"the name {name!r}")
        except ProblemError as error:
            raise OptionError(f"X: {error}") from None


@contextmanager
def _cells_refused(rows: Any) -> Iterator[None]:
    """Replaces errors for a text or a number beyond every float by one that has the remedy."""
    try:
        yield
    except OverflowError:
        _check_numbers(rows, _names_in(rows))
        raise
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise OptionError(
            f"X: {error}. Name the columns of categories with categorical_features=, or give a "
            "data frame, whose columns of texts are categories"
        ) from None


def with_rare_as_one(columns: Columns, cells: Floats, weights: Floats) -> tuple[Columns, Floats]:
    """Returns the same table, in which categories with few rows share one category.

    A value with fewer rows than its prior counts for (`alike.py`) is estimated mostly by the whole
    table. Differences between hundreds of such values are due to chance.
    """
    found, cells = list(columns.categories), cells.copy()
    for k, categories in enumerate(found):
        if categories is None or len(categories) <= FEW_KEPT:
            continue
        there = cells[:, k] >= 0
        place = cells[there, k].astype(np.int64)
        often = np.bincount(place, weights[there], minlength=len(categories))
        order = np.argsort(-often, kind="stable")
        is_kept = often >= PRIOR_RECORDS
        is_kept[order[:FEW_KEPT]] = True
        is_kept[order[MOST_KEPT:]] = False
        if (~is_kept).sum() > 1:  # a single rare category keeps its name
            is_kept &= [str(category) != str(Rare.OTHER) for category in categories]
            kept = np.flatnonzero(is_kept)
            code = np.full(len(categories), float(len(kept)))
            code[kept] = np.arange(len(kept))
            cells[there, k] = code[place]
            found[k] = (*(categories[i] for i in kept), Rare.OTHER)
    return columns._replace(categories=tuple(found)), cells


def moment_at(seconds: float) -> datetime:
    """Returns the moment of a cell of a column of dates, without a zone (UTC)."""
    return BEGINNING + timedelta(seconds=seconds)


def seconds_at(moment: date) -> float:
    """Returns the cell of a moment, or of the beginning of a day."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - BEGINNING).total_seconds()


def _check_categories(cells: list[Any], name: str) -> None:
    """Raises an error if a cell cannot be a category."""
    wrong = next((cell for cell in cells if not isinstance(cell, Hashable)), None)
    if wrong is not None:
        raise OptionError(
            f"feature {name!r} has a cell that is no number, text or date: {wrong!r}; split it "
            "into columns, or leave the feature out"
        )


def _check_distinct(categories: list[Any], name: str) -> None:
    """Raises an error if two categories, in the order of their texts, have the same text."""
    for before, after in pairwise(categories):
        if str(before) == str(after):
            raise OptionError(
                f"feature {name!r} has both {before!r} and {after!r}, which cannot be told apart "
                f"in a plan: give them one type, such as X[{name!r}].astype(str)"
            )


def _is_empty(cell: Any) -> bool:
    """Whether a cell of a column of categories is missing."""
    return is_missing(cell) or (isinstance(cell, str) and not cell)


def _number(cell: Any, name: str) -> float:
    if is_missing(cell):
        return np.nan
    try:
        return float(cell)
    except OverflowError:
        raise OptionError(
            f"feature {name!r} has a whole number that is beyond every float: make it missing, or "
            "a smaller number"
        ) from None
    except (TypeError, ValueError):
        raise OptionError(
            f"feature {name!r} had numbers in the training rows, expected one, got {cell!r}"
        ) from None


def _check_numbers(rows: Any, names: Sequence[str]) -> None:
    """Raises an error that names the feature of the first cell that is no number."""
    for k, name in enumerate(names):
        for cell in column_at(rows, k):
            _number(cell, name)


def _seconds(cell: Any, name: str) -> float:
    if is_missing(cell):
        return np.nan
    moment = as_date(cell)
    if moment is None:
        raise OptionError(
            f"feature {name!r} had dates in the training rows, expected one, got {cell!r}"
        )
    return seconds_at(moment)


def reread_rows(estimator: Any, columns: Columns, rows: Any) -> Floats:
    """Returns other rows of the same columns as numbers."""
    _check_names(rows)
    if columns.is_coded:
        if len(getattr(rows, "shape", None) or np.shape(rows)) != 2:
            raise OptionError(
                "X must be a table with a line for each row, such as frame.iloc[[0]] for one row, "
                f"got {type(rows).__name__}"
            )
        validate_data(estimator, rows, skip_check_array=True, reset=False)
        return columns.encode(rows)
    try:
        table: Floats = validate_data(
            estimator, rows, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
    except (TypeError, ValueError, OverflowError):
        if getattr(rows, "shape", ())[1:] == (len(columns.names),):
            _check_numbers(rows, columns.names)
        raise
    return table


def column_at(rows: Any, k: int) -> list[Any]:
    """Returns the cells of one column of an array or of a data frame."""
    if _is_frame(rows):
        return cells_of(rows[rows.columns[k]])
    return list(np.asarray(rows)[:, k].tolist())


def _is_frame(rows: Any) -> bool:
    return hasattr(rows, "columns") and hasattr(rows, "shape")


def _categorical(rows: Any, wanted: Any) -> list[bool]:
    """Returns for each column whether it has categories."""
    if isinstance(wanted, str) and wanted == "from_dtype":
        if not _is_frame(rows):
            return []
        return [_has_categories(rows[name]) for name in rows.columns]
    if wanted is None:
        return []
    given = list(wanted) if isinstance(wanted, Sequence | np.ndarray) else None
    if given is None or isinstance(wanted, str):
        raise OptionError(
            "categorical_features must be 'from_dtype', None, or a list of names, of places or of "
            f"booleans, got {wanted!r}"
        )
    width = np.shape(rows)[1]
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        if len(given) != width:
            raise OptionError(
                f"categorical_features: {len(given)} booleans for {width} columns, "
                "expected one each"
            )
        return [bool(one) for one in given]
    names = [str(name) for name in rows.columns] if _is_frame(rows) else []
    places = {name: k for k, name in enumerate(names)} | {k: k for k in range(width)}
    for one in given:
        if one not in places:
            raise OptionError(
                f"categorical_features: there is no column {one!r}, expected one of: "
                f"{', '.join(names) or f'0 to {width - 1}'}"
            )
    chosen = {places[one] for one in given}
    return [k in chosen for k in range(width)]


def _has_categories(column: Any) -> bool:
    """Whether a column of a data frame has categories, also if it has no cell at all."""
    if type(column.dtype).__name__ == "CategoricalDtype":  # of pandas, also with whole numbers
        return True
    cells = cells_of(column)
    is_empty = all(is_missing(cell) for cell in cells)
    return is_empty or not (_is_numbers(cells) or _is_dates(cells))


def _check_spans(cells: list[Any], name: str) -> None:
    """Raises an error for durations and periods. Each would be a category, but they have an order.

    They are not turned into numbers or dates here, because `policy_` reads the same rows.
    """
    for kind in _kinds(cells):
        if kind.__name__ == "Period":
            what, remedy = "periods", f"their beginnings, such as X[{name!r}].dt.start_time"
        elif issubclass(kind, timedelta | np.timedelta64):
            what, remedy = "durations", f"numbers, such as X[{name!r}].dt.total_seconds()"
        else:
            continue
        cell = next(cell for cell in cells if type(cell) is kind)
        raise OptionError(
            f"feature {name!r} has {what}, got {cell!r}: give {remedy}, or name the columns of "
            "categories with categorical_features="
        )


def _dates(rows: Any, which: list[bool]) -> list[int]:
    """Returns the columns of a data frame with dates that are not among those of categories."""
    if not _is_frame(rows):
        return []
    places = [k for k in range(rows.shape[1]) if not (which and which[k])]
    return [k for k in places if _is_dates(column_at(rows, k))]


def _is_dates(cells: list[Any]) -> bool:
    """Whether some cell is not missing, and all such cells are days or moments."""
    kinds = _kinds(cells)
    return bool(kinds) and all(issubclass(kind, date | np.datetime64) for kind in kinds)


def _is_numbers(cells: list[Any]) -> bool:
    """Whether all cells that are not missing are numbers. Booleans are two categories."""
    return all(
        issubclass(kind, numbers.Real | Decimal) and not issubclass(kind, bool | np.bool_)
        for kind in _kinds(cells)
    )


def _kinds(cells: list[Any]) -> list[type]:
    """Returns the types of the cells that are not missing, in their order."""
    return list(dict.fromkeys(type(cell) for cell in cells if not is_missing(cell)))


def _names_in(rows: Any) -> list[str]:
    if _is_frame(rows):
        return [str(name) for name in rows.columns]
    return [f"x{k}" for k in range(np.shape(rows)[1])]


def _names_of(estimator: Any) -> tuple[str, ...]:
    if hasattr(estimator, "feature_names_in_"):
        return tuple(str(name) for name in estimator.feature_names_in_)
    return tuple(f"x{k}" for k in range(estimator.n_features_in_))
