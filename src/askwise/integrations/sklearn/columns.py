"""A table as numbers: columns that are numbers as they are, categories by their place.

Rows come as arrays or as data frames. A missing cell is NaN in either kind of column; a category
that was not there when the classifier was fitted is `UNSEEN`.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from askwise._support.frames import cells_of
from askwise._support.typing import Floats
from askwise.errors import OptionError
from askwise.problem.bins import is_missing

UNSEEN = -1.0
"""Stands for a category that no row had when the classifier was fitted."""


class Columns(NamedTuple):
    """The columns of a table as they were when a classifier was fitted."""

    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    """Of each column in the order of their texts; None if it is numbers."""

    @property
    def is_coded(self) -> bool:
        """Whether some column is categories."""
        return any(categories is not None for categories in self.categories)

    def encode(self, rows: Any) -> Floats:
        """A column of numbers for each column of rows."""
        table = np.empty((len(rows), len(self.names)))
        for k, known in enumerate(self.categories):
            cells = column_at(rows, k)
            if known is None:
                table[:, k] = [np.nan if is_missing(cell) else float(cell) for cell in cells]
            else:
                place = {category: float(x) for x, category in enumerate(known)}
                table[:, k] = [
                    np.nan if is_missing(cell) else place.get(cell, UNSEEN) for cell in cells
                ]
        if np.isinf(table).any():
            name = self.names[int(np.isinf(table).any(axis=0).argmax())]
            raise OptionError(
                f"feature {name!r} is infinite in some row: make it missing, or large"
            )
        return table


def read_rows(estimator: Any, rows: Any, y: Any, wanted: Any) -> tuple[Columns, Floats, Any]:
    """The columns of a table to fit on, the table as numbers, and its labels.

    `wanted` says which columns are categories: "from_dtype" means the columns of a data frame that
    are not numbers; else it is a list of names, of places, or of whether each column is one.
    """
    which = _categorical(rows, wanted)
    if not any(which):
        table, labels = validate_data(
            estimator, rows, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        names = _names_of(estimator)
        return Columns(names, (None,) * len(names)), table, labels
    validate_data(estimator, rows, skip_check_array=True)
    labels = column_or_1d(y, warn=True)
    check_consistent_length(rows, labels)
    found = []
    for k, is_category in enumerate(which):
        present = {cell for cell in column_at(rows, k) if not is_missing(cell)}
        found.append(tuple(sorted(present, key=str)) if is_category else None)
    columns = Columns(_names_of(estimator), tuple(found))
    return columns, columns.encode(rows), labels


def reread_rows(estimator: Any, columns: Columns, rows: Any) -> Floats:
    """Other rows of the same columns as numbers."""
    if columns.is_coded:
        validate_data(estimator, rows, skip_check_array=True, reset=False)
        return columns.encode(rows)
    table: Floats = validate_data(
        estimator, rows, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
    )
    return table


def column_at(rows: Any, k: int) -> list[Any]:
    """The cells of one column of an array or of a data frame."""
    if _is_frame(rows):
        return cells_of(rows[rows.columns[k]])
    return list(np.asarray(rows)[:, k].tolist())


def _is_frame(rows: Any) -> bool:
    return hasattr(rows, "columns") and hasattr(rows, "shape")


def _categorical(rows: Any, wanted: Any) -> list[bool]:
    """Whether each column is categories."""
    if isinstance(wanted, str) and wanted == "from_dtype":
        if not _is_frame(rows):
            return []
        return [not _is_numbers(column_at(rows, k)) for k in range(rows.shape[1])]
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
            raise OptionError(f"categorical_features: {len(given)} booleans for {width} columns")
        return [bool(one) for one in given]
    names = [str(name) for name in rows.columns] if _is_frame(rows) else []
    places = {name: k for k, name in enumerate(names)} | {k: k for k in range(width)}
    for one in given:
        if one not in places:
            raise OptionError(f"categorical_features: there is no column {one!r}")
    chosen = {places[one] for one in given}
    return [k in chosen for k in range(width)]


def _is_numbers(cells: list[Any]) -> bool:
    """Whether all that is not missing is a number; booleans are two categories."""
    return all(
        is_missing(cell)
        or (isinstance(cell, numbers.Real) and not isinstance(cell, bool | np.bool_))
        for cell in cells
    )


def _names_of(estimator: Any) -> tuple[str, ...]:
    if hasattr(estimator, "feature_names_in_"):
        return tuple(str(name) for name in estimator.feature_names_in_)
    return tuple(f"x{k}" for k in range(estimator.n_features_in_))
