"""The default learner's strategy for a few hundred full states: one joint model of them all.

At the beginning of a round it draws two worlds from what it believes (`estimation/joint.py`) and
plans for the first, drawn near the mean at first and ever less so. Beside that plan it tries

- another look (or set), whether the plan would look or act, with a chance of `CURIOSITY`/√(1 + n),
  n cases having come to that state: half of the time the best one in the second world (where the
  plan would act, the most telling one, whatever its price), else any;
- the action that is best in the second world, with a chance of `BOLDNESS`/√(1 + n), n cases having
  acted there.

**What trying costs** is the gain of the plan less that of the plan with its tries, both by what is
believed now. All chances are scaled down until that is at most

    β (FIRST + LATER / √t)   in the first 200 cases,      β LATER / √t   after them,

so t cases lose about 2 β LATER √t by trying, and a case ever less.

**Why what it recommends becomes the best.** What the tries would cost unscaled falls like 1/√t, and
so does what they may cost: the scale stays away from zero. So of n cases that came to a state some
multiple of √n tried something else there, which is without limit in n; by induction every state
that can be bought is come to without end, and every action that may still be the best taken there.
Counts outweigh the prior, the estimates of all of them become right, and the best policy by right
estimates is the best one.

**After a log** it first does what the log recommends, and explores as its own cases add up: of t
cases n were the log's, and the world that is planned for has a share of √((t − n) / t) of its
spread, and the rest of the caution with which policies are recommended. Half a per cent of β a
case is the most that it may lose, by what it can rely on: a plan that would lose more than what is
recommended is not followed, and things are tried as seldom as it takes. Once it has had as many
cases as the log, it goes on as a learner that had all of them itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.estimation.beliefs import STEPS, beliefs_of, joint_beliefs
from askwise.estimation.complete_records import Log, weigh_states
from askwise.estimation.estimates import Estimates
from askwise.estimation.evidence import Beliefs
from askwise.estimation.joint import JointModel
from askwise.learners.explore_budget import affordable_cases
from askwise.learners.model_strategy import MOST_LOST, ModelStrategy
from askwise.learners.strategy import Progress
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.acquisition import Acquisition, set_policy_from, tie_margin
from askwise.policy.budgeted import Line, at_prices_of, line_of, repriced
from askwise.policy.expected_gain import expected_gain, expected_spend
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.policy.recommending import recommended
from askwise.problem import Budget, Problem
from askwise.states import Lattice

SPREAD = 0.5
"""How far the world that is planned for is drawn from the mean in the first thousand cases."""
WIDENING = 0.15
"""How much farther with every tenfold of cases after them, up to a whole draw.

Wider draws find what was missed; early, when much is uncertain, they cost more than they find.
"""
CURIOSITY = {"sequential": 2.0, "simultaneous": 6.0}
BOLDNESS = 0.5
BOLDNESS_IF_IT_CHANGES = 1.0
"""How likely another look or set, and another action are, c/√(1 + n), before they are scaled.

A look is chosen in every state that a case comes to, a set only once.
"""
FIRST_CASES = 200
FIRST = 0.05
LATER = 0.2
LATER_IF_IT_CHANGES = 0.8
"""What trying may cost a case, in units of β; how it was chosen is in docs/decisions-learning.md.

