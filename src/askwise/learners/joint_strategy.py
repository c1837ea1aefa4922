"""The default learner's strategy for a few hundred full states: one joint model of them all.

At the beginning of a round it draws two worlds from its posterior (`estimation/joint.py`). It plans
for the first, which is drawn near the mean at first and less so later. It also explores

- another observation (or set) with probability `CURIOSITY`/√(1 + n), where n cases came to that
  state. Half of the time it is the best one in the second world, or the most informative one at any
  price if the plan would act. Otherwise it is a random one;
- another action with probability `BOLDNESS`/√(1 + n), where n cases acted. It is the best one of
  the second world except the plan's, if that one was taken in less than `SELDOM` n^(1/3) of all n
  cases. Else it is the best one of the second world, which is often the plan's own.

**The cost of exploration** is the gain of the plan less that of the plan with exploration, both by
the current estimates. All probabilities are scaled down until the cost is at most

    β (FIRST + LATER / √t)   in the first 200 cases,      β LATER / √t   after them,

so t cases lose about 2 β LATER √t by exploration (`exploration_costs.py`).

**Why the recommendation converges to the best policy.** The cost of unscaled exploration falls like
1/√t, and so does its limit, so the scale stays away from zero. So of n cases that came to a state,
some multiple of √n explored there, which is unbounded in n. By induction every state that can be
bought is reached infinitely often, and every action that may still be the best is taken there.
Every action is taken infinitely often, however poor its first rewards were. Counts outweigh the
prior, so the estimates converge to the truth.

**After a log** it first follows the log's recommendation, and explores as its own cases add up. If
n of t cases were the log's, the world that is planned for has a share of √((t − n) / t) of its
spread, and the rest of the caution of recommendations. It may lose at most half a per cent of β a
case, by cautious estimates. A plan that would lose more is not followed, and exploration is scaled
down. Once it has had as many cases as the log, it continues as if all had been its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.sums import dot
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.estimation.beliefs import STEPS, beliefs_of, joint_beliefs
from askwise.estimation.complete_records import Log, weigh_states
from askwise.estimation.estimates import Estimates
from askwise.estimation.evidence import Beliefs
from askwise.estimation.joint import JointModel
from askwise.learners.exploration_costs import actions_to_try, most_spent, near_spread
from askwise.learners.explore_budget import affordable_cases
from askwise.learners.model_strategy import MOST_LOST, ModelOptions, ModelStrategy
from askwise.learners.strategy import Progress
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.acquisition import Acquisition, set_policy_from, tie_margin
from askwise.policy.budgeted import Line, at_prices_of, line_of, mean_line, repriced
from askwise.policy.expected_gain import expected_gain, expected_spend
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.problem import Problem
from askwise.states import Lattice

CURIOSITY = {"sequential": 2.0, "simultaneous": 6.0}
BOLDNESS = 0.5
BOLDNESS_IF_IT_CHANGES = 1.0
"""The probability of another observation or set, and of another action, c/√(1 + n), unscaled.

