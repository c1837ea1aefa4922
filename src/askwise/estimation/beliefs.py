"""Beliefs about a population after some cases: what recommendations and explanations rest on.

One joint model of all combinations of values, if there are few enough of them: it needs no case in
which just this was looked at and done. Else the counters, as far as they go.
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
from askwise.estimation.shrinkage import shrink_to_parents, variance_of_means
from askwise.estimation.tabular_posterior import TabularPosterior
from askwise.estimation.worlds import Worlds, joint_worlds
from askwise.states import Lattice

STEPS = 200
"""Steps of EM from nothing: by then the population hardly moves."""
UNKNOWN = 1.0
"""The variance of what an action earns that was never taken, whatever a prior may say."""
MOST_DENSE = 5_000_000
"""States of complete records that are each given a number."""


def evidence_of(statistics: Statistics, acquisition: AcquisitionName) -> Beliefs | CountedEvidence:
    """What the counters say; by N(ψ) if cases bought sets, else by the steps they took."""
    if statistics.records and statistics.lattice.size <= MOST_DENSE:
        return complete_beliefs(statistics)
    if not statistics.records and count_cells(statistics.lattice.problem) <= MOST_CELLS:
        return joint_beliefs(statistics)
    return CountedEvidence(statistics, acquisition)


def limits_of(statistics: Statistics) -> str:
    """What is to be said of a recommendation from records of too large a problem; else nothing."""
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
    """Of complete records that were counted in every state, and of cases beside them."""
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
        averages_out=False,
    )


def joint_beliefs(statistics: Statistics, log: Log = NO_LOG) -> Beliefs:
    """The means of the joint model, by the first variances of effects, and how sure they are."""
    counted = statistics.dense().copy()  # worlds may be asked for when more was counted
    model = JointModel(statistics.lattice)
    if log.records is not None:
        model.take(log.records)
    model.update(counted, STEPS)
    population, variances = model.population.copy(), model.effect_variances.copy()

    def draw(number: int) -> Worlds:
        found = []
        for learned in (True, False):
            model.population[:], model.effect_variances[:] = population, variances
            model.restored()
            found.append(joint_worlds(model, counted, number, learned=learned))
        return Worlds(*found)

    return beliefs_of(model, statistics, log, draw)


def beliefs_of(
    model: JointModel,
    statistics: Statistics,
    log: Log = NO_LOG,
    draw: Callable[[int], Worlds] | None = None,
) -> Beliefs:
    """What a joint model believes after these cases, and how it draws worlds, if it can be asked
    later on."""
    variance, cases = model.variances(), statistics.cases
    if log.records is None:
        variance[:, ~statistics.action_counts.any(axis=0)] = UNKNOWN
    else:
        cases += log.cases
    return Beliefs(
        model.lattice,
        model.probability,
        model.mean_rewards(),
        variance=variance,
        cases=float(max(1, cases)),
        draw=draw,
    )


def additive_beliefs(
    lattice: Lattice, screened: AdditivePosterior | TabularPosterior, cases: int
) -> Beliefs:
    """The means of an additive model for the few observations that matter to it."""
    mean = screened.draw_model(np.random.default_rng(0), spread=0.0)
    assert mean.variance is not None
    mean.variance[:, ~mean.counts.any(axis=0)] = UNKNOWN
    return Beliefs(
        screened.shortlist.lattice,
        mean.weight / mean.weight[: screened.shortlist.lattice.contexts].sum(),
        mean.reward,
        variance=mean.variance,
        cases=float(max(1, cases)),
        part_of=PartOf(screened.shortlist.observations, lattice),
        averages_out=not isinstance(screened, TabularPosterior),
    )
