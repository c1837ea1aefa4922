"""The default: one joint model × either way to buy × rounds of a hundredth of the past."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from askwise._typing import Choices, Floats, Integers, RandomSource
from askwise.errors import OptionError
from askwise.estimation.estimates import Estimates
from askwise.estimation.joint import JointModel
from askwise.lattice import Lattice
from askwise.learners.base import BaseLearner
from askwise.learners.plans import Sequential, Simultaneous
from askwise.learners.trying import Tries, TryingPolicy, no_tries, with_tries
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.policy import START, Policy, SequentialPolicy, SimultaneousPolicy
from askwise.problem import Observation, Problem
from askwise.statistics import UNIT

SPREAD = 0.5
"""How far the world that is planned for is drawn from the mean: ½ of the posterior's spread."""
CURIOSITY = 2.0
DARING = 1.0
"""The chances of tries, c/√(1 + n) for a state that n cases came to, or acted in."""
TAGS = 1 << 62
"""How many tags there are."""
SHARE = 100
"""A round is as long as this part of all cases before it."""


class Learner(BaseLearner):
    """Good without tuning, early and late, for problems with a few hundred full states.

    It keeps one model of what there is to see and to earn (`estimation/joint.py`), in which every
    case counts for every state that it is evidence for. At the beginning of a round it draws two
    worlds from it. It plans for the first, drawn near the mean. Where that plan would act, it looks
    once more with a chance of 2/√(1 + n), n cases having come to that state: half of the time at
    what is most telling in the second world, whatever the price, else at anything. With a chance of
    1/√(1 + n), n cases having acted there, it does what is best in the second world.

    So it never stops looking for what it may have missed, at a price per case that goes to zero.

    plan: "sequential" or "simultaneous".
    explore_budget: the most to lose by trying, in the currency of the costs, compared with the best
    action taken blindly. When it is used up, the learner buys only what pays by cautious estimates,
    else nothing, until it has earned the loss back. None: no limit.

    >>> from askwise.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = Learner(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=5_000, rng=0).gain.mean()), 1)
    79.6
    """

    name = "learner"
    doubles = False

    def __init__(
        self,
        problem: Problem,
        *,
        plan: str = "sequential",
        explore_budget: float | None = None,
        rng: RandomSource = None,
    ) -> None:
        super().__init__(problem, rng=rng)
        ways = {way.name: way for way in (Sequential(), Simultaneous())}
        if plan not in ways:
            raise OptionError(f"plan must be 'sequential' or 'simultaneous', got {plan!r}")
        self.way = ways[plan]
        self.explore_budget = _check_budget(explore_budget)
        self.model = JointModel(self.lattice)
        self._priceless = Lattice(_free_of_charge(problem))
        self._length: Integers = np.ones(1, np.int64)

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {"plan": self.way.name, "explore_budget": self.explore_budget}

    def extra_arrays(self) -> dict[str, Any]:
        """Where the estimates stand, from which the next ones go on; the length of the round."""
        return {"population": self.model.population, "round_length": self._length}

    @property
    def tag(self) -> int:
        """A random number for each case: it decides what the case tries."""
        return int(self.rng.integers(TAGS))

    @property
    def round_length(self) -> int:
        """A hundredth of all cases before it; less if the budget is nearly used up."""
        return int(self._length[0])

    # --- planning --------------------------------------------------------------------------------

    def plan(self) -> TryingPolicy:
        """The best policy of a world drawn near the mean, and what to try beside it."""
        self.model.update(self.statistics)
        slots = self.way.name == "sequential"
        near = self.model.draw(self.rng, SPREAD, slots=slots)
        wide = self.model.draw(self.rng, 1.0, slots=slots)
        self._length[0] = max(1, self._opened // SHARE)
        if self.explore_budget is not None:
            affordable = self._affordable_cases(self.explore_budget)
            if affordable == 0:
                return no_tries(self._careful_policy(near))
            self._length[0] = min(self._length[0], affordable)
        return with_tries(self.way.policy(self.lattice, near), self._tries(wide))

    def _tries(self, wide: Estimates) -> Tries:
        """What is most telling in the wide world whatever the price, and what is best there."""
        statistics = self.statistics
        acted = statistics.action_counts.sum(axis=1)
        if self.way.name == "sequential":
            came = statistics.transitions.sum(axis=1)
            came[START] = statistics.cases
            chance = np.minimum(1.0, CURIOSITY / np.sqrt(1 + came))
            full = self.lattice.layout.offsets[self.lattice.layout.levels[self.lattice.m]]
            chance[full:] = 0.0
            favourite = plan_sequential(self._priceless, wide).next.astype(np.int64)
        else:
            chance = np.array([min(1.0, CURIOSITY / math.sqrt(1 + statistics.cases))])
            favourite = np.array([plan_simultaneous(self._priceless, wide).subset])
        dare = np.minimum(1.0, DARING / np.sqrt(1 + acted))
        return Tries(favourite, chance, wide.action, dare)

    # --- the budget ------------------------------------------------------------------------------

    def _blind_gain(self) -> float:
        """β max_a E[r(a, ∅)]: the best gain without information, by today's estimate."""
        return self.problem.reward_value * float(self.model.mean_rewards()[START].max())

    def _affordable_cases(self, budget: float) -> int:
        """How many cases can still be lost entirely, dearest looks included, within the budget.

        Lost so far is what acting blindly would have earned, less what was earned. Of cases whose
        reward is still to come the worst is assumed.
        """
        statistics, costs = self.statistics, self.lattice.subset_costs
        acted = statistics.action_counts.sum(axis=1)
        rewarded = int(acted.sum())
        spent = float(np.repeat(costs, np.diff(self.lattice.layout.offsets)) @ acted)
        earned = self.problem.reward_value * float(statistics.reward_sums.sum()) * UNIT
        blind = self._blind_gain()
        lost = rewarded * blind - (earned - spent)
        worst = blind + float(costs.max())
        left = budget - lost - (self._opened - rewarded) * worst
        return max(0, int(left / worst)) if worst > 0 else 1 << 62

    def _careful_policy(self, near: Estimates) -> Policy:
        """What pays by cautious estimates; else buy nothing, and learn which action is best."""
        careful = self.recommend()
        if careful.value > self._blind_gain():
            return careful
        if self.way.name == "simultaneous":
            return SimultaneousPolicy(self.lattice, 0, near.action, np.zeros(self.lattice.subsets))
        nothing = np.full(self.lattice.size, -1, np.int16)
        return SequentialPolicy(self.lattice, nothing, near.action, np.zeros(self.lattice.size))

    # --- many cases ------------------------------------------------------------------------------

    def run(
        self,
        values: Choices,
        rewards: Floats,
        out_state: Integers,
        out_action: Choices,
        out_round: Integers,
    ) -> None:
        """Decide these cases just as `open`, `observe` and `reward` would, one by one."""
        start = 0
        while start < len(values):
            policy = self._policy_of_the_round()
            assert isinstance(policy, TryingPolicy)
            cases = min(len(values) - start, self.round_length - self.lengths[1])
            part = slice(start, start + cases)
            tags = self.rng.integers(TAGS, size=cases)
            out_state[part], out_action[part] = policy.run(
                self.statistics, tags, values[part], rewards[part]
            )
            out_round[part] = self.round
            self.statistics.cases += cases
            self._count_opened(cases)
            start += cases


def _free_of_charge(problem: Problem) -> Problem:
    """The same problem, all of it for nothing."""
    return Problem(
        observations=[Observation(o.name, values=o.values, cost=0) for o in problem.observations],
        actions=problem.actions,
        max_observations=problem.max_observations,
        reward_value=problem.reward_value,
    )


def _check_budget(budget: object) -> float | None:
    if budget is None:
        return None
    if isinstance(budget, numbers.Real) and not isinstance(budget, bool):
        amount = float(budget)
        if 0 <= amount < math.inf:
            return amount
    raise OptionError(
        f"explore_budget must be a finite number of at least 0 or None, got {budget!r}"
    )
