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
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from askwise._typing import Choices, Floats, Integers
from askwise.cases import Case
from askwise.estimation.estimates import Estimates
from askwise.estimation.joint import JointModel
from askwise.estimation.optimistic import practical_radii
from askwise.evidence import Beliefs
from askwise.lattice import Lattice
from askwise.learners.believing import STEPS as FROM_NOTHING
from askwise.learners.believing import joint_beliefs
from askwise.learners.budget import affordable_cases
from askwise.learners.plans import WayToBuy, set_policy_from
from askwise.learners.trying import Tries, TryingPolicy, no_tries, with_tries
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.problem import Problem
from askwise.radii import Radii
from askwise.statistics import Statistics

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

    # --- planning --------------------------------------------------------------------------------

    def plan(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[TryingPolicy, int]:
        """The best policy of a world drawn near the mean, and how many cases it is for."""
        self.model.update(statistics)
        slots = self.way.name == "sequential"
        near = self.model.draw(rng, SPREAD, slots=slots)
        self.world[:] = near.reward
        wide = self.model.draw(rng, wide_spread(opened), slots=slots)
        length = max(1, opened // SHARE)
        if self.explore_budget is not None:
            blind = self._blind_gain()
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                return no_tries(self._careful_policy(statistics, near)), length
            length = min(length, affordable)
        tries = self._tries(statistics, wide)
        return with_tries(self.way.policy(self.lattice, near), tries), length

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
        """The best policy by cautious estimates among what was tried; changes nothing."""
        radii = practical_radii(width=1.0).at(statistics.cases + 1)
        return self.way.cautious_policy(statistics, radii)

    def beliefs(self, statistics: Statistics) -> Beliefs:
        """What it believes, for those who want reasons; changes nothing."""
        return joint_beliefs(statistics)

    def _tries(self, statistics: Statistics, wide: Estimates) -> Tries:
        """What is most telling in the wide world whatever the price, and what is best there."""
        acted = statistics.action_counts.sum(axis=1)
        if self.way.name == "sequential":
            came = statistics.transitions.sum(axis=1)
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

    def _began(self, statistics: Statistics) -> Integers:
        """How many cases began in each context."""
        contexts = self.lattice.contexts
        return np.array([statistics.cases]) if contexts == 1 else statistics.visits[:contexts]

    def _blind_gain(self) -> float:
        """β max_a E[r(a, ∅)]: the best gain without looking, by today's estimate."""
        contexts = self.lattice.contexts
        best: Floats = self.model.mean_rewards()[:contexts].max(axis=1)
        return self.lattice.problem.reward_value * float(best @ self.model.probability[:contexts])

    def _careful_policy(self, statistics: Statistics, near: Estimates) -> Policy:
        """What pays by cautious estimates; else buy nothing, and learn which action is best."""
        careful = self.recommend(statistics)
        if careful.value > self._blind_gain():
            return careful
        if self.way.name == "simultaneous":
            return SimultaneousPolicy(self.lattice, 0, near.action, np.zeros(self.lattice.parcels))
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
        self.model.update(statistics, FROM_NOTHING)
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
