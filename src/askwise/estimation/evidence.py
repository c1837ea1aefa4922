"""Evidence about a population: the probabilities of outcomes, and the rewards of actions.

    p(ψ' | ψ, i)   the probability that buying i in ψ leads to ψ'
    r̄(a, ψ)        what action a earns when exactly ψ is known

True numbers, estimates of a model and counters all answer these two questions, with the uncertainty
of the answer. Trees and the worth of observations need nothing else.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.typing import AcquisitionName, Floats
from askwise.counting import UNIT, Statistics
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.estimation.worlds import World, Worlds

TIE_TOLERANCE = 1e-12
"""Values closer than this part of β are ties, because they may be sums in different orders."""


CAUTION = 1.0
"""A reward is lowered by so many standard deviations before it is relied on.

docs/decisions-learning.md has the evidence for this choice.
"""


class Distribution(NamedTuple):
    """The probabilities of the outcomes of an observation, or of the contexts."""

    probability: Floats
    cases: float
    """The number of cases behind the estimate; infinite if it is known."""


class MeanReward(NamedTuple):
    """The mean reward of an action, in [0, 1]."""

    mean: float
    variance: float
    """The variance of the mean; 0 if it is known."""


class Evidence(Protocol):
    """Evidence for a policy. States are integers of that policy's lattice."""

    def contexts(self) -> Distribution:
        """The probabilities of the contexts."""

    def outcome_distribution(self, state: int, observation: int) -> Distribution | None:
        """p(ψ' | ψ, i) for each outcome of i; None if no case bought i there."""

    def mean_reward(self, state: int, action: int) -> MeanReward | None:
        """r̄(a, ψ); None if it is not known."""


class PartOf(NamedTuple):
    """The observations of a larger problem that a lattice is made of."""

    observations: Sequence[int]
    """Their indices in the lattice of the larger problem."""
    lattice: Lattice
    """The lattice of the larger problem."""


