"""Booleans, numbers and texts: which value of an observation they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BOOLEANS = ("false", "true")
"""A boolean as text. Files have it in any case, by what wrote them: True, true, TRUE."""


def boolean_places(values: Sequence[Any]) -> dict[str, int]:
    """Which value stands for "true" and which for "false": so called in any case, or 1 and 0."""
    if set(values) == {0, 1}:
        return {truth: list(values).index(number) for number, truth in enumerate(BOOLEANS)}
    called = [str(value).lower() for value in values]
    return {truth: called.index(truth) for truth in BOOLEANS if called.count(truth) == 1}


def as_text(cell: Any) -> Any:
    """A boolean as the text that it is in files; anything else as it is."""
    return BOOLEANS[int(cell)] if isinstance(cell, bool | np.bool_) else cell


def place_alike(values: Sequence[Any], seen: Any) -> int | None:
    """The place of the value that is called as what was seen prints; None if there is none.

    True and false may be written in any case.
    """
    if not isinstance(seen, str | int | np.integer):
        return None
    printed = str(seen)
    if printed in values:
        return values.index(printed)
    truth = printed.strip().lower()
    return boolean_places(values).get(truth) if truth in BOOLEANS else None
