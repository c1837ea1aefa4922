"""Matches booleans, numbers and texts with the values of an observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BOOLEANS = ("false", "true")
"""Booleans as texts. Programs write them in upper or lower case: True, true, TRUE."""


def boolean_places(values: Sequence[Any]) -> dict[str, int]:
    """Finds the values for "true" and "false": these texts in any case, or 1 and 0."""
    if set(values) == {0, 1}:
        return {truth: list(values).index(number) for number, truth in enumerate(BOOLEANS)}
    called = [str(value).lower() for value in values]
    return {truth: called.index(truth) for truth in BOOLEANS if called.count(truth) == 1}


def as_text(cell: Any) -> Any:
    """Returns a boolean as its text in files, and anything else unchanged."""
    return BOOLEANS[int(cell)] if isinstance(cell, bool | np.bool_) else cell


def place_alike(values: Sequence[Any], seen: Any) -> int | None:
    """Returns the index of the value that prints like a reported one; None if there is none.

    True and false match in upper and lower case.
    """
    if not isinstance(seen, str | int | np.integer):
        return None
    printed = str(seen)
    if printed in values:
        return values.index(printed)
    truth = printed.strip().lower()
    return boolean_places(values).get(truth) if truth in BOOLEANS else None
