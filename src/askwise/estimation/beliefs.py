"""Estimates of a population after some cases, for recommendations and explanations.

If there are few enough combinations of values, one joint model covers all of them. It does not need
a case with exactly these purchases and this action. Otherwise the counters are used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import AcquisitionName
from askwise.counting import UNIT, Statistics
from askwise.estimation.additive import AdditivePosterior
from askwise.estimation.complete_records import NO_LOG, Log
from askwise.estimation.evidence import Beliefs, CountedEvidence, PartOf
from askwise.estimation.joint import MOST_CELLS, JointModel, count_cells
from askwise.estimation.no_effect import NoEffects, no_effects
from askwise.estimation.shortlist import draw_rewards
from askwise.estimation.shrinkage import shrink_to_parents, variance_of_means
from askwise.estimation.tabular_posterior import TabularPosterior
from askwise.estimation.worlds import (
    SEED,
    World,
    WorldKind,
    Worlds,
    joint_worlds,
    worlds_by_states,
)
from askwise.states import Lattice

STEPS = 200
"""The steps of EM from the start. After them the population hardly changes."""
SCORINGS = 2
"""The further updates, each with the variances of rewards at the means of the one before."""
SIZES = 12
LEFT_OUT = 4
"""The draws of the variances of effects whose mean is used, after some that are left out."""
UNKNOWN = 1.0
"""The least variance of the reward of an action that was never taken, under any prior."""
MOST_DENSE = 5_000_000
"""The most states of complete records that are estimated one by one."""


def evidence_of(
    statistics: Statistics, acquisition: AcquisitionName, log: Log = NO_LOG
) -> Beliefs | CountedEvidence:
    """The evidence of the counters: by N(ψ) if cases bought sets, else by the steps they took.

    Complete records of a log are among the counters.
    """
    if statistics.records and statistics.lattice.size <= MOST_DENSE:
        return complete_beliefs(statistics)
    if not statistics.records and count_cells(statistics.lattice.problem) <= MOST_CELLS:
        return joint_beliefs(statistics, log)
    return CountedEvidence(statistics, acquisition)


def limits_of(statistics: Statistics) -> str:
    """The note on a recommendation from records of too large a problem, or an empty text."""
    size = statistics.lattice.size
    if not statistics.records or size <= MOST_DENSE:
        return ""
    return (
        f"The problem has {size:,} states, more than the {MOST_DENSE:,} for which records are "
        "believed state by state, with the states of one look less behind each: this rests on "
        "cautious estimates, which trust a state by its own records alone and buy less. Lower "
        "max_observations, or the number of observations or of their values"
    )


def complete_beliefs(statistics: Statistics) -> Beliefs:
    """Estimates from complete records that were counted in every state, and from cases beside
    them.
    """
    lattice, dense = statistics.lattice, statistics.dense()
    counts = dense.action_counts
    reward = shrink_to_parents(lattice, counts, np.asarray(dense.reward_sums * UNIT, np.float64))
    began = dense.visits[: lattice.contexts].sum()
    return Beliefs(
        lattice,
        dense.visits / max(1, began),
        reward,
        variance=variance_of_means(
            lattice, reward, counts, np.asarray(dense.graded_sums * UNIT, np.float64)
        ),
        cases=float(began),
        has_cases=bool(began > 0),
        averages_out=False,
    )


def joint_beliefs(
    statistics: Statistics, log: Log = NO_LOG, like: JointModel | None = None
) -> Beliefs:
    """The means of the joint model, and their uncertainty.

    The variances of effects are estimated from the cases. With the first ones, a plan for many
    combinations selects effects that are due to chance, and its gain would be overestimated.
    Complete records tell every reward, and need that less. Worlds begin with the first variances,
    with which the intervals of worth hold.

    `like` is a model of the same observations, if there is one: it saves much of the work of a new
    one.
    """
    counted = statistics.dense().copy()  # worlds may be drawn when more was counted
    lattice = statistics.lattice
    model = JointModel(lattice) if like is None else like.apart(lattice)
    if log.records is not None:
        model.take(log.records)
    model.update(counted, STEPS)
    for _ in range(SCORINGS):
        model.update(counted, 0)
    kept = [array.copy() for array in model.arrays()]
    no_effect = NoEffects.never(model)
    if log.records is None:
        _estimate_variances(model, counted)
        no_effect = no_effects(model, counted.action_counts)
    between = np.sqrt(kept[1] * model.effect_variances)
    if (no_effect.part < 1.0).any():
        model.effect_variances *= no_effect.part
        for _ in range(SCORINGS):
            model.update(counted, 0)

    def drawn(number: int, kind: WorldKind) -> list[World]:
        for array, value in zip(model.arrays(), kept, strict=True):
            array[...] = value
        if kind == "halfway":
            model.effect_variances[:] = between
        model.restored()
        return joint_worlds(model, counted, number, kind, no_effect.probability)

    def draw(number: int) -> Worlds:
        wide = drawn(number, "wide")
        if log.records is None and 2 * log.cases > counted.cases:  # most are decisions of a log
            halfway, others = drawn(number, "halfway"), drawn(number // 2, "learned")
            return Worlds(halfway, wide, halfway[number // 2 :] + others)
        learned = drawn(number, "learned")
        return Worlds(learned, wide, drawn(number, "settled") if log.records is None else learned)

    return beliefs_of(model, statistics, log, draw)


def _estimate_variances(model: JointModel, statistics: Statistics) -> None:
    """Sets the variance of every effect to the geometric mean of draws, given the cases."""
    rng, drawn = np.random.default_rng(SEED), []
    for _ in range(SIZES):
        model.draw_effect_variances(rng)
        model.update(statistics, 0)
        drawn.append(np.log(model.effect_variances))
    model.effect_variances[:] = np.exp(np.mean(drawn[LEFT_OUT:], axis=0))
    for _ in range(SCORINGS):
        model.update(statistics, 0)


def beliefs_of(
    model: JointModel,
    statistics: Statistics,
    log: Log = NO_LOG,
    draw: Callable[[int], Worlds] | None = None,
) -> Beliefs:
    """The estimates of a joint model after these cases. If it may be asked later, it also draws
    worlds.
    """
    variance, cases, untried = model.variances(), statistics.cases, None
    if log.records is None:
        variance[:, ~statistics.action_counts.any(axis=0)] = UNKNOWN
        if log.cases:
            untried = model.untried(statistics.action_counts)
    else:
        cases += log.cases
    return Beliefs(
        model.lattice,
        model.probability,
        model.mean_rewards(),
        variance=variance,
        untried=untried,
        cases=float(max(1, cases)),
        has_cases=cases > 0,
        draw=draw,
    )


def additive_beliefs(
    lattice: Lattice, screened: AdditivePosterior | TabularPosterior, cases: int
) -> Beliefs:
    """The means of an additive model for the few observations that matter."""
    mean, few = screened.draw_model(np.random.default_rng(0), spread=0.0), screened.shortlist
    assert mean.variance is not None
    mean.variance[:, ~mean.counts.any(axis=0)] = UNKNOWN
    probability = mean.weight / mean.weight[: few.lattice.contexts].sum()
    means = probability, mean.reward, mean.variance

    def draw(number: int) -> Worlds:
        assert isinstance(screened, AdditivePosterior)
        known = few, screened.prior, screened.data
        rewards = draw_rewards(*known, np.random.default_rng(SEED), number)
        learned = [World(probability, reward) for reward in rewards]
        wide = worlds_by_states(few.lattice, *means, number)
        return Worlds(learned, wide, learned, of_shortlist=True)

    is_additive = isinstance(screened, AdditivePosterior)
    return Beliefs(
        few.lattice,
        probability,
        mean.reward,
        variance=mean.variance,
        cases=float(max(1, cases)),
        has_cases=cases > 0,
        part_of=PartOf(few.observations, lattice),
        averages_out=is_additive,
        draw=draw if is_additive else None,
    )
