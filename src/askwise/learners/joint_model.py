"""A mind for problems with a few hundred full states: one joint model of them all.

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
recommended is not followed, and things are tried as seldom as it takes.
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
from askwise.learners.acquisition import WayToBuy, set_policy_from
from askwise.learners.budget import affordable_cases
from askwise.learners.cases import Case
from askwise.learners.recommending import recommended
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.policy.expected_gain import expected_gain
from askwise.policy.exploration import Tries, TryingPolicy, no_tries, with_tries
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
DARING = 1.0
"""The chances of tries, c/√(1 + n) for a state that n cases came to, or acted in."""
SHARE = 100
"""A round is as long as this part of all cases before it."""
MOST_LOST = 0.005
"""What trying may cost a case after a log, in units of β, by what is believed."""


class JointMind:
    """Every case counts for every state that it is evidence for."""

    name = "joint"
    is_sparse = False
    """Its counters have a row for every state."""

    def __init__(self, lattice: Lattice, way: WayToBuy, explore_budget: float | None) -> None:
        self.lattice = lattice
        self.way = way
        self.explore_budget = explore_budget
        self.model = JointModel(lattice)
        self._priceless = Lattice(_free_of_charge(lattice.problem))
        self.world: Floats = np.zeros(lattice.size)
        """The rewards of the world that the round is planned for."""
        self.log = Log()
        self._recorded: Floats = np.zeros(lattice.size)
        """Complete records by state."""

    def know(self, log: Log) -> None:
        """It begins with a log; complete records are not in the statistics."""
        self.log, records = log, log.records
        if records is not None:
            self.model.take(records)
            self._recorded = weigh_states(self.lattice, records, records.counts.astype(np.float64))

    def start(self, statistics: Statistics) -> None:
        """Let the estimates settle on what a log says."""
        self.model.update(statistics, STEPS)

    # --- planning --------------------------------------------------------------------------------

    def plan(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[TryingPolicy, int]:
        """The best policy of a world drawn near the mean, and how many cases it is for."""
        self.model.update(statistics)
        slots = self.way.name == "sequential"
        known = beliefs_of(self.model, statistics, self.log) if self.log.cases else None
        near = self._near(rng, opened, known)
        self.world[:] = near.reward
        wide = self.model.draw(rng, wide_spread(opened), slots=slots)
        length = max(1, opened // SHARE)
        if self.explore_budget is not None:
            blind = self._blind_gain()
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                return no_tries(self._careful_policy(statistics, near)), length
            length = min(length, affordable)
        policy, tries = self.way.policy(self.lattice, near), self._tries(statistics, wide)
        if known is None:
            return with_tries(policy, tries), length
        relied, is_first = known.cautious_rewards(), opened == self.log.cases
        best = self.recommend(statistics) if is_first else recommended(self.way, known)
        if is_first or self._lost(best, policy, relied) > self._most_lost:
            policy = best
            self.world[:] = relied.max(axis=1)
        return self._affordable(policy, tries, relied), length

    @property
    def _most_lost(self) -> float:
        return MOST_LOST * self.lattice.problem.reward_value

    def _lost(self, best: Policy, policy: Policy, relied: Floats) -> float:
        """What a policy gains less than another, by the rewards that can be relied on."""
        tried = [p if isinstance(p, TryingPolicy) else no_tries(p) for p in (best, policy)]
        gain, less = (expected_gain(p, self.model.probability, relied) for p in tried)
        return gain - less

    def _near(self, rng: np.random.Generator, opened: int, known: Beliefs | None) -> Estimates:
        """The world to plan for: a draw near the mean; after a log, nearer to what it says."""
        slots = self.way.name == "sequential"
        if known is None:
            return self.model.draw(rng, SPREAD, slots=slots)
        own = math.sqrt(max(0, opened - self.log.cases) / opened)
        reward = self.model.draw_rewards(rng, SPREAD * own)
        reward -= (1.0 - own) * (known.reward - known.cautious_rewards())
        action = reward.argmax(axis=1).astype(np.int16)
        return Estimates(reward.max(axis=1), action, self.model.weight(slots=slots), Radii())

    def _affordable(self, policy: Policy, tries: Tries, relied: Floats) -> TryingPolicy:
        """The policy with tries that cost no more than they may, by what can be relied on.

        By the means, what was hardly tried would seem to cost little.
        """
        lost = self._lost(policy, with_tries(policy, tries), relied)
        part = min(1.0, self._most_lost / lost) if lost > 0 else 1.0
        tries = tries._replace(chance=part * tries.chance, dare=part * tries.dare)
        return with_tries(policy, tries)

    def plan_at(self, lattice: Lattice, policy: Policy, statistics: Statistics) -> TryingPolicy:
        """The best policy of the world that the round is planned for, at these prices."""
        assert isinstance(policy, TryingPolicy)
        weight = self.model.weight(slots=self.way.name == "sequential")
        near = Estimates(self.world, policy.actions, weight, Radii())
        return with_tries(self.way.policy(lattice, near), policy.tries)

    def plan_from(self, lattice: Lattice, start: int, policy: Policy) -> TryingPolicy:
        """The best set of that world when `start` is on file."""
        assert isinstance(policy, TryingPolicy)
        near = Estimates(self.world, policy.actions, self.model.weight(slots=True), Radii())
        return with_tries(set_policy_from(lattice, near, start), policy.tries)

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = self.model.lattice = lattice

    def counted(self) -> dict[str, Integers]:
        """Nothing: all it knows is in the statistics."""
        return {}

    def recommend(self, statistics: Statistics) -> Policy:
        """The best policy by what can be relied on; changes nothing."""
        return recommended(self.way, self.beliefs(statistics))

    def beliefs(self, statistics: Statistics) -> Beliefs:
        """What it believes, for those who want reasons; changes nothing."""
        return joint_beliefs(statistics, self.log)

    def _tries(self, statistics: Statistics, wide: Estimates) -> Tries:
        """What is most telling in the wide world whatever the price, and what is best there."""
        acted = statistics.action_counts.sum(axis=1) + self._recorded
        if self.way.name == "sequential":
            came = statistics.transitions.sum(axis=1) + self._recorded
            came[: self.lattice.contexts] = self._began(statistics)
            chance = np.minimum(1.0, CURIOSITY / np.sqrt(1 + came))
            full = self.lattice.layout.offsets[self.lattice.layout.levels[self.lattice.m]]
            chance[full:] = 0.0
            favourite = plan_sequential(self._priceless, wide).next.astype(np.int64)
        else:
            chance = np.minimum(1.0, CURIOSITY / np.sqrt(1 + self._began(statistics)))
            favourite = plan_simultaneous(self._priceless, wide).sets
        dare = np.minimum(1.0, DARING / np.sqrt(1 + acted))
        return Tries(favourite, chance, wide.action, dare)

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
        careful = self.way.best_policy(self.lattice, beliefs_of(self.model, statistics))
        if careful.value > self._blind_gain():
            return careful
        if self.way.name == "simultaneous":
            return SimultaneousPolicy(
                self.lattice, 0, near.action, np.zeros(self.lattice.context_subsets)
            )
        nothing = np.full(self.lattice.size, -1, np.int16)
        return SequentialPolicy(self.lattice, nothing, near.action, np.zeros(self.lattice.size))

    # --- counting --------------------------------------------------------------------------------

    def acted(self, statistics: Statistics, case: Case) -> None:
        """A case knows all it wanted: count what it saw."""
        self.way.count(statistics, case)

    def run(
        self,
        policy: Policy,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        assert isinstance(policy, TryingPolicy)
        statistics.cases += len(tags)
        return policy.run(statistics, tags, values, rewards)

    def begin_anew(self, statistics: Statistics) -> None:
        """Work the population out from nothing but what was counted."""
        self.model = JointModel(self.lattice)
        self.know(self.log)
        self.model.update(statistics, STEPS)
        self.world[:] = 0.0

    # --- saving ----------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats | Integers]:
        """Where the estimates stand, from which the next ones go on."""
        return {"population": self.model.population, "world": self.world}

    def restored(self) -> None:
        """The arrays were overwritten by saved ones."""
        self.model.restored()


def wide_spread(opened: int) -> float:
    """How far the second world is drawn from the mean after so many cases."""
    return math.sqrt(max(1.0, math.log((1 + opened) / SETTLED)))


def _free_of_charge(problem: Problem) -> Problem:
    """The same problem, all of it for nothing."""
    free = [msgspec.structs.replace(o, cost=0.0) for o in problem.observations]
    return msgspec.structs.replace(problem, observations=free, panels=())
