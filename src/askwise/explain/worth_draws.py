r"""What observations are worth in every world that what was seen leaves possible.

The best policies with an observation and without it are compared in two ways, each in as many
worlds (`estimation/worlds.py`):

    in a learned world w    V_w(π*_w) − V_w(π*_{w,−i})      the best policies of that world
    in a wide world u       V_u(π̂) − V_u(π̂_{−i})            the best ones by the mean of all worlds

The first is what an observation adds if w is the true world. But what was hardly tried differs from
world to world, and without an observation most of what would be done was hardly tried: if effects
are rarer than the model believes, each world has good luck to offer there, and the observation
seems to add too little. The second compares policies that were found by no luck, and judges them by
what was counted; but who knew the true world would do better without, so it seems to add too much.
Both are right where much was tried. Where they differ, the truth was between them on populations of
many kinds, and an interval of all draws covers it as often as it says (docs/decisions-learning.md).

Worlds that are drawn state by state are not planned in, since a plan would find what does not hang
together: the second way alone says what an observation adds, and nothing what is still to learn.

What is **still to learn** is V_w(π*_w) − V_w(π), π being what is recommended: the expected value of
perfect information about the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from askwise._support.progress import Progress
from askwise._support.typing import Floats
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs
from askwise.estimation.worlds import Worlds
from askwise.policy.acquisition import Acquisition
from askwise.policy.expected_gain import ActedStates, acted_states
from askwise.policy.recommending import best_by
from askwise.policy.trees.figures import NORMAL
from askwise.states import Lattice

WORLDS = 50
LEAST_WORLDS = 20
WORK = 1e8
"""States times looks that are planned for all worlds together; then there are fewer worlds."""
PLANS = 5
"""For one observation in one world, about."""
OUTSIDE = 0.025
"""The part of the draws below an interval, and the part above it."""
WIDER = 1.3
"""How much farther the ends of the intervals of worth are than those draws: no model is the truth.
How it was chosen is in docs/decisions-learning.md."""


def number_of_worlds(lattice: Lattice) -> int:
    """As many as can be planned for while a reader waits."""
    looks = lattice.size * lattice.buyable
    plans = 1 + PLANS * lattice.buyable
    return int(min(WORLDS, max(LEAST_WORLDS, WORK // (looks * plans))))


class Estimate(NamedTuple):
    """A number that is not known for certain, and its interval of 95 %."""

    value: float
    low: float
    high: float


def estimate(draws: list[float], middle: Callable[[list[float]], Any]) -> Estimate:
    """The middle of the draws and the ends of their interval, which are draws themselves."""
    in_order = sorted(draws)
    outside = int(OUTSIDE * (len(draws) - 1))
    return Estimate(float(middle(draws)), in_order[outside], in_order[-1 - outside])


def widened(one: Estimate) -> Estimate:
    """With ends that are farther away, but not negative."""
    below, above = max(0.0, one.value - one.low), max(0.0, one.high - one.value)
    more = WIDER - 1.0
    return Estimate(one.value, max(0.0, one.low - more * below), one.high + more * above)


def estimate_with_error(value: float, error: float) -> Estimate:
    """A number that cannot be negative, with its standard error."""
    reach = NORMAL * error
    return (
        Estimate(value, max(0.0, value - reach), value + reach) if error else Estimate(*[value] * 3)
    )


@dataclass
class Draws:
    """Of one observation, what was drawn."""

    adds: list[float] = field(default_factory=list)
    adds_if_free: list[float] = field(default_factory=list)
    break_even: list[float] = field(default_factory=list)


class PricedStates(NamedTuple):
    """The states at the prices that one observation is reckoned with."""

    name: str
    without: Lattice
    free: Lattice
    spent: Floats
    """In each state, if it is free,"""
    paid: Floats
    """and 1 where it was paid for."""

    @classmethod
    def of(cls, lattice: Lattice, name: str) -> PricedStates:
        """The states of a lattice, at today's prices of all others."""
        free = lattice.supposing({name: 0.0})
        every = np.arange(lattice.size)
        spent = free.costs_of(every)
        paid = lattice.supposing({name: 1.0}).costs_of(every) - spent
        return cls(name, lattice.without(name), free, spent, paid)


class WithAndWithout(NamedTuple):
    """Where the best policies by the means act, at the prices of one observation."""

    without: ActedStates
    lines: list[ActedStates]
    """At a price of 0, and at others on the way to the break-even price."""


class ChosenPolicies(NamedTuple):
    """Policies that were chosen before worlds were looked at one by one."""

    recommended: ActedStates
    best: ActedStates
    """By the means, at today's prices."""
    of: dict[str, WithAndWithout]
    """By the means, of every observation."""


