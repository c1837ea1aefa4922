r"""The probability that an observation has no effect on rewards.

The variances of effects are drawn (`joint.py`), and are never 0. So an observation of noise would
seem to have some effect, and if it costs little, it would seem to pay. Here the evidence of all
rewards without any effect of the observation, its variances being 0, is compared with the evidence
with effects. With effects, the greatest of several variances counts:

    p = 1 / (1 + ODDS max_{L, c} evidence(c s²_J if |J| ≤ L, else 0) / evidence(0))

for the sets J that contain the observation, by L = 1, 2 or any size, and c = 1, 0.1 or 0.01. An
observation may have an effect on some actions only. So this maximum is taken for each action, and
the other actions have none.

The evidence is that of the Gaussian of all rewards. It does not depend on why a state or an action
was chosen, so a state that was left after an early loss does not mislead it.

An observation without an effect of its own may still be informative, as a test is that tells the
result of a dearer one. So all this is only for observations that do not depend on any other. Two
of them depend on each other if the n > 1 cases that saw both make it likely (Schwarz's criterion):
with the mutual information I of the two in the population, and X_i and X_j values, if

    2 n I(X_i; X_j) > (X_i − 1)(X_j − 1) log n.

An observation of one value depends on nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.estimation.anova import products_with_basis, sets_of_coefficients
from askwise.estimation.contrasts import scaled_contrasts
from askwise.estimation.joint import JointModel

LEVELS = (1, 2, 3)
SCALES = (1.0, 0.1, 0.01)
ODDS = 4.0
"""The odds of an effect before the first case. Few observations are named that have none."""
NONE = 1e-6
"""The part of its variance that an effect has if there is none."""
ENOUGH = 4.0
"""The logarithm of the ratio of evidence above which no more variances are compared."""
MOST_PROBABLE = 0.5
"""No observation is without effect in more than this share of the worlds, because an effect that is
too small to be seen may still be worth a low price.
"""


class NoEffects(NamedTuple):
    """What the evidence says of the effects of every observation, in the order of the model."""

    probability: Floats
    """That it has none, nor tells of another observation. It may have one on an action that was
    never taken, of which there is no evidence.
    """
    part: Floats
    """The part of the variance of every set J that recommendations use. It is 1, but where the
    evidence of every action that was taken is against an effect, that of the likeliest L and c.
    """

    @classmethod
    def never(cls, model: JointModel) -> NoEffects:
        """Every observation has effects."""
        return cls(np.zeros(len(model.radices)), np.ones(len(model.set_levels)))


def no_effects(model: JointModel, counts: Integers) -> NoEffects:
    """Compares the evidence of an updated model. `counts` are N(a, ψ) at [ψ, a]."""
    found, independent = NoEffects.never(model), ~depend_on_others(model, counts.sum(axis=1))
    if not independent.any():
        return found
    evidence, taken = _Evidence.of(model), np.asarray(counts.any(axis=0))
    for i in np.flatnonzero(independent).tolist():
        concerned, log_ratio_of = model.sets_with(i), evidence.log_ratios(i)
        best, likeliest = np.full(len(taken), -np.inf), found.part
        for scale, level in product(SCALES, LEVELS):
            log_ratios = log_ratio_of(scale, level)
            log_ratios[~taken] = 0.0  # but for rounding
            if taken.any() and log_ratios[taken].max() > best[taken].max():
                likeliest = np.where(model.set_levels > level, NONE, scale)
            best = np.maximum(best, log_ratios)
            if best.max() > ENOUGH:
                break
        # the actions on which there is an effect, or the one on which it is likeliest
        log_ratio = best[best > 0].sum() if (best > 0).any() else best.max()
        ratio = np.exp(min(log_ratio, 500.0))  # a finite number
        found.probability[i] = min(MOST_PROBABLE, 1.0 / (1.0 + ODDS * ratio))
        if taken.any() and best[taken].max() < 0:
            found.part[concerned] = np.minimum(found.part, likeliest)[concerned]
    return found


def depend_on_others(model: JointModel, seen: Integers) -> Flags:
    """Whether each observation depends on another one."""
    lattice, radices = model.lattice, model.radices
    given, both = len(radices) - lattice.buyable, np.zeros((len(radices), len(radices)))
    for subset in range(lattice.subsets):
        known = [*range(given), *(given + k for k in lattice.members(subset))]
        both[np.ix_(known, known)] += seen[lattice.block(subset)].sum()
    population = model.population.reshape(radices)
    found = np.zeros(len(radices), bool)
    for i, j in combinations(np.flatnonzero(radices > 1).tolist(), 2):
        others = tuple(k for k in range(len(radices)) if k not in (i, j))
        pair, n = population.sum(axis=others), both[i, j]
        alone = pair.sum(axis=1, keepdims=True) * pair.sum(axis=0)
        information = float((pair * np.log(pair / alone)).sum())
        if n > 1 and 2.0 * n * information > (radices[i] - 1) * (radices[j] - 1) * np.log(n):
            found[[i, j]] = True
    return found


def without_effects(model: JointModel, observations: Flags) -> Floats:
    """Returns the model's variances of effects, with none of those of some observations."""
    concerned = np.zeros(len(model.set_levels), bool)
    for i in np.flatnonzero(observations).tolist():
        concerned |= model.sets_with(i)
    return np.where(concerned, NONE, 1.0) * model.effect_variances


class _Evidence(NamedTuple):
    """The evidence of the cases, in the basis of effects."""

    model: JointModel
    data: Floats
    """D at [a, coefficient, coefficient]."""
    target: Floats
    """t at [a, coefficient]."""
    of_set: Integers
    """The set J of each coefficient."""
    variances: Floats
    """That of each coefficient, F s²_J."""

    @classmethod
    def of(cls, model: JointModel) -> _Evidence:
        """Reads an updated model."""
        each = zip(model.radices.tolist(), model.ordered.tolist(), strict=True)
        contrasts = [scaled_contrasts(*one) for one in each]
        data, target = model.evidence_of_cases()
        for action, upper in enumerate(data):
            both = upper + np.triu(upper, 1).T
            data[action] = products_with_basis(products_with_basis(both, contrasts), contrasts)
        of_set = sets_of_coefficients(tuple(model.radices.tolist()))
        variances = len(of_set) * model.effect_variances[of_set]
        target = products_with_basis(np.ascontiguousarray(target.T), contrasts)
        return cls(model, data, target, of_set, variances)

    def log_ratios(self, observation: int) -> Callable[[float, int], Floats]:
        """Returns a function of c and L: the logarithm of the evidence of the rewards of each
        action, relative to that without effects of an observation.
        """
        from askwise._kernels.estimation.effect_evidence import eliminate, log_ratio

        has_effect = self.model.sets_with(observation)[self.of_set]
        level = np.where(has_effect, self.model.set_levels[self.of_set], 0)
        order = np.argsort(level, kind="stable")
        first, ends = int((level == 0).sum()), [int((level <= one).sum()) for one in LEVELS]
        data, target = np.empty_like(self.data), np.empty_like(self.target)
        for k, one in enumerate(zip(self.data, self.target, strict=True)):
            eliminate(*one, order, first, 1.0 / self.variances, data[k], target[k])

        def log_ratios(scale: float, level: int) -> Floats:
            variances = scale * self.variances[order[first : ends[LEVELS.index(level)]]]
            work = np.empty((len(variances), len(variances))), np.empty(len(variances))
            each = zip(data, target, strict=True)
            return np.array([log_ratio(*one, first, variances, *work) for one in each])

        return log_ratios
