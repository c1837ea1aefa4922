"""Rewards by state, for the states that were met: a hash table from a state to a row of counters.

A problem with many observations has far more states than cases will ever meet, so nothing here has
an entry for each state. Rows stand in the order of arrival; what they hold are sums of whole
numbers, so sorted by state they are the same whatever the order of arrival.
"""

from typing import NamedTuple

import numpy as np

from askwise._kernels.jit import jit
from askwise._typing import Integers
from askwise.lattice import Layout


class Rows(NamedTuple):
    """A row for each state that was met, with room for more."""

    state: Integers
    counts: Integers
    """(rows, A): N(a, ψ)"""
    sums: Integers
    """(rows, A): Σr(a, ψ) in units of 2⁻³⁰"""
    slots: Integers
    """The hash table: a row, or −1. Its length is a power of two, at least twice the rows."""


@jit
def scramble(x: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def row_of(rows: Rows, used: int, state: int) -> int:
    """The row of a state; `used`, the first free one, if it has none: it is then taken."""
    mask = np.uint64(len(rows.slots) - 1)
    slot = scramble(np.uint64(state)) & mask
    while True:
        row = rows.slots[np.int64(slot)]
        if row < 0:
            rows.slots[np.int64(slot)] = used
            rows.state[used] = state
            return used
        if rows.state[row] == state:
            return row
        slot = (slot + np.uint64(1)) & mask


@jit
def decode(
    layout: Layout, state: Integers, first: int, end: int, out_seen: Integers, out_value: Integers
) -> None:
    """What rows `first` to `end` saw: (rows, m) observations in order, −1 fills up, and values."""
    for row in range(first, end):
        subset = np.searchsorted(layout.offsets, state[row], side="right") - 1
        rest = state[row] - layout.offsets[subset]
        out_seen[row] = -1
        for j in range(layout.sizes[subset]):
            out_seen[row, j] = layout.members[subset, j]
            out_value[row, j] = rest // layout.strides[subset, j]
            rest %= layout.strides[subset, j]