class Beliefs:
    """Numbers for every state of a lattice: the truth, or the estimates of a model.

    `variance` is that of the mean rewards, and `cases` is the number of cases behind p. If they are
    left out, everything is known. Beliefs about some observations of a larger problem (`part_of`)
    do not cover the others. `averages_out` means that the mean of an action's reward after an
    observation equals its reward before, as it does in truth. `draw` is how a model draws worlds;
    without it they are drawn state by state.

    The best choice is found with r̄ less `CAUTION` standard deviations. So an action that was
    hardly tried is not taken, and an observation whose outcomes were hardly seen is not bought.
    `untried` is the share of the cases in ψ in which an action was hardly ever taken. The least
    reward is expected there. A log of decisions often has each action only where it earns much, so
    what it seems to earn elsewhere is too high.
    """

    def __init__(
        self,
        lattice: Lattice,
        probability: Floats,
        reward: Floats,
        *,
        variance: Floats | None = None,
        untried: Floats | None = None,
        cases: float = math.inf,
        has_cases: bool = True,
        part_of: PartOf | None = None,
        averages_out: bool = True,
        draw: Callable[[int], Worlds] | None = None,
    ) -> None:
        self._draw = draw
        self._estimates: dict[str, Estimates] = {}
        self.lattice = lattice
        self.probability = probability
        """p(ψ)."""
        self.reward = reward
        """r̄(a, ψ) at [ψ, a]."""
        self.cases = cases
        self.has_cases = has_cases
        """Whether any case of the population was seen, or the population is known."""
        self.part_of = part_of
        self.averages_out = averages_out
        self.variance = variance
        """The variances of these, at [ψ, a]; None if they are known."""
        self.untried = untried
        """The share of the cases that hardly ever took an action, at [ψ, a]; None for no log of
        decisions."""

    def estimates(self, acquisition: AcquisitionName) -> Estimates:
        """Estimates for the planners, without radii. For paths, every slot of a state has p(ψ)."""
        if acquisition not in self._estimates:  # plans at many prices need the same
            self._estimates[acquisition] = self._estimated(acquisition)
        return self._estimates[acquisition]

    def _estimated(self, acquisition: AcquisitionName) -> Estimates:
        reward = self.lattice.net(self.cautious_rewards())
        best: Floats = reward.max(axis=1)
        # The first action that is a tie with the best: equal actions stay equal in any order of
        # summation.
        action = (reward >= best[:, None] - TIE_TOLERANCE).argmax(axis=1).astype(np.int16)
        weight = self.probability
        if acquisition == "sequential":  # p(ψ' | ψ, i) is proportional to p(ψ'), from any parent
            weight = np.repeat(weight[:, None], self.lattice.m, axis=1)
        return Estimates(best, action, weight, Radii())

    def cautious_rewards(self) -> Floats:
        """r̄ less `CAUTION` standard deviations where an action was tried, else 0, at [ψ, a]."""
        if self.variance is None:
            return self.reward
        found: Floats = np.maximum(0.0, self.reward - CAUTION * np.sqrt(self.variance))
        return found if self.untried is None else found * (1.0 - self.untried)

    def as_cautious(self) -> Beliefs:
        """The same beliefs, with cautious rewards as if they were the means."""
        other = copy.copy(self)
        other.reward, other._estimates = self.cautious_rewards(), {}
        return other

    def as_certain(self) -> Beliefs:
        """The same beliefs, as if the means were known."""
        other = copy.copy(self)
        other.variance, other._estimates = None, {}
        return other

    def at_stake(self, stake: float) -> Beliefs:
        """The same beliefs for cases whose reward counts so many times."""
        if stake == 1.0:
            return self
        other = copy.copy(self)
        other.lattice, other._estimates = self.lattice.at_stake(stake), {}
        if self.part_of is not None:
            whole = self.part_of.lattice.at_stake(stake)
            other.part_of = self.part_of._replace(lattice=whole)
        return other

    def worlds(self, number: int) -> Worlds:
        """So many populations that may be the true one. If everything is known, there is only
        one.
        """
        from askwise.estimation.worlds import World, Worlds, worlds_by_states

        if self._draw is not None:
            return self._draw(number)
        if self.variance is None:
            known = World(self.probability, self.reward)
            return Worlds([known], [known], [known])
        means = self.probability, self.reward, self.variance
        return Worlds([], worlds_by_states(self.lattice, *means, number), [])

    @property
    def is_joint(self) -> bool:
        """Whether one model of all states draws the worlds, or the truth is known. The states of a
        world are then consistent, so that it can be planned in.
        """
        return self._draw is not None or self.variance is None

    def in_world(self, world: World) -> Beliefs:
        """The beliefs if this world were known to be the true one."""
        return Beliefs(self.lattice, *world, averages_out=self.averages_out and self.is_joint)

    def standalone(self) -> Beliefs:
        """The same beliefs for a separate problem that has only these observations."""
        other = copy.copy(self)
        other.part_of = None
        return other

    def contexts(self) -> Distribution:
        """The probabilities of the contexts."""
        contexts = (self if self.part_of is None else self.part_of).lattice.contexts
        if contexts == self.lattice.contexts:
            return Distribution(self.probability[:contexts], self.cases)
        p = np.array([self.probability[self._own(g)] for g in range(contexts)])
        return Distribution(p / p.sum(), self.cases)

    def outcome_distribution(self, state: int, observation: int) -> Distribution | None:
        """p(ψ' | ψ, i) = p(ψ') / p(ψ) for each outcome; None where it cannot be known."""
        if self.part_of is not None:
            if observation not in self.part_of.observations:
                return None
            observation = self.part_of.observations.index(observation)
        state = self._own(state)
        p = self.probability[self.lattice.children(state, observation)]
        total = float(p.sum())
        if total <= 0:
            return None
        return Distribution(p / total, self.cases * total)

    def mean_reward(self, state: int, action: int) -> MeanReward | None:
        """The estimate of r̄(a, ψ)."""
        state = self._own(state)
        variance = 0.0 if self.variance is None else self.variance.item(state, action)
        return MeanReward(self.reward.item(state, action), variance)

    def _own(self, state: int) -> int:
        """The state of this lattice that is contained in a state of the larger problem."""
        if self.part_of is None:
            return state
        places = {i: j for j, i in enumerate(self.part_of.observations)}
        digits = self.part_of.lattice.digits(state)
        return self.lattice.index_of({places[i]: x for i, x in digits if i in places})


