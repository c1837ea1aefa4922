"""Exploring one case, exploiting many: empirical × simultaneous × uniform draws × epochs."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import RandomSource
from askwise.estimation.empirical import empirical_estimates
from askwise.learners.baselines.random_choice import random_policy
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class Epochs(Strategy):
    """Odd rounds explore in one case, even ones exploit."""

    acquisition = Simultaneous()
    doubles = False

    def round_length(self, now: Progress) -> int:
        """One case, or ⌈√l⌉ of them in epoch l."""
        epoch = (now.round + 1) // 2
        return 1 if now.round % 2 else math.ceil(math.sqrt(epoch))

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """A random policy, or the one with the highest mean gain so far."""
        if now.round % 2:
            return random_policy(lattice, now.rng)
        statistics = now.statistics
        estimates = empirical_estimates(statistics, self.acquisition.weight(statistics))
        seen = statistics.subset_visits > 0
        values = np.where(seen, self.acquisition.best(lattice, estimates).values, -np.inf)
        sets = values.reshape(-1, lattice.contexts).argmax(axis=0)
        return Policy(SetTable(lattice, sets, estimates.action, values))


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
    _why_not_served = "it plans anew for every case"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        super().__init__(lattice_of(problem), Epochs(), {}, rng=rng)
