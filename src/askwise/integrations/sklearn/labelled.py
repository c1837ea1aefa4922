"""Options that name what their numbers are for: series of prices, and frames of costs.

A pandas Series or DataFrame has an index. If that has names, they decide what a number is for, not
its place. An index that only counts from 0 has no names, unless the classes are these numbers. A
frame with names on one side only is refused: its other side may be in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise._support.typing import Floats
from askwise.errors import OptionError


def by_name(series: Any) -> dict[Any, Any] | None:
    """Returns the numbers of a Series by the names of its index; None if it has no names."""
    # a list has an index, too, and its items may be of any shape
    if not hasattr(series, "to_dict") or not hasattr(series, "index") or np.ndim(series) != 1:
        return None
    names = list(series.index)
    if names == list(range(len(names))):
        return None
    found = dict(zip(names, series.tolist(), strict=True))
    if len(found) < len(names):
        again = next(name for k, name in enumerate(names) if name in names[:k])
        raise OptionError(f"costs: {again!r} is twice in the index, expected each feature once")
    return found


def in_order_of(classes: Sequence[Any], matrix: Any) -> Any:
    """Returns a matrix of costs with its rows and columns in the order of the classes.

    The names of a DataFrame must be the classes. Other matrices have this order already.
    """
    if not hasattr(matrix, "columns"):
        return matrix
    classes = list(classes)
    rows = list(matrix.index) if hasattr(matrix, "index") else []
    columns = list(matrix.columns)
    if _only_counts(rows) and _only_counts(columns):
        _check_counted(rows, columns, classes)
        return matrix.to_numpy()
    # 0, 1, 2, … are names if they are the classes
    if _only_counts(rows) and rows != classes:
        raise _one_sided("columns", "rows", "index")
    if _only_counts(columns) and columns != classes:
        raise _one_sided("rows", "columns", "columns")
    cells: Floats = matrix.to_numpy()
    return cells[np.ix_(_places(classes, rows, "row"), _places(classes, columns, "column"))]


def _only_counts(names: list[Any]) -> bool:
    return names == list(range(len(names)))


def _one_sided(named: str, other: str, place: str) -> OptionError:
    return OptionError(
        f"misclassification_costs: this frame names its {named}, but not its {other}: give an "
        f"array in the order of classes_, or a pandas frame with the classes as its {place} too"
    )


def _check_counted(rows: list[Any], columns: list[Any], classes: list[Any]) -> None:
    """Raises an error if places could be taken for classes, such as 0, 1, 2 for −1, 0, 1."""
    meant = next((name for name in [*rows, *columns] if name in classes), None)
    if meant is not None and len(rows) == len(columns) == len(classes) and rows != classes:
        known = ", ".join(map(str, classes))
        raise OptionError(
            f"misclassification_costs: the frame counts its rows and columns from 0, but {meant} "
            f"is a class, too: give an array in the order of classes_ ({known}), or a pandas frame "
            "with the classes as its index and its columns"
        )


def _places(classes: list[Any], names: list[Any], axis: str) -> list[int]:
    """Returns the place of each class among the names of one axis."""
    known = ", ".join(map(str, classes))
    for name in names:
        if name not in classes:
            raise OptionError(
                f"misclassification_costs: the {axis} {name!r} is no class, expected: {known}"
            )
    for one in classes:
        if names.count(one) != 1:
            raise OptionError(
                f"misclassification_costs: there are {names.count(one)} {axis}s for the class "
                f"{one!r}, expected one for each of: {known}"
            )
    return [names.index(one) for one in classes]
