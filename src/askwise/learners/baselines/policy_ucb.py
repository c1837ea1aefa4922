"""Every whole policy as the arm of a bandit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from askwise._support.typing import Integers, RandomSource
from askwise.counting import UNIT
from askwise.errors import TooLargeError
from askwise.learners.baselines.fixed_set import check_exploration
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice

MOST_POLICIES = 10_000


class Arms(Strategy):
    """UCB1 over all policies × a round for every case."""

    acquisition = Simultaneous()
    honours_rules = True
    doubles = False

    def __init__(self, lattice: Lattice, exploration: float) -> None:
        self.lattice = lattice
        self.exploration = exploration
        number = count_policies(lattice)
        if number > MOST_POLICIES:
            digits = int(number.bit_length() * math.log10(2))
            size = f"about 10^{digits}" if digits >= 15 else f"{number:,}"
            raise TooLargeError(
                f"this problem has {size} policies, more than the {MOST_POLICIES:,} "
                "that can be tried one by one"
            )
        self._policies = list(_all_policies(lattice))
        self._pulls: Integers = np.zeros(number, np.int64)
        self._gains: Integers = np.zeros(number, np.int64)
        self._arm: Integers = np.zeros(1, np.int64)

    def arrays(self) -> dict[str, Integers]:
        """How often each policy was rewarded, its scaled gains in units of 2⁻³⁰, the current."""
        return {"arm_pulls": self._pulls, "arm_gains": self._gains, "arm": self._arm}

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = lattice

    def tag(self, now: Progress) -> int:
        """The policy that the case follows."""
        return int(self._arm[0])

    def round_length(self, now: Progress) -> int:
        """Every case is a round."""
        return 1

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns the policy with the highest index; untried ones come first."""
        n = np.maximum(1, self._pulls)
        total = max(1, int(self._pulls.sum()))
        index = self._gains * UNIT / n + self.exploration * np.sqrt(2 * math.log(total) / n)
        index[self._pulls == 0] = np.inf
        self._arm[0] = index.argmax()
        subset, chosen = self._policies[self._arm[0]]
        actions = np.zeros(lattice.size, np.int16)
        states = lattice.states(subset)
        actions[states.start : states.stop] = chosen
        return Policy(SetTable(lattice, subset, actions, np.full(lattice.context_subsets, np.nan)))

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """Counts the gain of the policy that the case followed."""
        if before is not None:
            self._count(case.tag, before, case.cost, -1)
        self._count(case.tag, reward, case.cost)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Runs one case at a time, because every case may follow another policy."""
        for t in range(len(cases)):
            rounds.run_round_by_round(cases.part(t, t + 1))
            reward = float(cases.rewards[t, cases.action[t]])
            acting = float(self.lattice.action_costs[cases.action[t]])
            spent = acting + self.lattice.spent(int(cases.state[t]))
            self._count(int(self._arm[0]), reward, spent)

    def _count(self, arm: int, reward: float, cost: float, times: int = 1) -> None:
        dearest = float(self.lattice.subset_costs.max() + self.lattice.action_costs.max())
        beta = self.lattice.problem.reward_value
        scaled = (beta * reward - cost + dearest) / (beta + dearest)
        self._pulls[arm] += times
        self._gains[arm] += times * round(scaled / UNIT)


class PolicyUCB(BaseLearner):
    """UCB1 over all policies π = (I, h), the meta-actions of Section 3.1.

    Their number is |Π| = Σ_I A^|Ψ⁺(I)|. This learner shows why that is not feasible. A policy's
    gain is scaled to [0, 1], and policies share no evidence.

    >>> from askwise import Observation, Problem
    >>> from askwise.simulation.environments import breast_cancer
    >>> PolicyUCB(breast_cancer().problem)
    Traceback (most recent call last):
    ...
    askwise.errors.TooLargeError: this problem has about 10^36 policies, more than the 10,000 \
that can be tried one by one
    """

    name = "policy-ucb"
    _why_not_served = "it learns from more than counters hold"

    def __init__(
        self, problem: Problem, *, exploration: float = 1.0, rng: RandomSource = None
    ) -> None:
        lattice = lattice_of(problem)
        strategy = Arms(lattice, check_exploration(exploration))
        super().__init__(lattice, strategy, {"exploration": strategy.exploration}, rng=rng)


def count_policies(lattice: Lattice) -> int:
    """|Π| = Σ_I A^|Ψ⁺(I)|, exactly."""
    actions = lattice.may_act.sum(axis=1).tolist()
    return sum(actions[s] ** len(lattice.states(s)) for s in lattice.open_subsets.tolist())


def _all_policies(lattice: Lattice) -> Iterator[tuple[int, tuple[int, ...]]]:
    for subset in lattice.open_subsets.tolist():
        actions = np.flatnonzero(lattice.may_act[subset]).tolist()
        for chosen in itertools.product(actions, repeat=len(lattice.states(subset))):
            yield subset, chosen
