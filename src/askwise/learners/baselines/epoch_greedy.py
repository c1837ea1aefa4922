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
    """Some rounds have one exploring case, and the others exploit. Only the former are learned
    from.

    A subclass decides by `is_exploring` which round is which, and `plan`s both.
    """

    acquisition = Simultaneous()
    honours_rules = True
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
        """True, because all that it keeps is a sum."""
        return True

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.explored.lattice = lattice

    def weight(self, now: Progress) -> int:
        """The number of cases that an exploring case stands for now."""
        return 1

    def tag(self, now: Progress) -> int:
        """The weight of the case if it explores, else 0."""
        return self.weight(now) if self.is_exploring(now) else 0

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """Learns from a case that explored. A case with values on file is no fair sample."""
        if case.tag and case.start < case.lattice.contexts:
            seen = case.state_index, case.action_index
            self.explored.count(*seen, reward, before, weight=case.tag)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Runs a compiled loop for each round."""
        now, start = rounds.now, 0
        while start < len(cases):
            rounds.policy_of_the_round()
            room = self.round_length(now) or 1
            part = cases.part(start, start + room - now.lengths[1])
            rounds.run_round_by_round(part)
            if self.is_exploring(now):
                action = int(part.action[0])
                reward = float(part.rewards[0, action])
                self.explored.count(int(part.state[0]), action, reward, weight=self.weight(now))
            start += len(part)


class Epochs(ExploresApart):
    """An epoch is a round of one case that explores, and one that exploits if it has any cases."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self._complexity = max(1.0, len(lattice.problem.actions) * log_policies(lattice))
        """A ln |Π|."""
        self._only_exploring = max(0, math.ceil(self._complexity) - 1)
        """The number of first epochs without cases that exploit."""

    def is_exploring(self, now: Progress) -> bool:
        """At first every round explores, then every other one."""
        return now.round <= self._only_exploring or (now.round - self._only_exploring) % 2 == 1

    def round_length(self, now: Progress) -> int:
        """One case, or ⌊√(l / (A ln |Π|))⌋ of them in epoch l."""
        if self.is_exploring(now):
            return 1
        epoch = self._only_exploring + (now.round - self._only_exploring) // 2
        return max(1, math.floor(math.sqrt(epoch / self._complexity)))

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns a random policy, or the best one by the exploring cases."""
        if self.is_exploring(now):
            return random_policy(lattice, now.rng)
        explored = self.explored
        gains = explored.gains()
        net = explored.by_set(gains.max(axis=1) - explored.spent())
        seen = explored.by_set(explored.visits)
        values = np.where(seen > 0, net / np.maximum(1, seen), -np.inf)
        values[np.repeat(np.isinf(lattice.set_prices), lattice.contexts)] = -np.inf
        sets = values.reshape(-1, lattice.contexts).argmax(axis=0)
        return Policy(SetTable(lattice, sets, gains.argmax(axis=1).astype(np.int16), values))


def log_policies(lattice: Lattice) -> float:
    """The log of |Π| = Σ_I A^|Ψ⁺(I)|, the number of policies; of all contexts together."""
    sizes = np.diff(lattice.layout.context_offsets).reshape(-1, lattice.contexts)
    logs = sizes * math.log(len(lattice.problem.actions))
    return float(np.logaddexp.reduce(logs, axis=0).sum())


class EpochGreedy(BaseLearner):
    """Epoch l is one case at random, then s_l cases with the best policy by those at random.

    J. Langford, T. Zhang: The epoch-greedy algorithm for contextual multi-armed bandits (2007). The
    policy is fitted on exploring cases only, by importance weights: of the n exploring cases that
    bought all of I, and perhaps more,

        V̂(I, h) = (β / n) Σ_s A r_s [a_s = h(ψ_s)] − c(I),    (Î, ĥ) = argmax V̂(I, h).

    For a finite class of policies the paper has s_l = ⌊c √(l / (A ln |Π|))⌋ with a constant c, here
    1. The first A ln |Π| epochs only explore. Regret is of order T^(2/3) (A ln |Π|)^(1/3).

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = EpochGreedy(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    48.9
    """

    name = "epoch-greedy"
    _why_not_served = "it plans anew for every case"

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        lattice = lattice_of(problem)
        super().__init__(lattice, Epochs(lattice), {}, rng=rng)
