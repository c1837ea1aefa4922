"""The default learner's strategy for a few hundred full states: one joint model of them all.

At the beginning of a round it draws two worlds from what it believes (`estimation/joint.py`). It
plans for the first, drawn near the mean. Where that plan would act, it looks once more with a
chance of 2/√(1 + n), n cases having come to that state: half of the time at what is most telling in
the second world, whatever the price, else at anything. With a chance of 1/√(1 + n), n cases having
acted there, it does what is best in the second world.

The second world is drawn wider and wider, like √log t. Bad luck with the first few tries of an
action makes it look worse than it is; a draw of the same width for ever would hardly come back to
it, and the learner would go on paying for a look, or taking an action, that only seems better. As
such draws count for ever fewer cases, they cost little.

**After a log** it first does what the log recommends, and explores as its own cases add up: of t
cases n were the log's, and the world that is planned for has a share of √((t − n) / t) of its
spread, and the rest of the caution with which policies are recommended. Half a per cent of β a
case is the most that it may lose, by what it can rely on: a plan that would lose more than what is
recommended is not followed, and things are tried as seldom as it takes. Once it has had as many
cases as the log, it goes on as a learner that had all of them itself.
"""

from __future__ import annotations

import math

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
from askwise.learners.budget import affordable_cases
from askwise.learners.model_strategy import ModelStrategy
from askwise.learners.strategy import Progress
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.acquisition import Acquisition, set_policy_from
from askwise.policy.expected_gain import expected_gain
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.policy.recommending import recommended
from askwise.problem import Problem
from askwise.states import Lattice

SPREAD = 0.5
"""How far the world that is planned for is drawn from the mean: ½ of the posterior's spread."""
SETTLED = 1_000
"""The wide world is drawn with a spread of √log(t / SETTLED), at least 1.

Sooner costs score early on, and for long when buying sets; later, runs may stay stuck for longer.
How it was chosen is in docs/learning.md.
"""
CURIOSITY = 2.0
BOLDNESS = 1.0
"""How likely one more look and another action are, c/√(1 + n) for a state that n cases came to, or
acted in."""
SHARE = 100
"""A round is as long as this part of all cases before it."""
MOST_LOST = 0.005
"""What trying may cost a case after a log, in units of β, by what is believed."""


