"""Exploring one case, exploiting many: empirical × simultaneous × uniform draws × epochs."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from askwise._support.typing import Integers, RandomSource
from askwise.learners.baselines.explored import ExploredRewards
from askwise.learners.baselines.random_choice import random_policy
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class ExploresApart(Strategy):
    """Rounds of one exploring case, others that exploit; only the former are learned from.

    A subclass says in `is_exploring` which round is which, and `plan`s both.
    """

    acquisition = Simultaneous()
    doubles = False

    def __init__(self, lattice: Lattice) -> None:
        self.explored = ExploredRewards(lattice)

    @abstractmethod
    def is_exploring(self, now: Progress) -> bool:
        """Whether the current round is an exploring case."""

    def tallies(self) -> dict[str, Integers]:
        """What exploring cases earned."""
        return self.explored.tallies()

    def arrays(self) -> dict[str, Integers]:
        """The same, to be saved."""
        return self.explored.tallies()

    @property
    def is_mergeable(self) -> bool:
        """It is: all it keeps is a sum."""
        return True

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.explored.lattice = lattice

    def tag(self, now: Progress) -> int:
        """Whether the case explores."""
        return int(self.is_exploring(now))

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """Learn from a case that explored; what was on file was chosen by others."""
        if case.tag and case.start < case.lattice.contexts:
            self.explored.count(case.state_index, case.action_index, reward, before)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """A compiled loop for each round."""
        now, start = rounds.now, 0
        while start < len(cases):
            rounds.policy_of_the_round()
            room = self.round_length(now) or 1
            part = cases.part(start, start + room - now.lengths[1])
            rounds.run_round_by_round(part)
            if self.is_exploring(now):
                action = int(part.action[0])
                self.explored.count(int(part.state[0]), action, float(part.rewards[0, action]))
            start += len(part)


class Epochs(ExploresApart):
    """Odd rounds explore in one case, even ones exploit."""

    def is_exploring(self, now: Progress) -> bool:
        """Every other round is an exploring case."""
        return now.round % 2 == 1

    def round_length(self, now: Progress) -> int:
        """One case, or ⌈√l⌉ of them in epoch l."""
        epoch = (now.round + 1) // 2
        return 1 if now.round % 2 else math.ceil(math.sqrt(epoch))

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """A random policy, or the one that exploring cases say gains most."""
        if self.is_exploring(now):
            return random_policy(lattice, now.rng)
        explored = self.explored
        gains = explored.gains()
        net = explored.by_set(gains.max(axis=1) - explored.spent())
        seen = explored.by_set(explored.visits)
        values = np.where(seen > 0, net / np.maximum(1, seen), -np.inf)
        sets = values.reshape(-1, lattice.contexts).argmax(axis=0)
        return Policy(SetTable(lattice, sets, gains.argmax(axis=1).astype(np.int16), values))


class EpochGreedy(BaseLearner):
    """Epoch l is one case at random, then ⌈√l⌉ cases with the best policy by those at random.

    J. Langford, T. Zhang: The epoch-greedy algorithm for contextual multi-armed bandits (2007). The
    policy is fitted on exploring cases only, by importance weights: of the n exploring cases that
    bought all of I, whatever else they bought,

        V̂(I, h) = (β / n) Σ_s A r_s [a_s = h(ψ_s)] − c(I),    (Î, ĥ) = argmax V̂(I, h).

    The length of the exploiting part gives their regret of order T^(2/3).

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = EpochGreedy(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    37.1
    """

    name = "epoch-greedy"
    _why_not_served = "it plans anew for every case"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        lattice = lattice_of(problem)
        super().__init__(lattice, Epochs(lattice), {}, rng=rng)
