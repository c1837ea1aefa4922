"""Booleans in cells: which value of an observation they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

TRUTHS = ("false", "true")
"""A boolean as text. Files have it in any case, by what wrote them: True, true, TRUE."""


def truth_places(values: Sequence[Any]) -> dict[str, int]:
    """Which value stands for "true" and which for "false": so called in any case, or 1 and 0."""
    if set(values) == {0, 1}:
        return {truth: list(values).index(number) for number, truth in enumerate(TRUTHS)}
    called = [str(value).lower() for value in values]
    return {truth: called.index(truth) for truth in TRUTHS if called.count(truth) == 1}


def as_text(cell: Any) -> Any:
    """A boolean as the text that it is in files; anything else as it is."""
    return TRUTHS[int(cell)] if isinstance(cell, bool | np.bool_) else cell