class JointStrategy(ModelStrategy):
    """Every case counts for every state that it is evidence for."""

    model_name = "joint"

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        *,
        explore_budget: float | None = None,
        forgets: bool = False,
    ) -> None:
        super().__init__(lattice, acquisition, explore_budget=explore_budget, forgets=forgets)
        self.model = JointModel(lattice)
        self._priceless = Lattice(_free_of_charge(lattice.problem))
        self.world: Floats = np.zeros(lattice.size)
        """The rewards of the world that the round is planned for."""
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

    # --- planning --------------------------------------------------------------------------------

    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """The best policy of a world drawn near the mean, and how many cases it is for."""
        self.model.update(statistics)
        follows = self.follows_log(opened)
        known = beliefs_of(self.model, statistics, self.log) if follows else None
        near = self._near(rng, opened, known)
        self.world[:] = near.reward
        wide = self.model.draw(rng, wide_spread(opened), self.acquisition.name)
        length = max(1, opened // SHARE)
        if self.explore_budget is not None:
            blind = self._blind_gain()
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                return self._careful_policy(statistics, near), length
            length = min(length, affordable)
        policy = self.acquisition.best(self.lattice, near)
        exploration = self._exploration(statistics, wide)
        if known is None:
            return policy.exploring(exploration), length
        relied, is_first = known.cautious_rewards(), opened == self.log.cases
        best = recommended(self.acquisition, self._beliefs(statistics) if is_first else known)
        if is_first or self._lost(best, policy, relied) > self._most_lost:
            policy = best
            self.world[:] = relied.max(axis=1)
        return self._affordable(policy, exploration, relied), length

    @property
    def _most_lost(self) -> float:
        return MOST_LOST * self.lattice.problem.reward_value

    def _lost(self, best: Policy, policy: Policy, relied: Floats) -> float:
        """What a policy gains less than another, by the rewards that can be relied on."""
        gain, less = (expected_gain(p, self.model.probability, relied) for p in (best, policy))
        return gain - less

    def _near(self, rng: np.random.Generator, opened: int, known: Beliefs | None) -> Estimates:
        """The world to plan for: a draw near the mean; after a log, nearer to what it says."""
        if known is None:
            return self.model.draw(rng, SPREAD, self.acquisition.name)
        own = math.sqrt(max(0, opened - self.log.cases) / opened)
        reward = self.model.draw_rewards(rng, SPREAD * own)
        reward -= (1.0 - own) * (known.reward - known.cautious_rewards())
        action = reward.argmax(axis=1).astype(np.int16)
        weight = self.model.weight(self.acquisition.name)
        return Estimates(reward.max(axis=1), action, weight, Radii())

    def _affordable(
        self, policy: Policy, exploration: PathExploration | SetExploration, relied: Floats
    ) -> Policy:
        """The policy with an exploration that costs no more than it may, by what can be relied on.

        By the means, what was hardly tried would seem to cost little.
        """
        lost = self._lost(policy, policy.exploring(exploration), relied)
        part = min(1.0, self._most_lost / lost) if lost > 0 else 1.0
        return policy.exploring(exploration.scaled(part))

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """The best policy, or set beside what is on file, of the world that the round is for."""
        if start:
            weight = self.model.weight("sequential")  # from what is on file, p is by slot
            near = Estimates(self.world, policy.actions, weight, Radii())
            own = set_policy_from(lattice, near, start)
        else:
            weight = self.model.weight(self.acquisition.name)
            near = Estimates(self.world, policy.actions, weight, Radii())
            own = self.acquisition.best(lattice, near)
        return own.exploring(policy.exploration)

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = self.model.lattice = lattice

    def evidence(self, now: Progress) -> Beliefs:
        """What it believes; changes nothing."""
        return self._beliefs(now.statistics)

    def recommend(self, now: Progress) -> Policy:
        """The best policy by what can be relied on; changes nothing."""
        return recommended(self.acquisition, self._beliefs(now.statistics))

    def _beliefs(self, statistics: Statistics) -> Beliefs:
        return joint_beliefs(statistics, self.log)

    def _exploration(
        self, statistics: Statistics, wide: Estimates
    ) -> PathExploration | SetExploration:
        """What tells most in the wide world whatever the price, and what is best there."""
        came = statistics.transitions.sum(axis=1) + self._recorded, self._began(statistics)
        acted = statistics.action_counts.sum(axis=1) + self._recorded
        another = np.minimum(1.0, BOLDNESS / np.sqrt(1 + acted))
        return self.acquisition.exploration(self._priceless, wide, came, CURIOSITY, another)

    def _began(self, statistics: Statistics) -> Floats:
        """How many cases began in each context."""
        contexts = self.lattice.contexts
        began = np.array([statistics.cases]) if contexts == 1 else statistics.visits[:contexts]
        found: Floats = began + self._recorded[:contexts]
        return found

    def _blind_gain(self) -> float:
        """β max_a E[r(a, ∅)]: the best gain without looking, by today's estimate."""
        contexts = self.lattice.contexts
        best: Floats = self.model.mean_rewards()[:contexts].max(axis=1)
        return self.lattice.problem.reward_value * float(best @ self.model.probability[:contexts])

    def _careful_policy(self, statistics: Statistics, near: Estimates) -> Policy:
        """What pays by cautious estimates; else buy nothing, and learn which action is best."""
        believed = beliefs_of(self.model, statistics)
        careful = self.acquisition.best_by_beliefs(self.lattice, believed)
        if careful.value > self._blind_gain():
            return careful.exploring(self.acquisition.no_exploration(self.lattice))
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
        self.model = JointModel(self.lattice)
        self.begin_with(self.log)
        self.model.update(statistics, STEPS)
        self.world[:] = 0.0

    def model_arrays(self) -> dict[str, Floats | Integers]:
        """Where the estimates stand, from which the next ones go on."""
        return {"population": self.model.population, "world": self.world}

    def model_restored(self) -> None:
        """The arrays were overwritten by saved ones."""
        self.model.restored()


def wide_spread(opened: int) -> float:
    """How far the second world is drawn from the mean after so many cases."""
    return math.sqrt(max(1.0, math.log((1 + opened) / SETTLED)))


def _free_of_charge(problem: Problem) -> Problem:
    """The same problem, all of it for nothing."""
    free = [msgspec.structs.replace(o, cost=0.0) for o in problem.observations]
    return msgspec.structs.replace(problem, observations=free, panels=())
