"""This kernel draws sets that consist of single observations and pairs."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers


@jit
def draw_sets(
    rng: np.random.Generator,
    cumulative: Floats,
    first: Integers,
    second: Integers,
    observations: int,
    out: Integers,
) -> None:
    """Draw sets (n, m). `cumulative` are the weights of the observations and then of the pairs.

    A set is filled until it has m members. If a pair does not fit any more, only one of it is
    taken.
    """
    number, m = out.shape
    last = len(cumulative) - 1
    for k in range(number):
        size = 0
        draws = 0
        while size < m:
            draws += 1
            if draws <= 8 * m and cumulative[last] > 0.0:
                drawn = np.searchsorted(cumulative, rng.random() * cumulative[last], side="right")
                drawn = min(drawn, last)
            else:  # everything that has a weight is in the set
                drawn = rng.integers(0, observations)
            i = drawn
            j = drawn
            if drawn >= observations:  # in random order: a case may buy only the first
                i = first[drawn - observations]
                j = second[drawn - observations]
                if rng.random() < 0.5:
                    i, j = j, i
            for new in (i, j):
                known = False
                for place in range(size):
                    known |= out[k, place] == new
                if size < m and not known:
                    out[k, size] = new
                    size += 1
