"""Where a state's counters are: at its own index, or in a row given out on its first visit.

A dense index has no table and row = state. A sparse one is a hash table with open addressing:
`table[h]` is a row + 1, or 0; `keys[row]` is the state.
"""

from typing import NamedTuple

from askwise._kernels.jit import jit
from askwise._typing import Integers

MULTIPLIER = -7046029254386353131
"""2⁶⁴ divided by the golden ratio, as a signed number: Fibonacci hashing."""


class Rows(NamedTuple):
    """The index of the rows."""

    table: Integers
    keys: Integers
    used: Integers
    """How many rows are given out, as an array of one."""


@jit
def find(rows: Rows, state: int) -> int:
    """The row of a state, or −1."""
    if len(rows.table) == 0:
        return state
    mask = len(rows.table) - 1
    place = (state * MULTIPLIER >> 20) & mask
    while True:
        row = rows.table[place] - 1
        if row < 0 or rows.keys[row] == state:
            return row
        place = (place + 1) & mask


@jit
def insert(rows: Rows, state: int) -> int:
    """The row of a state, a new one if it has none. There must be room."""
    row = find(rows, state)
    if row >= 0:
        return row
    mask = len(rows.table) - 1
    place = (state * MULTIPLIER >> 20) & mask
    while rows.table[place] != 0:
        place = (place + 1) & mask
    row = rows.used[0]
    rows.table[place] = row + 1
    rows.keys[row] = state
    rows.used[0] += 1
    return row
