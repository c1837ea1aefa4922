"""What mean rewards look like before any were seen: main effects, pairs, and so on.

The reward of an action over the full states is ½ plus one effect for each set J of observations,

    r(φ) = ½ + Σ_J f_J(φ_J),     f_J orthogonal to every other effect (uniform weights),

and the coefficients of f_J in an orthonormal basis are independent Gaussians of one variance,

    log s²_J = level_{min(|J|, 3)} + Σ_{i in J} weight_i.

So K = F Σ_J s²_J E_J over F cells, E_J being the projection on the effects of J. Its entries depend
only on *which* observations agree in φ and φ', as do those of K⁻¹ = Σ_J E_J / (F s²_J): 2^D
numbers, found by D butterflies. Levels and weights are unknown, Gaussian around the constants
below; the learner follows their posterior. An effect of any order is possible, so no truth is ruled
out.
"""

import numpy as np

from askwise._typing import Floats, Integers

LEVELS = (-4.0, -5.5, -7.0)
"""The usual log s² of main effects, of pairs, of all larger sets."""
LEVEL_SPREAD = 1.5
WEIGHT_SPREAD = 1.5
"""How far levels and weights may be from what is usual: standard deviations."""
LOG_CONSTANT = -2.5
"""log s² of the constant effect: how far the average reward of an action is from ½."""
LOWEST, HIGHEST = -14.0, 1.0
"""Bounds of log s², for numbers that stay well apart from rounding errors."""


class AnovaPrior:
    """K for every choice of levels and weights, given as standard Gaussian coordinates θ."""

    def __init__(self, radices: Integers) -> None:
        observations = len(radices)
        self.radices = radices
        self.cells = int(np.prod(radices))
        self.coordinates = len(LEVELS) + observations
        """The length of θ: the levels, then a weight for each observation."""
        sets = np.arange(1 << observations)
        self._in_set: Integers = (sets[:, None] >> np.arange(observations)) & 1
        sizes = self._in_set.sum(axis=1)
        self._level = np.clip(sizes, 1, len(LEVELS)) - 1
        self._dimensions = np.where(self._in_set == 1, radices - 1, 1).prod(axis=1)

    def patterns(self, digits: Integers) -> Integers:
        """Which observations agree in two cells, as the bits of a number, at [φ, φ']."""
        pattern = np.zeros((self.cells, self.cells), np.int64)
        for i, column in enumerate(digits.T):
            pattern |= (column[:, None] == column[None, :]).astype(np.int64) << i
        return pattern

    def variances(self, theta: Floats) -> Floats:
        """s²_J of every set of observations, the bits of its number being its members."""
        levels = np.array(LEVELS) + LEVEL_SPREAD * theta[: len(LEVELS)]
        weights = WEIGHT_SPREAD * theta[len(LEVELS) :]
        logarithm: Floats = levels[self._level] + self._in_set @ weights
        logarithm[0] = LOG_CONSTANT
        return np.exp(np.clip(logarithm, LOWEST, HIGHEST))

    def inverse(self, theta: Floats) -> tuple[Floats, float]:
        """K⁻¹ by pattern of agreement, and log det K."""
        scaled = self.cells * self.variances(theta)
        table: Floats = 1.0 / scaled
        for i, radix in enumerate(self.radices.tolist()):
            # E_J has a factor for each i: 1/X outside of J; inside it 1 − 1/X where φ and φ'
            # agree, −1/X where they do not.
            pair = table.reshape(-1, 2, 1 << i)
            outside, inside = pair[:, 0] / radix, pair[:, 1] / radix
            agree = outside - inside + pair[:, 1]
            pair[:, 0], pair[:, 1] = outside - inside, agree
        return table, float(self._dimensions @ np.log(scaled))
