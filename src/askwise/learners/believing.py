"""What to believe of a population after some cases, for those who want reasons.

One joint model of all combinations of values, if there are few enough of them: it needs no case in
which just this was looked at and done. Else the counters, as far as they go.
"""

from __future__ import annotations

import numpy as np

from askwise.estimation.additive import Screened
from askwise.estimation.joint import MOST_CELLS, JointModel, count_cells
from askwise.estimation.shortlist import OWN_CASES
from askwise.evidence import Beliefs, Counted, Evidence
from askwise.lattice import Lattice
from askwise.statistics import Statistics

STEPS = 200
"""Steps of EM from nothing: by then the population hardly moves."""
DRAWS = 32
"""Worlds from which the doubt of an additive model is taken."""


def evidence_of(statistics: Statistics, *, by_visits: bool) -> Evidence:
    """What the counters say; by N(ψ) if cases bought sets, else by the steps they took."""
    if count_cells(statistics.lattice.problem) <= MOST_CELLS:
        return joint_beliefs(statistics)
    return Counted(statistics, by_visits=by_visits)


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
