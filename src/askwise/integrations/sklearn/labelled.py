"""Options that name what their numbers are for: series of prices, and frames of costs.

A pandas Series or DataFrame has an index. If that has names, they decide what a number is for, not
its place. An index that only counts from 0 has no names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise._support.typing import Floats
from askwise.errors import OptionError


def by_name(series: Any) -> dict[Any, Any] | None:
    """Returns the numbers of a Series by the names of its index; None if it has no names."""
    if np.ndim(series) != 1 or not hasattr(series, "to_dict") or not hasattr(series, "index"):
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
    if not hasattr(matrix, "index"):
        raise OptionError(
            "misclassification_costs: this frame names its columns, but not its rows: give an "
            "array in the order of classes_, or a pandas frame with the classes as its index too"
        )
    rows = _places(classes, list(matrix.index), "row")
    columns = _places(classes, list(matrix.columns), "column")
    cells: Floats = matrix.to_numpy()
    return cells[np.ix_(rows, columns)]


def _places(classes: Sequence[Any], names: list[Any], axis: str) -> list[int]:
    """Returns the place of each class among the names of one axis."""
    if names == list(range(len(names))):
        return list(range(len(names)))
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
