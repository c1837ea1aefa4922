"""Posterior sampling: posterior × either acquisition × no exploration × growing rounds."""

from __future__ import annotations

from askwise._support.typing import RandomSource
from askwise.estimation.posterior import posterior_estimates
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy
from askwise.policy.acquisition import Acquisition, acquisition_of
from askwise.problem import Problem
from askwise.states import Lattice


class PosteriorSampling(Strategy):
    """The best policy of a world drawn from the posterior."""

    honours_rules = True

    def __init__(self, acquisition: Acquisition) -> None:
        self.acquisition = acquisition

    def round_length(self, now: Progress) -> int:
        """One case more than the round before."""
        return now.lengths[0] + 1

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The best policy of a drawn world."""
        weight = self.acquisition.weight(now.statistics)
        drawn = posterior_estimates(now.statistics, weight, now.rng, lattice)
        return self.acquisition.best(lattice, drawn)


class PSRL(BaseLearner):
    """Draws a world from the posterior, follows the best policy of it, and draws again.

    I. Osband, D. Russo, B. Van Roy: (More) efficient reinforcement learning via posterior sampling
    (2013). A round also ends when it is one case longer than the one before, as in Y. Ouyang et
    al.: Learning unknown Markov decision processes: a Thompson sampling approach (2017): a wrong
    draw that is never contradicted must not last.

    acquisition: "sequential" or "simultaneous".

    >>> from askwise.simulation import simulate
    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = PSRL(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    79.0
    """

    name = "psrl"

    def __init__(
        self, problem: Problem, *, acquisition: str = "sequential", rng: RandomSource = None
    ) -> None:
        strategy = PosteriorSampling(acquisition_of(acquisition))
        options = {"acquisition": acquisition}
        super().__init__(lattice_of(problem), strategy, options, rng=rng)
