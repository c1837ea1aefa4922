"""Reads columns of any data frame (pandas, Polars, PyArrow, …) or of plain lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from askwise.errors import TableError


def columns_of(frame: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """The cells of these columns, which must have the same length."""
    if isinstance(frame, Mapping):
        found = list(frame)
        missing = [name for name in names if name not in frame]
        columns = {} if missing else {name: list(frame[name]) for name in names}
    else:
        import narwhals as nw

        try:
            with unique_columns():
                table = nw.from_native(frame, eager_only=True)
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            raise TableError(f"expected a data frame or a mapping of columns: {error}") from None
        found = table.columns
        missing = [name for name in names if name not in table.columns]
        columns = {} if missing else {name: table[name].to_list() for name in names}
    if missing:
        names_found = ", ".join(map(str, found))
        raise TableError(f"the table has no column {missing[0]!r}, it has: {names_found}")
    lengths = {name: len(column) for name, column in columns.items()}
    for name, length in lengths.items():
        if length != lengths[names[0]]:
            raise TableError(
                f"the columns have different lengths: {names[0]!r} has {lengths[names[0]]:,} "
                f"cells, {name!r} has {length:,}"
            )
    return columns


@contextmanager
def unique_columns() -> Iterator[None]:
    """Turns narwhals' error about two columns with one name into a TableError."""
    import narwhals as nw

    try:
        yield
    except nw.exceptions.DuplicateError as error:
        named = re.search(r"'(.*)' \d+ times", str(error))
        name = repr(named[1]) if named else "alike"
        raise TableError(twice(name)) from None


def twice(name: str) -> str:
    """The message for two columns with one name."""
    return f"two columns are called {name}: rename one, or leave it out"


def cells_of(column: Any) -> list[Any]:
    """The cells of one column: a list, an array, or a series that narwhals takes."""
    if isinstance(column, list | tuple | range):
        return list(column)
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise TableError(f"a column has one dimension, got an array of shape {column.shape}")
        return column.tolist() if column.dtype.kind in "iuf" else list(column)
    import narwhals as nw

    try:
        cells: list[Any] = nw.from_native(column, series_only=True).to_list()
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise TableError(f"expected a list, an array or a series as a column: {error}") from None
    return cells


KINDS = ("dict", "pandas", "polars", "pyarrow")


def framed(columns: dict[str, list[Any]], kind: str) -> Any:
    """The columns as a frame of that kind; for "dict" as they are."""
    if kind not in KINDS:
        raise TableError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if kind == "dict":
        return columns
    try:
        backend = import_module(kind)
    except ImportError:
        raise TableError(
            f"a frame of kind {kind!r} needs {kind}, which is not installed: pip install {kind}"
        ) from None
    import narwhals as nw

    cells: dict[str, Any] = {name: _of_one_type(column) for name, column in columns.items()}
    if kind == "pandas":  # whole numbers stay whole if some are missing
        for name, column in cells.items():
            if {type(cell) for cell in column} == {int, type(None)}:
                cells[name] = backend.array(column, dtype="Int64")
    return nw.from_dict(cells, backend=backend).to_native()


def _of_one_type(column: list[Any]) -> list[Any]:
    """Turn a column of numbers and texts into texts; None stays None."""
    if len({type(cell) for cell in column} - {type(None)}) < 2:
        return column
    return [None if cell is None else str(cell) for cell in column]
