"""Finds the counters of a state: at its own index, or in a row assigned on its first visit.

Dense rows have no table, and row = state. Sparse rows are found through a hash table with open
addressing. Row 0 then stands for every unvisited state, so that reading needs no branch: its
counters stay 0. Row 1 is the empty state's. Rows are never released.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Integers


class Rows(NamedTuple):
    """The rows as the kernels use them."""

    table: Integers
    """The hash table of rows; 0 is a free place. Empty if rows are dense."""
    states: Integers
    """The state of each row; −1 for row 0."""
    used: Integers
    """The number of assigned rows, including row 0, as an array of one."""


class Counters(NamedTuple):
    """The statistics as the kernels take them, by row."""

    rows: Rows
    subset_visits: Integers
    visits: Integers
    transitions: Integers
    action_counts: Integers
    reward_sums: Integers
    graded_sums: Integers


def extended(array: npt.NDArray[Any], used: int, length: int, fill: float = 0) -> npt.NDArray[Any]:
    """A longer array with the first `used` lines of this one; the others hold `fill`."""
    shape = (length, *array.shape[1:])
    longer = np.zeros(shape, array.dtype) if fill == 0 else np.full(shape, fill, array.dtype)
    longer[:used] = array[:used]
    return longer
