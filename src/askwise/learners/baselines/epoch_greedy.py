"""Exploring one case, exploiting many: empirical × simultaneous × epochs."""

import math

import numpy as np

from askwise.estimation.empirical import empirical_estimates
from askwise.learners.acquisition import Simultaneous
from askwise.learners.base import BaseLearner
from askwise.learners.baselines.random_choice import random_policy
from askwise.policy import SimultaneousPolicy


class EpochGreedy(BaseLearner):
    """Epoch l is one case at random, then ⌈√l⌉ cases with the empirically best policy.

    J. Langford, T. Zhang: The epoch-greedy algorithm for contextual multi-armed bandits (2007). The
    length of the exploiting part gives their regret of order T^(2/3).

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = EpochGreedy(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    57.9
    """

    name = "epoch-greedy"
    way = Simultaneous()
    doubles = False

    @property
    def round_length(self) -> int:
        """Odd rounds explore, even ones exploit."""
        epoch = (self.round + 1) // 2
        return 1 if self.round % 2 else math.ceil(math.sqrt(epoch))

    def plan(self) -> SimultaneousPolicy:
        """A random policy, or the one with the highest mean gain so far."""
        if self.round % 2:
            return random_policy(self.lattice, self.rng)
        estimates = empirical_estimates(self.statistics, self.way.weight(self.statistics))
        seen = self.statistics.subset_visits > 0
        policy = self.way.policy(self.lattice, estimates)
        values = np.where(seen, policy.values, -np.inf)
        sets = values.reshape(-1, self.lattice.contexts).argmax(axis=0)
        return SimultaneousPolicy(self.lattice, sets, estimates.action, values)
