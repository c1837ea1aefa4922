"""A bandit that buys nothing: UCB1 in the empty state × doubling."""

from __future__ import annotations

from askwise._support.typing import RandomSource
from askwise.learners.baselines.fixed_set import UCB1, check_exploration
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.problem import Problem


class NoInformation(BaseLearner):
    """UCB1 that buys nothing, as a bandit without askwise would.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = NoInformation(patients.problem)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    41.3
    """

    name = "no-information"

    def __init__(
        self, problem: Problem, *, exploration: float = 1.0, rng: RandomSource = None
    ) -> None:
        strategy = UCB1(0, check_exploration(exploration))
        options = {"exploration": strategy.exploration}
        super().__init__(lattice_of(problem), strategy, options, rng=rng)
