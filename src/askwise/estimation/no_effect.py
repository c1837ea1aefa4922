r"""The probability that an observation has no effect on rewards.

The variances of effects are drawn (`joint.py`), and are never 0. So an observation of noise would
seem to have some effect, and if it costs little, it would seem to pay. Here the evidence of all
rewards without any effect of the observation, its variances being 0, is compared with the evidence
with effects. With effects, the greatest of several variances counts:

    p = 1 / (1 + ODDS max_{L, c} evidence(c s²_J if |J| ≤ L, else 0) / evidence(0))

for the sets J that contain the observation, by L = 1, 2 or any size, and c = 1, 0.1 or 0.01.
The evidence is that of the Gaussian of all rewards. It does not depend on why a state or an action
was chosen, so a state that was left after an early loss does not mislead it.

An observation without an effect of its own may still be informative, as a test is that tells the
result of a dearer one. The population says so, not its effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from askwise._support.sums import dot
from askwise._support.typing import Flags, Floats
from askwise.estimation.anova import inverse_covariance
from askwise.estimation.joint import JointModel

LEVELS = (1, 2, 3)
SCALES = (1.0, 0.1, 0.01)
ODDS = 4.0
"""The odds of an effect before the first case. Few observations are named that have none."""
NONE = 1e-6
"""The part of its variance that an effect has if there is none."""
ENOUGH = 4.0
"""The logarithm of the ratio of evidence above which no more variances are compared."""
DROPPED = -2.0
"""Recommendations have no effects of an observation if the logarithm is below this."""
MOST_PROBABLE = 0.5
"""No observation is without effect in more than this share of the worlds, because an effect that is
too small to be seen may still be worth a low price.
"""


class NoEffects(NamedTuple):
    """The probability of every observation, in the order of the model, that it has no effect."""

    probability: Floats
    dropped: Flags
    """Whether recommendations have none of its effects."""

    @classmethod
    def never(cls, model: JointModel) -> NoEffects:
        """Every observation has effects."""
        observations = len(model.radices)
        return cls(np.zeros(observations), np.zeros(observations, bool))


def no_effects(model: JointModel) -> NoEffects:
    """Compares the evidence of an updated model. Nothing changes."""
    density, found = _Density(model), NoEffects.never(model)
    for i in range(len(found.probability)):
        variances, concerned = without_effects(model, found.dropped), model.sets_with(i)
        none = density.of(np.where(concerned, NONE * model.effect_variances, variances))
        ratio = -np.inf
        for part in _parts(model):
            ratio = max(ratio, density.of(np.where(concerned, part * variances, variances)) - none)
            if ratio > ENOUGH:
                break
        found.probability[i] = min(MOST_PROBABLE, 1.0 / (1.0 + ODDS * np.exp(min(ratio, 500.0))))
        found.dropped[i] = ratio < DROPPED
    return found


def without_effects(model: JointModel, observations: Flags) -> Floats:
    """Returns the model's variances of effects, with none of those of some observations."""
    concerned = np.zeros(len(model.set_levels), bool)
    for i in np.flatnonzero(observations).tolist():
        concerned |= model.sets_with(i)
    return np.where(concerned, NONE, 1.0) * model.effect_variances


def _parts(model: JointModel) -> Iterator[Floats]:
    """The parts of the variance of every set that are tried for an observation."""
    for scale in SCALES:
        for level in LEVELS:
            yield np.where(model.set_levels > level, NONE, scale)


class _Density:
    """The logarithm of the evidence, as a function of the variances of effects."""

    def __init__(self, model: JointModel) -> None:
        self._model = model
        self._data, self._target = model.evidence_of_cases()
        self._work = np.empty_like(self._data[0]), np.empty_like(self._target[0])

    def of(self, variances: Floats) -> float:
        from askwise._kernels.estimation.effect_evidence import log_density

        model = self._model
        inverse = inverse_covariance(model.radices, variances, model.ordered)
        # |K⁻¹| of each action, but for a factor without s²
        found = -0.5 * len(self._data) * dot(np.log(variances), model.set_coefficients)
        for data, target in zip(self._data, self._target, strict=True):
            found += log_density(data, target, model.patterns, inverse, *self._work)
        return found
