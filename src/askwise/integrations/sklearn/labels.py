"""The labels of a table: each is a class, and its text is the name of an action in the plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from askwise.errors import OptionError
from askwise.problem.bins import is_missing


def check_labels(y: Any) -> None:
    """Raises an error for a missing or blank label, and for labels of texts and others.

    It has the row, and a remedy. All else about labels is checked by scikit-learn.
    """
    if y is None:
        return
    labels = np.asarray(y, dtype=object).ravel().tolist()
    for row, label in enumerate(labels):
        if is_missing(label):
            raise OptionError(
                f"y: the label of row {row} is missing (Input y contains NaN): leave out the rows "
                "without a label, or give them one of their own"
            )
        if isinstance(label, str) and not label.strip():
            raise OptionError(f"y: the label of row {row} is an empty text: give it a name")
    text = next((label for label in labels if isinstance(label, str)), None)
    other = next((label for label in labels if not isinstance(label, str)), None)
    if text is not None and other is not None:
        raise OptionError(
            f"y has both {other!r} and {text!r}: give all labels one type, such as y.astype(str)"
        )
