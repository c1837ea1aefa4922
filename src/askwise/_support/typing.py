"""Names for the types of arrays and options."""

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Choices: TypeAlias = npt.NDArray[np.int16]
"""One small integer a state: an observation or an action; −1 is none."""

Weights: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Counts or probabilities: the weights of a distribution."""

AcquisitionName: TypeAlias = Literal["simultaneous", "sequential"]
"""How observations are bought: a set at once, or one after the other."""

Flags: TypeAlias = npt.NDArray[np.bool_]

RandomSource: TypeAlias = int | np.random.Generator | None
