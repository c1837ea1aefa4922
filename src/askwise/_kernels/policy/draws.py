"""A hash of a case's tag and of a place in the case gives the uniform number for that place.

So a case with the same tag and the same values repeats the same choices. These functions are
compiled into the loops of `learners/explored_runs.py` and `policy/tree_cases.py`. For single cases
they are called as plain Python, which is faster than a kernel there and needs no Numba. Therefore
they call no other function.
"""

LOOKS, WHICH, ACTS = 0, 1, 2
"""The purpose of a uniform number. The place of a choice is 4 · state + one of these."""

MIXES = 7
"""The place that decides which of two mixed policies a case follows. No other choice has this
place, because 4 · 1 + 3 is none of theirs.
"""

STOP, ANY = -1, -2
"""These stand for no observation or set, and for a random one."""


def uniform(tag: int, place: int) -> float:
    """Return a number in [0, 1) from the tag of a case and a place in it.

    It uses multiplications and shifts of 31 bits, so that nothing overflows, compiled or not.
    """
    bits = 0x7FFFFFFF
    h = (tag & bits) ^ ((place * 0x9E3779B1) & bits)
    h = ((h ^ (h >> 16)) * 0x45D9F3B) & bits
    h = h ^ (tag >> 31 & bits)
    h = ((h ^ (h >> 15)) * 0x2C1B3C6D) & bits
    h = ((h ^ (h >> 12)) * 0x297A2D39) & bits
    h = h ^ (h >> 15)
    return h / 2147483648.0


def tried(u: float, probability: float, other: int) -> int:
    """Return what a case explores: half of the time the other choice, if any, else ANY; or STOP."""
    if u >= probability:
        return STOP
    if 2.0 * u < probability and other >= 0:
        return other
    return ANY
