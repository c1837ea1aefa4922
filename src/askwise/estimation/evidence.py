"""What is known of a population: how often something shows, and what an action earns.

    p(ψ' | ψ, i)   how often looking at i in ψ leads to ψ'
    r̄(a, ψ)        what action a earns when just ψ is known

True numbers, beliefs of a model and counters all answer these two questions, each with what the
answer rests on. Trees and the worth of observations ask nothing else.
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
"""Values closer than this part of β are ties: they may be sums in different orders."""


CAUTION = 1.0
"""How many standard deviations below its mean a reward is relied on.

How it was chosen is in docs/decisions-learning.md."""


class Distribution(NamedTuple):
    """How often each outcome of a look comes, or each context."""

    probability: Floats
    cases: float
    """How many cases that rests on; infinite if it is known."""


class MeanReward(NamedTuple):
    """What an action earns on average, in [0, 1]."""

    mean: float
    variance: float
    """Of the mean; 0 if it is known."""


class Evidence(Protocol):
    """States are integers of the lattice of the policy that it is evidence for."""

    def contexts(self) -> Distribution:
        """How often cases begin in each context."""

    def outcome_distribution(self, state: int, observation: int) -> Distribution | None:
        """p(ψ' | ψ, i) for each outcome of i; None if no case ever looked."""

    def mean_reward(self, state: int, action: int) -> MeanReward | None:
        """r̄(a, ψ); None if it is not known."""


class PartOf(NamedTuple):
    """Which observations of a larger problem a lattice is made of."""

    observations: Sequence[int]
    """Their places in the lattice of the larger problem,"""
    lattice: Lattice
    """and that lattice."""


class Beliefs:
    """A number for every state of a lattice: the truth, or the best guess of a model.

    `variance` is that of the mean rewards, and `cases` is how many p rests on; both say that all is
    known, if they are left out. Beliefs about some observations of a larger problem (`part_of`)
    know nothing of the others. `averages_out`: the mean of what an action earns after a look is
    what it earns before it, as it is in truth. `draw` is how a model draws worlds; without it they
    are drawn state by state.

    What is best is asked of r̄ less `CAUTION` standard deviations: an action that was hardly tried
    is not taken on hope, and a look after which everything would rest on little is not bought.
    """

    def __init__(
        self,
        lattice: Lattice,
        probability: Floats,
        reward: Floats,
        *,
        variance: Floats | None = None,
        cases: float = math.inf,
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
        self.part_of = part_of
        self.averages_out = averages_out
        self.variance = variance
        """Of those, at [ψ, a]; None if they are known."""

    def estimates(self, acquisition: AcquisitionName) -> Estimates:
        """As planners take it, without radii; for paths p(ψ) stands in every slot of a state."""
        if acquisition not in self._estimates:  # plans at many prices ask for the same
            self._estimates[acquisition] = self._estimated(acquisition)
        return self._estimates[acquisition]

    def _estimated(self, acquisition: AcquisitionName) -> Estimates:
        reward = self.lattice.net(self.cautious_rewards())
        best: Floats = reward.max(axis=1)
        # The first action that is a tie with the best: equals stay equal however they were summed.
        action = (reward >= best[:, None] - TIE_TOLERANCE).argmax(axis=1).astype(np.int16)
        weight = self.probability
        if (
            acquisition == "sequential"
        ):  # p(ψ' | ψ, i) is proportional to p(ψ'), from whichever parent
            weight = np.repeat(weight[:, None], self.lattice.m, axis=1)
        return Estimates(best, action, weight, Radii())

    def cautious_rewards(self) -> Floats:
        """r̄ less what it may well be too high by, at [ψ, a]."""
        if self.variance is None:
            return self.reward
        return np.maximum(0.0, self.reward - CAUTION * np.sqrt(self.variance))

    def as_certain(self) -> Beliefs:
        """The same, as if the means were known."""
        other = copy.copy(self)
        other.variance, other._estimates = None, {}
        return other

    def worlds(self, number: int) -> Worlds:
        """So many populations that may be the true one; if all is known, that one alone."""
        from askwise.estimation.worlds import World, Worlds, worlds_by_states

        if self._draw is not None:
            return self._draw(number)
        if self.variance is None:
            return Worlds(*([World(self.probability, self.reward)] for _ in range(2)))
        means = self.probability, self.reward, self.variance
        return Worlds([], worlds_by_states(self.lattice, *means, number))

    @property
    def is_joint(self) -> bool:
        """Whether one model of everything draws its worlds, or tells the truth: states of a world
        hang together, so that it can be planned in."""
        return self._draw is not None or self.variance is None

    def in_world(self, world: World) -> Beliefs:
        """As if this world were known to be the true one."""
        return Beliefs(self.lattice, *world, averages_out=self.averages_out and self.is_joint)

    def standalone(self) -> Beliefs:
        """The same of its own observations, as a problem of their own."""
        other = copy.copy(self)
        other.part_of = None
        return other

    def contexts(self) -> Distribution:
        """How often cases begin in each context."""
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
        """r̄(a, ψ), as believed."""
        state = self._own(state)
        variance = 0.0 if self.variance is None else self.variance.item(state, action)
        return MeanReward(self.reward.item(state, action), variance)

    def _own(self, state: int) -> int:
        """The state of its own lattice that a state of the larger problem contains."""
        if self.part_of is None:
            return state
        places = {i: j for j, i in enumerate(self.part_of.observations)}
        digits = self.part_of.lattice.digits(state)
        return self.lattice.index_of({places[i]: x for i, x in digits if i in places})


class CountedEvidence:
    """What the counters say by themselves: where no case looked or acted, nothing.

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

    def contexts(self) -> Distribution:
        """How often cases began in each context."""
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
        """r̂(a, ψ), with the variance of a Beta(½, ½) prior's posterior, less if rewards are graded.

        Where no case took the action in ψ itself, it is what it earned after the look most often
        taken.
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
    """Of the mean of n rewards with Σr and Σr(1 − r), and of half a reward of 1 and half of 0.

    If all rewards are 0 or 1 it is that of a Beta(½, ½) prior's posterior. It is never 0.
    """
    middle = (total + 0.5) / (n + 1)
    return (middle * (1 - middle) - graded / (n + 1)) / (n + 2)
