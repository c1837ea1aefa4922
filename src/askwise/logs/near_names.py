"""What a column that is missing is probably called: the same name in other letters, or nearly."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from askwise.problem import Problem

ALIKE = 0.75
"""How alike two names must be, from 0 to 1."""


def near_column(name: str, columns: Sequence[str]) -> str | None:
    """Returns the column that is probably meant by a name that no column has.

    >>> near_column("order", ["Order", "orders"]), near_column("mri", ["age"])
    ('Order', None)
    """
    plain = {column: str(column).strip().lower() for column in reversed(columns)}
    same = [column for column, text in plain.items() if text == name.lower()]
    if same:
        return same[-1]
    found = difflib.get_close_matches(name.lower(), plain.values(), n=1, cutoff=ALIKE)
    return next((column for column, text in plain.items() if text in found), None)


def did_you_mean(name: str, columns: Sequence[str]) -> str:
    """The end of a message on a missing column; "" if none is near."""
    near = near_column(name, columns)
    return "" if near is None else f"; did you mean {near!r}?"


def no_column(name: str, found: Sequence[str], free: Sequence[str]) -> str:
    """The message for a column that is named, and that the log does not have."""
    known = ", ".join(map(str, found))
    return f"the log has no column {name!r}, it has: {known}{did_you_mean(name, free)}"


def order_is_missing(columns: Sequence[str]) -> str:
    """Says how to name the order of observations, in a log without a column of that name."""
    return (
        "the log has no column 'order': say order=, the column that lists the observations of a "
        f"row in the order in which they were made{did_you_mean('order', columns)}"
    )


def missing_names(problem: Problem, columns: Sequence[str]) -> str:
    """Says which names of the problem no column has, if some have one or nearly have one."""
    free = [c for c in columns if c not in (*problem.action_names, *names_of(problem))]
    missing = [action for action in problem.action_names if action not in columns]
    wanted = [name for name in (*names_of(problem), *problem.action_names) if name not in columns]
    near = [(name, near_column(name, free)) for name in wanted]
    renamed = [f"{column!r} to {name!r}" for name, column in near if column is not None]
    said = ""
    if 0 < len(missing) < len(problem.action_names):
        said = f". No column has the rewards of {', '.join(map(repr, missing))}"
    if renamed:
        said += f". Rename the columns that are meant: {', '.join(renamed)}"
    return said


def names_of(problem: Problem) -> list[str]:
    """The names of its observations."""
    return [o.name for o in problem.observations]