An observation is chosen in every state that a case reaches, a set only once.
"""
TRYING = 0.5
"""The part of a budget that may be spent on exploration."""
SETTLING = 20
"""Draws of the variances of effects after a log."""
ROUND_DIVISOR = 100
"""A round is as long as the number of all cases before it, divided by this."""
RECOMMENDED_ROUND_DIVISOR = 25
"""The same, if most cases follow the recommendation: to make one takes far longer than a plan."""


class JointStrategy(ModelStrategy):
    """Every case updates all states for which it is evidence."""

    model_name = "joint"
    honours_rules = True

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        options: ModelOptions,
    ) -> None:
        super().__init__(lattice, acquisition, options)
        self.model = JointModel(lattice)
        self._priceless = Lattice(_free_of_charge(lattice.problem))
        actions = (len(lattice.problem.actions),) if lattice.problem.has_rules else ()
        self.world: Floats = np.zeros((lattice.size, *actions))
        """The rewards of the world that the round is planned for: of the best action, or of each if
        which is best depends on what actions cost, and so on the stake. Of a learner that explores
        in a share of its cases: of the others."""
        self._explored_world: Floats = np.zeros_like(self.world)
        """That of the cases which explore, if only a share of them does."""
        self._recorded: Floats = np.zeros(lattice.size)
        """Complete records by state."""

    def begin_with(self, log: Log) -> None:
        """Begins with a log whose complete records are not in the statistics."""
        self._log, records = log, log.records
        if records is not None:
            self.model.take(records)
            self._recorded = weigh_states(self.lattice, records, records.counts.astype(np.float64))

    def settle(self, now: Progress) -> None:
        """Fits the estimates to a log."""
        self.model.update(now.statistics, STEPS)
        for _ in range(SETTLING):
            self.model.draw_effect_variances(now.rng)
            self.model.update(now.statistics, 0)

    # --- planning --------------------------------------------------------------------------------

    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """Returns the best policy of a world drawn near the mean, and the length of the round."""
        policy, length = self._plan_round(statistics, opened, rng)
        if self.spending is not None:
            p = self.model.probability
            plan = policy.each(lambda part: part.exploring(None))
            self.spending.trying[0] = expected_spend(policy, p) - expected_spend(plan, p)
        return policy, length

    def _plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        self.model.update(statistics)
        follows = self.follows_log(opened)
        known = beliefs_of(self.model, statistics, self.log) if follows else None
        drawn = self._near(rng, opened, known)
        near = self._estimates(drawn, self.lattice)
        self._keep_world(drawn)
        second = self.lattice.net(self.model.draw_rewards(rng, 1.0))
        self.model.draw_effect_variances(rng)
        explores_in_all = self.explore == 1.0
        divisor = ROUND_DIVISOR if explores_in_all else RECOMMENDED_ROUND_DIVISOR
        length = max(1, opened // divisor)
        if self.explore_budget is not None:
            blind = self._blind_gain()
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                return self._careful_policy(statistics, near), length
            length = min(length, affordable)
        policy = self._within_budget(
            lambda at: self.acquisition.best(at, self._estimates(drawn, at)), drawn
        )
        exploration = self._exploration(policy, statistics, second)
        if known is None:
            mean, most = self.model.mean_rewards(), most_spent(opened, forgets=self.forgets)
            return self._affordable(policy, exploration, mean, most), length
        relied, is_first = known.cautious_rewards(), opened == self.log.cases
        best, follow = self.recommended_now(self._beliefs(statistics) if is_first else known)
        if is_first or self._lost(best, policy, relied) > self._most_lost:
            policy = best
            follow()
            self._keep_world(relied)
        # by the means, actions that were hardly tried would seem to cost little
        return self._affordable(policy, exploration, relied, MOST_LOST), length

    def plan_recommended(self, statistics: Statistics) -> Policy:
        """Returns the recommendation of a round, from the same estimates as `recommend`."""
        known = self._beliefs(statistics)
        self._explored_world[:] = self.world
        self._keep_world(known.cautious_rewards())
        nothing = self.acquisition.no_exploration(self.lattice)
        best, follow = self.recommended_now(known)
        follow()
        return best.each(lambda part: part.exploring(nothing))

    def _within_budget(self, best: Callable[[Lattice], Policy], reward: Floats) -> Policy:
        """Returns the best policy at the prices of a lattice, or the best mixture in the budget.

        `reward` is r(a, ψ) at [ψ, a].
        """
        if self.spending is None:
            return best(self.lattice)
        lattice, p, every = self.lattice, self.model.probability, np.arange(self.lattice.size)
        kinds = self.spending.kinds.shares(lattice)
        shares = [share for share, _ in kinds]

        def earned(policy: Policy, at: Lattice) -> Floats:
            return at.net(reward)[every, policy.actions]

        def line(at: Lattice, price: float) -> Line:
            policy = best(at.at_rate(1.0 + price))
            return line_of(policy, at, p, earned(policy, at))

        def plan(price: float) -> Line:
            return mean_line(shares, [line(at, price) for _, at in kinds], price)

        def finish(policy: Policy) -> Policy:
            return Policy(at_prices_of(lattice, policy, p, earned(policy, lattice)))

        return self.spending.best(plan, finish, lattice.problem.reward_value)

    @property
    def _most_lost(self) -> float:
        return MOST_LOST * self.lattice.problem.reward_value

    def _lost(self, best: Policy, policy: Policy, relied: Floats) -> float:
        """Returns how much less a policy gains than another, by cautious rewards."""
        gain, less = (expected_gain(p, self.model.probability, relied) for p in (best, policy))
        return gain - less

    def _keep_world(self, reward: Floats) -> None:
        self.world[:] = reward if self.world.ndim == 2 else reward.max(axis=1)

    def _estimates(self, reward: Floats, lattice: Lattice) -> Estimates:
        """Returns a world with these rewards r(a, ψ), for the planners at a stake."""
        reward = lattice.net(reward)
        action = reward.argmax(axis=1).astype(np.int16)
        weight = self.model.weight(self.acquisition.name)
        return Estimates(reward.max(axis=1), action, weight, Radii())

    def _near(self, rng: np.random.Generator, opened: int, known: Beliefs | None) -> Floats:
        """Draws the world to plan for, near the mean; after a log, nearer to its estimates."""
        if known is None:
            return self.model.draw_rewards(rng, near_spread(opened))
        own = math.sqrt(max(0, opened - self.log.cases) / opened)
        reward = self.model.draw_rewards(rng, near_spread(opened) * own)
        reward -= (1.0 - own) * (known.reward - known.cautious_rewards())
        return reward

    def _affordable(
        self,
        policy: Policy,
        exploration: PathExploration | SetExploration,
        reward: Floats,
        most: float,
    ) -> Policy:
        """Returns the policy with exploration of at most this cost, a part of β, by rewards r."""
        if policy.mixture is not None:
            return policy.each(lambda part: self._affordable(part, exploration, reward, most))
        trying, p = policy.exploring(exploration), self.model.probability
        lost = expected_gain(trying, p, reward, 0.0) - expected_gain(trying, p, reward)
        most *= self.lattice.problem.reward_value
        scale = most / lost if lost > most else 1.0
        if self.spending is not None:  # exploration gets at most half of what a case may spend
            spent = expected_spend(trying, p) - expected_spend(policy, p)
            scale = min(scale, TRYING * self.spending.per_case / max(spent, 1e-300))
        return policy.exploring(exploration.scaled(scale)) if scale < 1.0 else trying

    def plan_own(
        self, now: Progress, policy: Policy, lattice: Lattice, start: int, *, explores: bool
    ) -> Policy:
        """The best policy, or set beside what is on file, of the world that the round is for."""
        reward = self._explored_world if explores else self.world
        margin, action = tie_margin(lattice), policy.actions
        if reward.ndim == 2:
            net = lattice.net(reward)
            reward, action = net.max(axis=1), net.argmax(axis=1).astype(np.int16)
        if start:
            weight = self.model.weight("sequential")  # with values on file, p is by slot
        else:
            weight = self.model.weight(self.acquisition.name)
        near = Estimates(reward, action, weight, Radii())

        def plan(at: Lattice) -> Policy:
            if start:
                return set_policy_from(at, near, start, margin=margin)
            return self.acquisition.best(at, near, margin=margin)

        if self.spending is None:
            return plan(lattice).exploring(policy.exploration)
        return self.spending.planned(
            lambda rate: repriced(lattice, plan(lattice.at_rate(rate))).exploring(
                policy.exploration
            )
        )

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = self.model.lattice = lattice

    def evidence(self, now: Progress) -> Beliefs:
        """Returns the posterior means. Nothing changes."""
        return self._beliefs(now.statistics)

    def recommend(self, now: Progress, stake: float = 1.0) -> Policy:
        """Returns the best policy by cautious estimates, for a stake. Nothing changes."""
        return self.recommended(self.evidence(now), stake)

    def _beliefs(self, statistics: Statistics) -> Beliefs:
        return joint_beliefs(statistics, self.log, like=self.model)

    def _exploration(
        self, policy: Policy, statistics: Statistics, second: Floats
    ) -> PathExploration | SetExploration:
        """Returns the best choices of the second world, and their probabilities.

        `second` has what its actions earn net of their costs, at [ψ, a].
        """
        came = statistics.transitions.sum(axis=1) + self._recorded, self._began(statistics)
        acted = statistics.action_counts.sum(axis=1) + self._recorded
        boldness = BOLDNESS_IF_IT_CHANGES if self.forgets else BOLDNESS
        another = np.minimum(1.0, boldness / np.sqrt(1 + acted))
        taken = statistics.action_counts + self._recorded[:, None]
        action = actions_to_try(second, policy.actions, taken)
        weight = self.model.weight(self.acquisition.name)
        wide = Estimates(second.max(axis=1), action, weight, Radii())
        return self.acquisition.exploration(
            policy, self._priceless, wide, came, CURIOSITY[self.acquisition.name], another
        )

    def _began(self, statistics: Statistics) -> Floats:
        """The number of cases that began in each context."""
        contexts = self.lattice.contexts
        began = np.array([statistics.cases]) if contexts == 1 else statistics.visits[:contexts]
        found: Floats = began + self._recorded[:contexts]
        return found

    def _blind_gain(self) -> float:
        """max_a β E[r(a, ∅)] − cost(a): the estimated best gain without observations."""
        contexts = self.lattice.contexts
        best: Floats = self.lattice.net(self.model.mean_rewards())[:contexts].max(axis=1)
        return self.lattice.problem.reward_value * dot(best, self.model.probability[:contexts])

    def _careful_policy(self, statistics: Statistics, near: Estimates) -> Policy:
        """Returns what pays by cautious estimates; else it buys nothing and learns to act."""
        believed = beliefs_of(self.model, statistics)
        careful = self._within_budget(
            lambda at: self.acquisition.best_by_beliefs(at, believed.at_stake(at.stake)),
            believed.cautious_rewards(),
        )
        if careful.planned_value > self._blind_gain():
            tries = self.acquisition.no_exploration(self.lattice)
            return careful.each(lambda part: part.exploring(tries))
        nothing = self.acquisition.buying_nothing(self.lattice, near.action)
        return nothing.exploring(self.acquisition.no_exploration(self.lattice))

    # --- many cases, and what is saved -----------------------------------------------------------

    def run_cases(
        self,
        policy: Policy,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        table, exploration = policy.table, policy.exploration
        if isinstance(exploration, PathExploration):
            assert isinstance(table, PathTable)
            return exploration.run(table, statistics, tags, values, rewards)
        assert isinstance(exploration, SetExploration)
        assert isinstance(table, SetTable)
        return exploration.run(table, statistics, tags, values, rewards)

    def settle_anew(self, statistics: Statistics) -> None:
        """Computes the population from the counters alone."""
        variances = self.model.effect_variances
        self.model = self.model.apart(self.lattice)
        self.model.effect_variances[:] = variances
        self.begin_with(self.log)
        self.model.update(statistics, STEPS)
        self.world[:] = self._explored_world[:] = 0.0

    @property
    def learns_from_tallies(self) -> bool:
        """False, because the only tally is the spend, which is no evidence for the population."""
        return False

    def model_arrays(self) -> dict[str, Floats | Integers]:
        """The current estimates, from which the next ones continue."""
        model = self.model
        arrays: dict[str, Floats | Integers] = {
            "population": model.population,
            "effect_variances": model.effect_variances,
            "expected_rewards": model.expected,
            "world": self.world,
        }
        if self.explores_in_a_share:
            arrays["explored_world"] = self._explored_world
        return arrays

    def model_restored(self) -> None:
        """Checks the arrays after saved ones overwrote them."""
        self.model.restored()


def _free_of_charge(problem: Problem) -> Problem:
    """The same problem with all prices 0."""
    free = [msgspec.structs.replace(o, cost=0.0) for o in problem.observations]
    return msgspec.structs.replace(problem, observations=free, panels=())
