r"""The worth of observations in worlds drawn from the posterior.

The best policies with an observation and without it are compared in two ways, with the same number
of worlds each (`estimation/worlds.py`):

    in a learned world w    V_w(π*_w) − V_w(π*_{w,−i})      the best policies of that world
    in a wide world u       V_u(π̂) − V_u(π̂_{−i})            the best ones by the mean of all worlds

The first is what an observation adds if w is the true world. Its bias is downwards. Without the
observation, most actions would be taken in states where they were hardly tried, and there the
worlds differ. If effects are rarer than the model assumes, each world has high rewards by chance
somewhere among them. So the gain without the observation is overestimated.

The second compares policies that do not depend on the drawn world, and evaluates them by the
counts. Its bias is upwards, because a policy that knew the true world would gain more without the
observation. Both are right where states were visited often. Where they differ, the truth was
between them on populations of many kinds. Intervals of all draws have about their nominal coverage
(docs/decisions-learning.md).

Worth is never negative. So if an observation is worth nothing, the mean of its draws is still
positive. Where a few observations were chosen among many, most are worth nothing. There the mean of
the learned worlds decides whether an observation pays. If it does not, its estimate is its worth in
that mean. The ends of intervals are those of all draws (`explain/price_sensitivity.py`).

In worlds that are drawn state by state, errors of different states are independent, and a plan
selects the states with errors upwards. So the gain of a world's own plans is not informative, and
what is still to learn is unknown. Let m be the means and u a world. If errors are Gaussian, the
errors of the opposite world ū = 2 m − u are independent of those of u, like two halves of the
records. So the second way is completed by plans that are evaluated in the opposite world,

    in opposite worlds      V_ū(π*_u) − V_ū(π*_{u,−i})

This estimate does not profit from chance. It is 0 or less on average for noise, and too low for
other observations, since their plans rest on half of the records. So it decides whether an
observation pays at all. In the share of the draws in which it does not pay, its worth is 0. In the
others it is the worth of the second way. The ends of intervals are those of all draws.

What is **still to learn** is V_s(π*_s) − V_s(π) in settled worlds s, where π is the recommended
policy. This is the expected value of perfect information about the population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from askwise._support.progress import ProgressBar
from askwise.estimation.evidence import Beliefs
from askwise.estimation.worlds import Worlds
from askwise.explain.world_plans import PricedStates, WorldPlans
from askwise.policy.acquisition import Acquisition
from askwise.policy.expected_gain import ActedStates
from askwise.policy.scores import Estimate
from askwise.policy.trees.figures import NOISE
from askwise.policy.trees.nodes import NORMAL
from askwise.states import Lattice

WORLDS = 50
LEAST_WORLDS = 20
WORK = 1e8
"""The limit of states times observations for all worlds together. It sets the number of worlds."""
PLANS = 5
"""The approximate number of plans for one observation in one world."""
PAIRED_WORK = 1e9
LEAST_PAIRS = 5
"""The limit for pairs of opposite worlds. For larger tables some worlds have no opposite."""
OUTSIDE = 0.025
"""The part of the draws below an interval, and the part above it."""
WIDER = 1.3
"""The factor by which intervals of worth are wider than the draws, since no model is exact.

docs/decisions-learning.md has how it was chosen.
"""


def number_of_worlds(lattice: Lattice) -> int:
    """Returns the number of worlds that can be planned for while a reader waits."""
    return int(min(WORLDS, max(LEAST_WORLDS, WORK // _work(lattice))))


def _work(lattice: Lattice) -> float:
    """Returns the approximate work of one world, in states times observations."""
    looks = lattice.size * max(1, lattice.buyable)
    return looks * (1 + PLANS * lattice.buyable)


NOTHING_KNOWN = Estimate(math.nan, math.nan, math.nan)


def estimate(draws: list[float], value: float) -> Estimate:
    """Returns an estimate whose interval has the quantiles of draws and contains the value."""
    in_order = sorted(draws)
    outside = int(OUTSIDE * (len(draws) - 1))
    return Estimate(value, min(value, in_order[outside]), max(value, in_order[-1 - outside]))


def around(value: float, ends: Estimate) -> Estimate:
    """Returns another value with the ends of an interval, extended to contain the value."""
    return Estimate(value, min(value, ends.low), max(value, ends.high))


def widened(one: Estimate) -> Estimate:
    """Returns the estimate with a wider interval, whose ends are not negative."""
    below, above = max(0.0, one.value - one.low), max(0.0, one.high - one.value)
    more = WIDER - 1.0
    return Estimate(one.value, max(0.0, one.low - more * below), one.high + more * above)


def estimate_with_error(value: float, error: float) -> Estimate:
    """Returns the estimate of a number that is not negative, from its standard error."""
    reach = NORMAL * error
    return (
        Estimate(value, max(0.0, value - reach), value + reach) if error else Estimate(*[value] * 3)
    )


@dataclass
class Draws:
    """The draws of one observation."""

    adds: list[float] = field(default_factory=list)
    adds_if_free: list[float] = field(default_factory=list)
    break_even: list[float] = field(default_factory=list)


class WithAndWithout(NamedTuple):
    """The states in which the best policies by the means act, at the prices of one observation."""

    without: ActedStates
    given: ActedStates
    """The states if the observation costs nothing, alone and in panels."""
    lines: list[ActedStates]
    """The states at a price of 0, and at other prices up to the break-even price."""


class ChosenPolicies(NamedTuple):
    """Policies that do not depend on the drawn worlds."""

    recommended: ActedStates
    best: ActedStates
    """The best policy by the means, at today's prices."""
    of: dict[str, WithAndWithout]
    """The best policies by the means, for every observation."""


