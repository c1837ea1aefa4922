"""What a plan is made for, and the clock of its radii."""

from typing import NamedTuple

from askwise._kernels.jit import jit
from askwise._typing import Floats


class Terms(NamedTuple):
    """Prices and radii: `conf = √(width / n)`, for k outcomes `width + width_per_outcome · k`."""

    cost: Floats
    """Of every observation, or of every subset."""
    beta: float
    unit: float
    """What one unit of Σr is worth."""
    reward_width: float
    width: float
    width_per_outcome: float


@jit
def clock_of(t: int) -> int:
    """The smallest k with t ≤ 2^k."""
    k = 0
    while 1 << k < t:
        k += 1
    return k
