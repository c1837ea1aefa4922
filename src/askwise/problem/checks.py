"""Checks the names and lists of a problem."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence

from askwise.errors import ProblemError


def check_name(name: object, what: str) -> None:
    """Raises an error unless it is a text of one line that is not blank."""
    if not isinstance(name, str) or not name.strip():
        raise ProblemError(f"{what} must be a text that is not blank, got {name!r}")
    check_one_line(name, f"{what} {name!r}")


def check_one_line(text: str, what: str) -> None:
    """Raises an error if a text has a line break, which would break every tree that prints it."""
    if text.splitlines() != [text]:
        raise ProblemError(f"{what} must be one line: write it without a line break")


def check_distinct(names: Sequence[object], what: str) -> None:
    """Raises an error if a name occurs twice."""
    seen = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"{what} {name!r} is given twice")
        seen.add(name)


def as_tuple(items: object, what: str) -> tuple[object, ...]:
    """Returns the items of a list as a tuple, and refuses a text or a mapping."""
    # A text is a sequence of texts: values="yes" would silently mean "y", "e", "s".
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ProblemError(f"{what} must be a list, got {items!r}")
    # NumPy's whole numbers are as good as Python's.
    return tuple(int(i) if is_whole(i) else i for i in items)


def checked_requires(names: object, who: str) -> tuple[str, ...]:
    """Returns the checked names that an observation or an action requires."""
    requires = as_tuple(names, f"{who}: requires")
    for name in requires:
        check_name(name, f"{who}: what it requires")
    check_distinct(requires, f"{who}: what it requires,")
    return requires  # type: ignore[return-value]


def checked_stands_for(
    groups: object, values: Sequence[object], is_binned: bool, who: str
) -> tuple[tuple[object, ...], ...]:
    """Returns what each value stands for. Nothing may stand for two values."""
    found = tuple(
        as_tuple(texts, f"{who}: stands_for") for texts in as_tuple(groups, f"{who}: stands_for")
    )
    if not found:
        return ()
    if is_binned:
        raise ProblemError(f"{who}: it has edges, so leave out stands_for")
    if len(found) != len(values):
        raise ProblemError(
            f"{who}: stands_for has {len(found)} groups for {len(values)} values, expected one each"
        )
    for text in (text for texts in found for text in texts):
        if not is_value(text):
            raise ProblemError(f"{who}: stands_for: {text!r} must be a text or a whole number")
    check_distinct([text for texts in found for text in texts], f"{who}: stands_for")
    for value, texts in zip(values, found, strict=True):
        for text in texts:
            if text in values and text != value:
                raise ProblemError(f"{who}: stands_for: {text!r} is another value already")
    return found


def is_value(value: object) -> bool:
    """Whether it can be the value of an observation: a text or a whole number."""
    return isinstance(value, str) or is_whole(value)


def is_whole(number: object) -> bool:
    """Whether it is a whole number and not a boolean."""
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)