class WorldPlans:
    """The best policies of one world, and what any policy gains in it."""

    def __init__(self, acquisition: Acquisition, world: Beliefs) -> None:
        self.acquisition, self.world = acquisition, world
        self.beta = world.lattice.problem.reward_value
        self.tolerance = 10 * TIE_TOLERANCE * self.beta

    def best(self, lattice: Lattice) -> tuple[ActedStates, float]:
        """Where the best policy at the prices of a lattice acts, and what it gains."""
        policy = best_by(self.acquisition, self.world, lattice)
        acted = acted_states(policy)
        if self.world.averages_out:
            return acted, policy.planned_value
        return acted, self.gain(acted, lattice.costs_of(np.arange(lattice.size)))

    def gain(self, acted: ActedStates, spent: Floats) -> float:
        """Of a policy, c(ψ) being spent in each state."""
        return acted.gain(self.world.probability, self.world.reward, self.beta, spent)

    def line(self, acted: ActedStates, at: PricedStates) -> tuple[float, float]:
        """What a policy gains at a price c of an observation is A − c s: returns A and s."""
        share = self.world.probability[acted.states] @ at.paid[acted.states]
        return self.gain(acted, at.spent), float(share)

    def break_even(self, acted: ActedStates, at: PricedStates, nothing: float) -> float:
        """Where the best policies meet the gain without, from the line of one that buys."""
        price = 0.0
        while True:
            intercept, share = self.line(acted, at)
            if intercept - price * share <= nothing + self.tolerance:
                return price
            if share <= TIE_TOLERANCE:
                return math.inf  # bought, and never paid for
            following = (intercept - nothing) / share
            if following <= price:
                return price
            price = following
            acted, _ = self.best(at.free.supposing({at.name: price}))

    def break_even_of(self, lines: list[ActedStates], at: PricedStates, nothing: float) -> float:
        """Where the highest of these policies' lines meets the gain without."""
        found = 0.0
        for acted in lines:
            intercept, share = self.line(acted, at)
            if intercept > nothing:
                found = max(found, (intercept - nothing) / share if share > 0 else math.inf)
        return found


class WorthDraws:
    """The worth of every observation in every world, and what is still to learn."""

    def __init__(
        self, acquisition: Acquisition, evidence: Beliefs, worlds: Worlds, policies: ChosenPolicies
    ) -> None:
        self.still_to_learn: list[float] = []
        self.of = {name: Draws() for name in policies.of}
        self._lattice = lattice = evidence.lattice
        self._spent = lattice.costs_of(np.arange(lattice.size))
        self._at = {name: PricedStates.of(lattice, name) for name in policies.of}
        self._learned = [WorldPlans(acquisition, evidence.in_world(w)) for w in worlds.learned]
        with Progress("populations", len(worlds.learned) + len(worlds.wide)) as progress:
            for world in self._learned:
                self._plan(world, policies.recommended)
                progress.advance(1)
            for wide in worlds.wide:
                self._judge(WorldPlans(acquisition, evidence.in_world(wide)), policies)
                progress.advance(1)

    def estimates(self, name: str) -> tuple[Estimate, Estimate, Estimate]:
        """What an observation adds, what it would add for nothing, and its break-even price."""
        draws = self.of[name]
        return (
            widened(estimate(draws.adds, np.mean)),
            widened(estimate(draws.adds_if_free, np.mean)),
            widened(estimate(draws.break_even, np.median)),
        )

    def knowing_more(self) -> Estimate:
        """What perfect knowledge of the population would add a case."""
        return estimate(self.still_to_learn, np.mean)

    def share_bought(self, name: str, price: float) -> tuple[float, float]:
        """Between which two the share of the cases lies that pay for an observation at a price."""
        at = self._at[name]
        lattice = at.free.supposing({name: price})
        shares = [world.line(world.best(lattice)[0], at)[1] for world in self._learned]
        return estimate(shares, np.mean)[1:]

    def _plan(self, world: WorldPlans, recommended: ActedStates) -> None:
        """Add what the best policies of a world gain."""
        best, gain = world.best(self._lattice)
        self.still_to_learn.append(max(0.0, gain - world.gain(recommended, self._spent)))
        for name, draws in self.of.items():
            at = self._at[name]
            _, without = world.best(at.without)
            free, gain_if_free = world.best(at.free)
            draws.adds.append(max(0.0, gain - without))
            draws.adds_if_free.append(max(0.0, gain_if_free - without))
            start = best if gain > without + world.tolerance else free
            draws.break_even.append(world.break_even(start, at, without))

    def _judge(self, world: WorldPlans, policies: ChosenPolicies) -> None:
        """Add what the policies that were chosen by the means gain in a world."""
        gain = world.gain(policies.best, self._spent)
        for name, draws in self.of.items():
            at, chosen = self._at[name], policies.of[name]
            without = world.gain(chosen.without, self._spent)
            draws.adds.append(max(0.0, gain - without))
            gain_if_free = world.gain(chosen.lines[0], at.spent)
            draws.adds_if_free.append(max(0.0, gain_if_free - without))
            draws.break_even.append(world.break_even_of(chosen.lines, at, without))