class CountedEvidence:
    """Evidence from the counters alone. It is None where no case bought or acted.

    p̂ comes from N(ψ) where cases bought sets (simultaneous), else from N(ψ, i, ψ').
    """

    def __init__(self, statistics: Statistics, acquisition: AcquisitionName) -> None:
        self.statistics = statistics
        self.lattice = statistics.lattice
        self.acquisition: AcquisitionName = acquisition

    def at(self, lattice: Lattice) -> CountedEvidence:
        """The same counters at other prices."""
        statistics = copy.copy(self.statistics)
        statistics.lattice = lattice
        return CountedEvidence(statistics, self.acquisition)

    def at_stake(self, stake: float) -> CountedEvidence:
        """The same counters for cases whose reward counts so many times."""
        return self if stake == 1.0 else self.at(self.lattice.at_stake(stake))

    @property
    def has_cases(self) -> bool:
        """Whether any case was counted."""
        return self.statistics.cases > 0

    def contexts(self) -> Distribution:
        """The shares of the cases that began in each context."""
        frequency = self.statistics.frequency()
        if frequency is None:
            frequency = np.full(self.lattice.contexts, 1 / self.lattice.contexts)
        return Distribution(frequency, float(self.statistics.cases))

    def outcome_distribution(self, state: int, observation: int) -> Distribution | None:
        """p̂(ψ' | ψ, i)."""
        statistics = self.statistics
        children = np.array(self.lattice.children(state, observation))
        rows = statistics.rows_of(children)
        if self.acquisition == "simultaneous":
            counts = statistics.visits[rows]
        else:
            slot = self.lattice.steps[self.lattice.subset_of(state), observation].slot
            counts = statistics.transitions[rows, slot]
        if statistics.is_sparse:
            counts = np.where(rows > 0, counts, 0)
        total = int(counts.sum())
        return Distribution(counts / total, float(total)) if total else None

    def mean_reward(self, state: int, action: int) -> MeanReward | None:
        """r̂(a, ψ), with the variance of a Beta(½, ½) prior's posterior, less if rewards are
        graded.

        If no case took the action in ψ itself, it is what the action earned after the observation
        that was bought most often there.
        """
        row = self.statistics.row(state)
        n = self.statistics.action_counts.item(row, action)
        if not n or (self.statistics.is_sparse and row == 0):
            return self._after_a_look(state, action)
        total = self.statistics.reward_sums.item(row, action) * UNIT
        graded = self.statistics.graded_sums.item(row, action) * UNIT
        return MeanReward(total / n, variance_of_mean(total, graded, n))

    def _after_a_look(self, state: int, action: int) -> MeanReward | None:
        """Σ p̂(ψ' | ψ, i) r̂(a, ψ'), if all of them are known."""
        known, found, most = self.lattice.domain(state), None, 0.0
        if len(known) == self.lattice.m:
            return None
        for i in range(self.lattice.buyable):
            outcomes = None if i in known else self.outcome_distribution(state, i)
            if outcomes is None or outcomes.cases <= most:
                continue
            p = outcomes.probability.tolist()
            after = [self.mean_reward(s, action) for s in self.lattice.children(state, i)]
            came = [(part, one) for part, one in zip(p, after, strict=True) if part > 0]
            if all(one is not None for _, one in came):
                mean = sum(part * one.mean for part, one in came if one is not None)
                doubt = sum(part**2 * one.variance for part, one in came if one is not None)
                found, most = MeanReward(mean, doubt), outcomes.cases
        return found


def variance_of_mean(total: float, graded: float, n: float) -> float:
    """The variance of the mean of n rewards with Σr and Σr(1 − r), plus half a reward of 1 and half
    of 0.

    If all rewards are 0 or 1 it is that of a Beta(½, ½) prior's posterior. It is never 0.
    """
    middle = (total + 0.5) / (n + 1)
    return (middle * (1 - middle) - graded / (n + 1)) / (n + 2)