class WorthDraws:
    """The worth of every observation in every world, and what is still to learn."""

    def __init__(
        self, acquisition: Acquisition, evidence: Beliefs, worlds: Worlds, policies: ChosenPolicies
    ) -> None:
        self.of = {name: Draws() for name in policies.of}
        self._apart = {name: Draws() for name in policies.of}
        self._lattice = lattice = evidence.lattice
        self._spent = lattice.state_costs
        self._noise = NOISE * lattice.problem.reward_value
        names = lattice.names_of(tuple(range(lattice.buyable)))
        self._prices = dict(zip(names, lattice.costs.tolist(), strict=True))
        self._at = {name: PricedStates.of(lattice, name) for name in policies.of}
        self._learned = [WorldPlans(acquisition, evidence.in_world(w)) for w in worlds.learned]
        self.still_to_learn = [
            self._lost(WorldPlans(acquisition, evidence.in_world(world)), policies.recommended)
            for world in worlds.settled
        ]
        pairs = 0 if worlds.learned else max(LEAST_PAIRS, PAIRED_WORK // _work(lattice))
        with ProgressBar("populations", len(worlds.learned) + len(worlds.wide)) as progress:
            for world in self._learned:
                self._plan(world, policies)
                progress.advance(1)
            for number, wide in enumerate(worlds.wide):
                world = WorldPlans(acquisition, evidence.in_world(wide))
                self._judge(world, policies)
                if number < pairs:
                    opposite = wide._replace(reward=2 * evidence.reward - wide.reward)
                    self._judge_apart(world, WorldPlans(acquisition, evidence.in_world(opposite)))
                progress.advance(1)

    def estimates(self, name: str) -> tuple[Estimate, Estimate, Estimate]:
        """Returns what an observation adds, what it would add if free, and its break-even price."""
        draws, apart = self.of[name], self._apart[name]
        adds, if_free, price = draws.adds, draws.adds_if_free, draws.break_even
        pays = np.array([until > 0 for until in apart.break_even] or [True])
        found = [np.where(np.resize(pays, len(part)), part, 0.0) for part in (adds, if_free, price)]
        value = float(np.mean(found[0])), float(np.mean(found[1])), float(np.median(found[2]))
        until = widened(estimate(price + apart.break_even, value[2]))
        added = widened(estimate(adds + apart.adds, value[0]))
        if until.low > self._prices[name] and added.low <= 0:  # widened too far, since it pays
            above = [draw for draw in (*adds, *apart.adds) if draw > self._noise]
            added = added._replace(low=max(0.0, min([value[0], *above])))
        return added, widened(estimate(if_free + apart.adds_if_free, value[1])), until

    def knowing_more(self) -> Estimate:
        """Returns what perfect knowledge of the population would add to the gain of a case."""
        return estimate(self.still_to_learn, float(np.mean(self.still_to_learn)))

    def share_bought(self, name: str, price: float) -> tuple[float, float]:
        """Returns the interval of the share of the cases that pay for an observation at a price."""
        at = self._at[name]
        lattice = at.free.supposing({name: price})
        shares = [world.line(world.best(lattice)[0], at)[1] for world in self._learned]
        return estimate(shares, float(np.mean(shares)))[1:]

    def _lost(self, world: WorldPlans, policy: ActedStates) -> float:
        """Returns how much less a policy gains in a world than the best one."""
        lost = world.best(self._lattice)[1] - world.gain(policy, self._spent)
        return lost if lost > self._noise else 0.0

    def _plan(self, world: WorldPlans, policies: ChosenPolicies) -> None:
        """Adds the draws by the best policies of a world."""
        best, gain = world.best(self._lattice)
        for name, draws in self.of.items():
            at = self._at[name]
            _, without = world.best(at.without)
            free, gain_if_free = world.best(at.free)
            if not np.array_equal(at.spent, at.spent_if_given):
                _, gain_if_free = world.best(at.given)
            draws.adds.append(max(0.0, gain - without))
            draws.adds_if_free.append(max(0.0, gain_if_free - without))
            known = [free, best, *policies.of[name].lines]
            draws.break_even.append(world.break_even(known, at, without))

    def _judge(self, world: WorldPlans, policies: ChosenPolicies) -> None:
        """Adds the draws by the policies of the means, evaluated in a world."""
        gain = world.gain(policies.best, self._spent)
        for name, draws in self.of.items():
            at, chosen = self._at[name], policies.of[name]
            without = world.gain(chosen.without, self._spent)
            added = max(0.0, gain - without)
            draws.adds.append(added)
            gain_if_free = world.gain(chosen.given, at.spent_if_given)
            # what is free may also be used as if it had its price
            draws.adds_if_free.append(max(added, gain_if_free - without))
            draws.break_even.append(world.break_even_of(chosen.lines, at, without))

    def _judge_apart(self, world: WorldPlans, opposite: WorldPlans) -> None:
        """Adds the draws by the best policies of a world, evaluated in the opposite world."""
        gain = opposite.gain(world.best(self._lattice)[0], self._spent)
        for name, draws in self._apart.items():
            at = self._at[name]
            without = opposite.gain(world.best(at.without)[0], self._spent)
            free = opposite.gain(world.best(at.given)[0], at.spent_if_given)
            draws.adds.append(gain - without)
            draws.adds_if_free.append(max(gain, free) - without)
            draws.break_even.append(opposite.pays_until(world.plans(at), at, without))
