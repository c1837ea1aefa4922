"""What a case tries, by its tag: the uniform number it needs at a place in it is a hash of both.

So a case with the same tag, shown the same, does the same again. These functions are compiled into
the loops of `learners/explored_runs.py` and `policy/tree_cases.py`, and called as they are for
cases that are played one by one: there they are faster than a kernel, and need no Numba. Therefore
they call nothing.
"""

LOOKS, WHICH, ACTS = 0, 1, 2
"""What a uniform number is for: the place of a choice is 4 · state + one of these."""

MIXES = 7
"""The place at which it is decided which of two mixed policies a case follows; no other choice has
it: of those, 4 · 1 + 3 is none."""

STOP, ANY = -1, -2
"""In place of an observation or a set that is tried: none, or any."""


def uniform(tag: int, place: int) -> float:
    """A number in [0, 1) from the tag of a case and a place in it.

    Multiplications and shifts of 31 bits each, so that nothing overflows, compiled or not.
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
    """What a case tries: half of the time the other choice, if there is one, else any; or STOP."""
    if u >= probability:
        return STOP
    if 2.0 * u < probability and other >= 0:
        return other
    return ANY
