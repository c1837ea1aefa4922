"""What to believe of a population after some cases, for those who want reasons.

One joint model of all combinations of values, if there are few enough of them: it needs no case in
which just this was looked at and done. Else the counters, as far as they go.
"""

from __future__ import annotations

import numpy as np

from askwise.estimation.additive import Screened
from askwise.estimation.joint import MOST_CELLS, JointModel, count_cells
from askwise.estimation.shortlist import OWN_CASES
from askwise.evidence import Beliefs, Counted, Evidence, variance_of_mean
from askwise.lattice import Lattice
from askwise.statistics import UNIT, Statistics

STEPS = 200
"""Steps of EM from nothing: by then the population hardly moves."""
MOST_DENSE = 5_000_000
"""States of complete records that are each given a number."""
OF_PARENTS = 10.0
"""κ: for how many records the states with one look less stand."""
DRAWS = 32
"""Worlds from which the doubt of an additive model is taken."""


def evidence_of(statistics: Statistics, *, by_visits: bool) -> Evidence:
    """What the counters say; by N(ψ) if cases bought sets, else by the steps they took."""
    if is_complete(statistics):
        return complete_beliefs(statistics)
    if not has_records(statistics) and count_cells(statistics.lattice.problem) <= MOST_CELLS:
        return joint_beliefs(statistics)
    return Counted(statistics, by_visits=by_visits)


def has_records(statistics: Statistics) -> bool:
    """Whether records were counted in every state: a case of its own has one reward."""
    return bool(statistics.action_counts.sum() > statistics.cases)


def is_complete(statistics: Statistics) -> bool:
    """Whether such records can be believed state by state."""
    return has_records(statistics) and statistics.lattice.size <= MOST_DENSE


def limits_of(statistics: Statistics) -> str:
    """What is to be said of a recommendation from records of too large a problem; else nothing."""
    size = statistics.lattice.size
    if not has_records(statistics) or size <= MOST_DENSE:
        return ""
    return (
        f"The problem has {size:,} states, more than the {MOST_DENSE:,} for which records are "
        "believed state by state, with the states of one look less behind each: this rests on "
        "cautious estimates, which trust a state by its own records alone and buy less. Lower "
        "max_observations, or the number of observations or of their values"
    )


def complete_beliefs(statistics: Statistics) -> Beliefs:
    """Of records in which all is known, counted in every state.

        r(a, ψ) = (Σr(a, ψ) + κ r̄(a, parents of ψ)) / (N(a, ψ) + κ)

    A state with few records is believed to be much like the states with one look less, and these
    like theirs: without that the best of many thin estimates would be a matter of luck.
    """
    lattice, dense = statistics.lattice, statistics.dense()
    counts, sums = dense.action_counts, dense.reward_sums * UNIT
    reward = np.empty(counts.shape)
    for subset in range(lattice.subsets):
        members, states = lattice.members(subset), lattice.states(subset)
        block = slice(states.start, states.stop)
        radices = [int(lattice.layout.radices[i]) for i in members]
        prior = np.zeros((lattice.contexts, *radices, counts.shape[1]))
        for k in range(len(members)):
            fewer = lattice.states(lattice.subset(members[:k] + members[k + 1 :]))
            shape = (lattice.contexts, *radices[:k], 1, *radices[k + 1 :], counts.shape[1])
            prior += reward[fewer.start : fewer.stop].reshape(shape) / len(members)
        if not members:
            prior += (sums[block].sum(axis=0) + 0.5) / (counts[block].sum(axis=0) + 1)
        own = sums[block] + OF_PARENTS * prior.reshape(len(states), -1)
        reward[block] = own / (counts[block] + OF_PARENTS)
    began = dense.visits[: lattice.contexts].sum()

    def variance(state: int, action: int) -> float:
        n, mean = float(counts[state, action]), float(reward[state, action])
        return variance_of_mean(mean * (n + OF_PARENTS), n + OF_PARENTS)

    return Beliefs(
        lattice,
        dense.visits / max(1, began),
        reward,
        variance=variance,
        cases=float(began),
        averages_out=False,
    )


def joint_beliefs(statistics: Statistics) -> Beliefs:
    """The means of the joint model, and how sure they are."""
    lattice = statistics.lattice
    model = JointModel(lattice)
    model.update(statistics.dense(), STEPS)
    return Beliefs(
        lattice,
        model.probability,
        model.mean_rewards(),
        variance=model.variance,
        cases=float(max(1, statistics.cases)),
    )


def additive_beliefs(lattice: Lattice, screened: Screened, cases: int) -> Beliefs:
    """The means of an additive model for the few observations that matter to it."""
    rng = np.random.default_rng(0)
    mean = screened.small_world(rng, spread=0.0)
    draws = [screened.small_world(rng, spread=1.0).reward for _ in range(DRAWS)]
    own = mean.reward * (1 - mean.reward) * mean.counts / (OWN_CASES + mean.counts) ** 2
    variance = np.var(draws, axis=0) + own
    return Beliefs(
        screened.few.lattice,
        mean.weight / mean.weight[: screened.few.lattice.contexts].sum(),
        mean.reward,
        variance=lambda state, action: float(variance[state, action]),
        cases=float(max(1, cases)),
        few=(screened.few.observations, lattice),
    )
