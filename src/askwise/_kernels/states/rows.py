"""These kernels find the row of a state, or assign a new one."""

from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._support.typing import Integers
from askwise.states.rows import Rows

PRIME = 2**31 - 1
MULTIPLIER = 1327217885
"""2³¹ divided by the golden ratio, for Fibonacci hashing of 31 bits."""

SHIFT = 16
"""The middle bits of the product depend on all the bits of the state."""


@jit_internal
def home(rows: Rows, state: int) -> int:
    """Return where in the table the search for a state begins."""
    return (state % PRIME * MULTIPLIER >> SHIFT) & (len(rows.table) - 1)


@jit_no_arrays
def is_sparse(rows: Rows) -> bool:
    """Return whether a state gets its row on its first visit."""
    return len(rows.table) > 0


@jit_no_arrays
def find(rows: Rows, state: int) -> int:
    """Return the row of a state, or 0 if rows are sparse and it has none."""
    if len(rows.table) == 0:
        return state
    mask = len(rows.table) - 1
    place = home(rows, state)
    row = rows.table[place]
    while row != 0 and rows.states[row] != state:
        place = (place + 1) & mask
        row = rows.table[place]
    return row


@jit_no_arrays
def insert(rows: Rows, state: int) -> int:
    """Return the row of a state, a new one if it has none. There must be a free row."""
    if len(rows.table) == 0:
        return state
    mask = len(rows.table) - 1
    place = home(rows, state)
    row = rows.table[place]
    while row != 0 and rows.states[row] != state:
        place = (place + 1) & mask
        row = rows.table[place]
    if row == 0:
        row = rows.used[0]
        rows.table[place] = row
        rows.states[row] = state
        rows.used[0] += 1
    return row


@jit_no_arrays
def insert_all(rows: Rows, states: Integers) -> None:
    """Assign a row to each of these states, in their order."""
    for state in states:
        insert(rows, state)


@jit_no_arrays
def find_all(rows: Rows, states: Integers, out: Integers) -> None:
    """Find the row of each of these states."""
    for place in range(len(states)):
        out[place] = find(rows, states[place])


@jit_no_arrays
def state_of(rows: Rows, row: int) -> int:
    """Return the state of a row."""
    return row if len(rows.table) == 0 else rows.states[row]


@jit_no_arrays
def has_room(rows: Rows, more: int) -> bool:
    """Return whether so many more rows are free."""
    return len(rows.table) == 0 or rows.used[0] + more <= len(rows.states)
