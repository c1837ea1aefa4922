"""Means over few seeds, with confidence intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np

_NORMAL = 1.959963984540054
# fmt: off
_STUDENT = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831,
    2.048407, 2.045230, 2.042272,
)
# fmt: on


def student(freedom: int) -> float:
    """The 97.5 % point of Student's t: a table, then the first terms of its expansion in 1/ν.

    >>> [round(student(n), 3) for n in (1, 4, 60)]
    [12.706, 2.776, 2.0]
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


@dataclass(frozen=True)
class MeanOfRuns:
    """A mean and half the width of its 95 % interval; the width of a single value is NaN."""

    mean: float
    half: float = nan

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return isfinite(self.half)

    @property
    def bar(self) -> float:
        """The half-width to draw; 0 if there is no interval."""
        return self.half if self.known else 0.0


def estimate(values: Sequence[float]) -> MeanOfRuns:
    """The mean of independent values with its interval.

    >>> round(estimate([1.0, 2.0, 3.0]).half, 3)
    2.484
    >>> estimate([1.0])
    MeanOfRuns(mean=1.0, half=nan)
    """
    mean = float(np.mean(values))
    n = len(values)
    if n == 1:
        return MeanOfRuns(mean)
    return MeanOfRuns(mean, student(n - 1) * float(np.std(values, ddof=1)) / sqrt(n))
