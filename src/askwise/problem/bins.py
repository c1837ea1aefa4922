"""Puts numbers and dates into bins, and recognises missing cells.

Edges e₁ < … < e_n cut the line into n + 1 half-open bins. An edge belongs to the bin above it, so x
is in bin k when e_k ≤ x < e_{k+1}. The outer bins are unbounded and contain infinity.

All edges are numbers, or all are days, or all are moments (days with a time), with or without a
time zone.
"""

import math
import numbers
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timezone
from decimal import Decimal
from itertools import pairwise

import numpy as np

from askwise.errors import ProblemError

Edge = int | float | date
"""A number, a day, or a moment (a `datetime` is a `date`)."""


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, NaT, pandas.NA."""
    if type(value) is float:  # the usual case, fast
        return math.isnan(value)
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.generic | datetime) and bool(value != value)  # noqa: PLR0124


def is_number(value: object) -> bool:
    """Whether a value is a finite number, as a price must be."""
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def as_number(value: object) -> int | float | None:
    """Returns a value as a number of Python's own types; None if it is no number. True is no
    number.
    """
    if type(value) is float or type(value) is int:  # the usual case, fast
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    try:
        return float(value)
    except OverflowError:  # a fraction beyond every float
        return -math.inf if value < 0 else math.inf


def as_date(value: object) -> date | None:
    """Returns a value as a day or a moment, also from an ISO text; None if it is neither."""
    if isinstance(value, np.datetime64):
        is_day = np.datetime_data(value)[0] in ("Y", "M", "W", "D")
        value = value.astype("datetime64[D]" if is_day else "datetime64[us]").item()
    if isinstance(value, str):
        return _from_iso(value)
    if not isinstance(value, datetime):
        return date(value.year, value.month, value.day) if isinstance(value, date) else None
    moment = datetime.combine(value.date(), value.timetz())  # a pandas.Timestamp is a subclass
    offset = moment.utcoffset()  # fixed, as a file keeps it
    return moment if offset is None else moment.replace(tzinfo=timezone(offset))


def _from_iso(text: str) -> date | None:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            found = read(text)
        except ValueError:
            continue
        return as_date(found)
    return None


def bin_of(edges: Sequence[Edge], value: object) -> int | None:
    """Returns the bin of a value; None if the value and the edges are of different kinds.

    >>> [bin_of([40, 50, 60], x) for x in (39.9, 40, 59, float("inf"), "old")]
    [0, 1, 2, 3, None]
    """
    first = edges[0]
    if not isinstance(first, date):
        number = as_number(value)
        return None if number is None else bisect_right(edges, number)
    moment = as_date(value)
    if moment is None:
        return None
    if not isinstance(first, datetime):  # a moment lies in its day
        moment = moment.date() if isinstance(moment, datetime) else moment
    elif not isinstance(moment, datetime):  # a day begins at midnight
        moment = datetime.combine(moment, time())
    if edge_type(moment) != edge_type(first):  # one has a time zone, the other has none
        return None
    return bisect_right(edges, moment)


def edge_type(edge: Edge) -> str:
    """Says in words what kind of value an edge is."""
    if not isinstance(edge, date):
        return "a number"
    if not isinstance(edge, datetime):
        return "a date"
    return "a date and time" if edge.tzinfo is None else "a date and time with a time zone"


def checked_edges(edges: object, who: str) -> tuple[Edge, ...]:
    """Returns the edges in Python's own types, or raises an error that names the wrong one."""
    if isinstance(edges, str | Mapping) or not isinstance(edges, Iterable):
        raise ProblemError(f"{who}: edges must be a list, got {edges!r}")
    checked: list[Edge] = []
    for given in edges:
        edge: Edge | None = None if is_missing(given) else as_number(given)
        if edge is None and not is_missing(given):
            edge = as_date(given)
        if edge is None or not (isinstance(edge, date) or is_number(edge)):
            raise ProblemError(f"{who}: edge {given!r} must be a finite number or a date")
        if checked and edge_type(edge) != edge_type(checked[0]):
            kind, first = edge_type(edge), edge_type(checked[0])
            raise ProblemError(f"{who}: edge {given!r} is {kind}, but the first is {first}")
        if checked and not checked[-1] < edge:  # type: ignore[operator]
            raise ProblemError(
                f"{who}: edge {given!r} must be above the one before it, {checked[-1]}"
            )
        checked.append(edge)
    if not checked:
        raise ProblemError(f"{who}: edges is empty, expected at least one")
    return tuple(checked)


def checked_names(names: tuple[object, ...], edges: Sequence[Edge], who: str) -> tuple[object, ...]:
    """Returns the names of the bins: the given texts, or names made from the edges."""
    if not names:
        return labels(edges)
    if len(names) != len(edges) + 1:
        expected = len(edges) + 1
        raise ProblemError(
            f"{who}: {len(names)} values for {expected} bins, expected {expected}, one for each bin"
        )
    for name in names:
        if not isinstance(name, str):
            raise ProblemError(f"{who}: value {name!r} names a bin, so it must be a text")
    return names


def labels(edges: Sequence[Edge]) -> tuple[str, ...]:
    """Returns readable names of the bins.

    >>> labels([40, 50.0, 62.5])
    ('<40', '40-50', '50-62.5', '>=62.5')
    >>> labels([-1, 0, 1])
    ('<-1', '-1 to 0', '0 to 1', '>=1')
    """
    names = [
        str(int(edge)) if isinstance(edge, float) and edge == int(edge) < 1e15 else str(edge)
        for edge in edges
    ]
    to = " to " if any("-" in name for name in names) else "-"
    between = (f"{a}{to}{b}" for a, b in pairwise(names))
    return (f"<{names[0]}", *between, f">={names[-1]}")
