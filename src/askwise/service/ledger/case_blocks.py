"""Blocks of cases, for the chart of what cases earned.

A block has 16 cases up to case 1,024. From case 2^(9 + e) + 1 on it has 2^e times as many. So every
doubling of the cases has 32 blocks. The newer half of the cases always has 32 to 64 points on the
chart, and a project of a million cases has some 400 blocks. What a case spends and earns belongs to
its own block, even if its reward comes late.
"""

from __future__ import annotations

EVERY_DOUBLING = 32
NARROWEST = 4
"""log₂ of the cases in the first blocks."""

_PLAIN = 2 * EVERY_DOUBLING << NARROWEST
"""The number of cases in blocks of the first width."""


def block_of(case: int) -> int:
    """The block of a case; cases are numbered from 1."""
    place = case - 1
    wider = max(0, place.bit_length() - (_PLAIN - 1).bit_length())
    return (place >> (NARROWEST + wider)) + EVERY_DOUBLING * wider


def cases_of(block: int) -> range:
    """The numbers of the cases in a block."""
    wider = max(0, block // EVERY_DOUBLING - 1)
    width = 1 << (NARROWEST + wider)
    first = (block - EVERY_DOUBLING * wider) * width + 1
    return range(first, first + width)