In a world that changes, what is not worth buying today may be tomorrow.
"""
TRYING = 0.5
"""The part of a budget that may be spent on tries."""
SETTLING = 20
"""Draws of the variances of effects after a log."""
ROUND_DIVISOR = 100
"""A round is as long as the number of all cases before it, divided by this."""


class JointStrategy(ModelStrategy):
    """Every case counts for every state that it is evidence for."""

    model_name = "joint"
    honours_rules = True

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        *,
        explore_budget: float | None = None,
        budget: Budget | None = None,
        explore: float = 1.0,
        forgets: bool = False,
    ) -> None:
        super().__init__(
            lattice,
            acquisition,
            explore_budget=explore_budget,
            budget=budget,
            explore=explore,
            forgets=forgets,
        )
        self.model = JointModel(lattice)
        self._priceless = Lattice(_free_of_charge(lattice.problem))
        actions = (len(lattice.problem.actions),) if lattice.problem.has_rules else ()
        self.world: Floats = np.zeros((lattice.size, *actions))
        """The rewards of the world that the round is planned for: of the best action, or of each if
        which is best depends on what actions cost, and so on the stake."""
        self._recorded: Floats = np.zeros(lattice.size)
        """Complete records by state."""

    def begin_with(self, log: Log) -> None:
        """Begin with a log whose complete records are not in the statistics."""
        self._log, records = log, log.records
        if records is not None:
            self.model.take(records)
            self._recorded = weigh_states(self.lattice, records, records.counts.astype(np.float64))

    def settle(self, now: Progress) -> None:
        """Let the estimates settle on what a log says."""
        self.model.update(now.statistics, STEPS)
        for _ in range(SETTLING):
            self.model.draw_effect_variances(now.rng)
            self.model.update(now.statistics, 0)

    # --- planning --------------------------------------------------------------------------------

    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """The best policy of a world drawn near the mean, and how many cases it is for."""
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
        near = self._estimates(drawn)
        self._keep_world(drawn)
        wide = self.model.draw(rng, 1.0, self.acquisition.name)
        self.model.draw_effect_variances(rng)
        length = max(1, opened // ROUND_DIVISOR)
        if self.explore_budget is not None:
            blind = self._blind_gain()
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                return self._careful_policy(statistics, near), length
            length = min(length, affordable)
        policy = self._within_budget(lambda at: self.acquisition.best(at, near), near.reward)
        exploration = self._exploration(policy, statistics, wide)
        if known is None:
            mean, most = self.model.mean_rewards(), most_spent(opened, forgets=self.forgets)
            return self._affordable(policy, exploration, mean, most), length
        relied, is_first = known.cautious_rewards(), opened == self.log.cases
        best = recommended(
            self.acquisition, self._beliefs(statistics) if is_first else known, self.target
        )
        if is_first or self._lost(best, policy, relied) > self._most_lost:
            policy = best
            self._keep_world(relied)
        # by the means, what was hardly tried would seem to cost little
        return self._affordable(policy, exploration, relied, MOST_LOST), length

    def plan_recommended(self, statistics: Statistics) -> Policy:
        """What is recommended when a round begins; cases with prices of their own go by it too."""
        known = beliefs_of(self.model, statistics, self.log)
        self._keep_world(known.cautious_rewards())
        nothing = self.acquisition.no_exploration(self.lattice)
        best = recommended(self.acquisition, known, self.target)
        return best.each(lambda part: part.exploring(nothing))

    def _within_budget(self, best: Callable[[Lattice], Policy], reward: Floats) -> Policy:
        """The best policy at the prices of a lattice, or the mixture that spends what it may.

        `reward` is what acting in ψ earns, its cost taken off, at [ψ], or at [ψ, a].
        """
        if self.spending is None:
            return best(self.lattice)
        lattice, p, every = self.lattice, self.model.probability, np.arange(self.lattice.size)

        def earned(policy: Policy) -> Floats:
            return reward if reward.ndim == 1 else reward[every, policy.actions]

        def plan(price: float) -> Line:
            policy = best(lattice.at_rate(1.0 + price))
            return line_of(policy, lattice, p, earned(policy))

        def finish(policy: Policy) -> Policy:
            return Policy(at_prices_of(lattice, policy, p, earned(policy)))

        return self.spending.best(plan, finish, lattice.problem.reward_value)

    @property
    def _most_lost(self) -> float:
        return MOST_LOST * self.lattice.problem.reward_value

    def _lost(self, best: Policy, policy: Policy, relied: Floats) -> float:
        """What a policy gains less than another, by the rewards that can be relied on."""
        gain, less = (expected_gain(p, self.model.probability, relied) for p in (best, policy))
        return gain - less

    def _keep_world(self, reward: Floats) -> None:
        self.world[:] = reward if self.world.ndim == 2 else reward.max(axis=1)

    def _estimates(self, reward: Floats) -> Estimates:
        """A world of these rewards, r(a, ψ), as the planners take it."""
        reward = self.lattice.net(reward)
        action = reward.argmax(axis=1).astype(np.int16)
        weight = self.model.weight(self.acquisition.name)
        return Estimates(reward.max(axis=1), action, weight, Radii())

    def _near(self, rng: np.random.Generator, opened: int, known: Beliefs | None) -> Floats:
        """The world to plan for: a draw near the mean; after a log, nearer to what it says."""
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
        """The policy with an exploration that costs at most so much of β a case, by rewards r."""
        if policy.mixture is not None:
            return policy.each(lambda part: self._affordable(part, exploration, reward, most))
        trying, p = policy.exploring(exploration), self.model.probability
        lost = expected_gain(trying, p, reward, 0.0) - expected_gain(trying, p, reward)
        most *= self.lattice.problem.reward_value
        scale = most / lost if lost > most else 1.0
        if self.spending is not None:  # no more than half of what a case may spend goes into tries
            spent = expected_spend(trying, p) - expected_spend(policy, p)
            scale = min(scale, TRYING * self.spending.per_case / max(spent, 1e-300))
        return policy.exploring(exploration.scaled(scale)) if scale < 1.0 else trying

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """The best policy, or set beside what is on file, of the world that the round is for."""
        margin, reward, action = tie_margin(lattice), self.world, policy.actions
        if reward.ndim == 2:
            net = lattice.net(reward)
            reward, action = net.max(axis=1), net.argmax(axis=1).astype(np.int16)
        if start:
            weight = self.model.weight("sequential")  # from what is on file, p is by slot
            near = Estimates(reward, action, weight, Radii())
            own = set_policy_from(self._at_rate(lattice), near, start, margin=margin)
        else:
            weight = self.model.weight(self.acquisition.name)
            near = Estimates(reward, action, weight, Radii())
            own = self.acquisition.best(self._at_rate(lattice), near, margin=margin)
        if self.spending is not None:
            own = repriced(lattice, own)
        return own.exploring(policy.exploration)

    def _at_rate(self, lattice: Lattice) -> Lattice:
        """The prices to plan with: within a budget, those of the round."""
        return lattice if self.spending is None else lattice.at_rate(self.spending.rate)

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = self.model.lattice = lattice

    def evidence(self, now: Progress) -> Beliefs:
        """What it believes; changes nothing."""
        return self._beliefs(now.statistics)

    def recommend(self, now: Progress) -> Policy:
        """The best policy by what can be relied on; changes nothing."""
        return recommended(self.acquisition, self._beliefs(now.statistics), self.budget)

    def _beliefs(self, statistics: Statistics) -> Beliefs:
        return joint_beliefs(statistics, self.log)

    def _exploration(
        self, policy: Policy, statistics: Statistics, wide: Estimates
    ) -> PathExploration | SetExploration:
        """What is best in the second world, and how likely it is tried."""
        came = statistics.transitions.sum(axis=1) + self._recorded, self._began(statistics)
        acted = statistics.action_counts.sum(axis=1) + self._recorded
        boldness = BOLDNESS_IF_IT_CHANGES if self.forgets else BOLDNESS
        another = np.minimum(1.0, boldness / np.sqrt(1 + acted))
        return self.acquisition.exploration(
            policy, self._priceless, wide, came, CURIOSITY[self.acquisition.name], another
        )

    def _began(self, statistics: Statistics) -> Floats:
        """How many cases began in each context."""
        contexts = self.lattice.contexts
        began = np.array([statistics.cases]) if contexts == 1 else statistics.visits[:contexts]
        found: Floats = began + self._recorded[:contexts]
        return found

    def _blind_gain(self) -> float:
        """max_a β E[r(a, ∅)] − cost(a): the best gain without looking, by today's estimate."""
        contexts = self.lattice.contexts
        best: Floats = self.lattice.net(self.model.mean_rewards())[:contexts].max(axis=1)
        return self.lattice.problem.reward_value * float(best @ self.model.probability[:contexts])

    def _careful_policy(self, statistics: Statistics, near: Estimates) -> Policy:
        """What pays by cautious estimates; else buy nothing, and learn which action is best."""
        believed = beliefs_of(self.model, statistics)
        careful = self._within_budget(
            lambda at: self.acquisition.best_by_beliefs(at, believed),
            self.lattice.net(believed.cautious_rewards()),
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
        """Work the population out from nothing but what was counted."""
        variances = self.model.effect_variances
        self.model = JointModel(self.lattice)
        self.model.effect_variances[:] = variances
        self.begin_with(self.log)
        self.model.update(statistics, STEPS)
        self.world[:] = 0.0

    @property
    def learns_from_tallies(self) -> bool:
        """It does not: of a budget it is tallied what was spent, which says nothing of it."""
        return False

    def model_arrays(self) -> dict[str, Floats | Integers]:
        """Where the estimates stand, from which the next ones go on."""
        model = self.model
        return {
            "population": model.population,
            "effect_variances": model.effect_variances,
            "world": self.world,
        }

    def model_restored(self) -> None:
        """The arrays were overwritten by saved ones."""
        self.model.restored()


def near_spread(opened: int) -> float:
    """How far the world that is planned for is drawn from the mean after so many cases."""
    return min(1.0, SPREAD + WIDENING * max(0.0, math.log10((1 + opened) / 1_000)))


def most_spent(opened: int, *, forgets: bool = False) -> float:
    """What trying may cost a case after so many cases, in units of β.

    Of a learner that forgets they are the cases it remembers.
    """
    later = LATER_IF_IT_CHANGES if forgets else LATER
    return FIRST * (opened < FIRST_CASES) + later / math.sqrt(1 + opened)


def _free_of_charge(problem: Problem) -> Problem:
    """The same problem, all that can be bought for nothing."""
    free = [msgspec.structs.replace(o, cost=0.0) for o in problem.observations]
    return msgspec.structs.replace(problem, observations=free, panels=())
