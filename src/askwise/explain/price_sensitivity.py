r"""The gain of the best policy as a function of prices: what an observation adds, where it stops.

As a function of one price c_i, all others fixed, the gain of the best policy is

    V(c_i) = max_π A_π − c_i s_π

where s_π is the share of the cases in which π pays for i, and A_π what it gains before that: a
maximum of lines, so convex and falling, with slope −s of the best policy. The **break-even price**
is where V reaches V(∞), the gain without i. From c = 0 on, each best policy is a line below V;
where it meets V(∞) the next policy is asked for, until there is none that buys. Each step skips all
policies that are nowhere best: no search, no tolerance, some five plans for an observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs, CountedEvidence, Evidence
from askwise.estimation.worlds import Worlds, mean_world
from askwise.explain.observation_worth import (
    DemandBand,
    DemandStep,
    ObservationWorth,
    cases_to_settle,
)
from askwise.explain.worth_draws import (
    ChosenPolicies,
    Estimate,
    WithAndWithout,
    WorthDraws,
    estimate_with_error,
    number_of_worlds,
)
from askwise.policy import Policy
from askwise.policy.acquisition import acquisition_of
from askwise.policy.expected_gain import acted_states
from askwise.policy.oracle import best_set
from askwise.policy.recommending import best_by, recommended
from askwise.states import Lattice

BAND_PRICES = 12
"""At which the band of a demand is worked out."""


class PricedPolicy(NamedTuple):
    """The best policy at some prices."""

    policy: Policy
    gain: float
    bought: dict[str, float]
    """The share of the cases that buy each observation,"""
    paid: dict[str, float]
    """and that pay for it: less, where a failure is refunded."""
    fees: dict[str, float]
    """What is paid on top of each for its panels, on average where it is bought."""


class GainLine(NamedTuple):
    """What one policy gains as a function of one price c: A_π − c s_π."""

    intercept: float
    slope: float
    bought: float

    def at(self, price: float) -> float:
        """Its value at a price."""
        return self.intercept - price * self.slope


class PriceSensitivity:
    """The best policies at all prices, by the means of what is known.

    What is recommended at today's prices is chosen with caution (`policy/recommending.py`). What
    would be gained at other prices is not: without an observation much rests on what was hardly
    tried, and caution there would make the observation seem worth more than it is. So other prices
    are compared by the mean of the worlds that are possible, and all gains are moved by the same
    amount: today's is that of the tree. How sure that is, and where the means mislead, is said by
    the worlds one by one (`explain/worth_draws.py`).

    Gains are reckoned above the lowest reward, and told with it.
    """

    def __init__(self, evidence: Beliefs | CountedEvidence, acquisition: AcquisitionName) -> None:
        # a few of the observations of a whole are a problem of their own
        self.evidence = evidence.standalone() if isinstance(evidence, Beliefs) else evidence
        self.acquisition = acquisition_of(acquisition)
        self.lattice = evidence.lattice
        self.problem = self.lattice.problem
        self.names = self.lattice.names_of(tuple(range(self.lattice.buyable)))
        self.prices = dict(zip(self.names, self.lattice.costs.tolist(), strict=True))
        self._tolerance = 10 * TIE_TOLERANCE * self.problem.reward_value
        self._without: dict[str, float] = {}
        self._best_without: dict[str, Policy] = {}
        self._best: dict[tuple[tuple[str, float], ...], PricedPolicy] = {}
        policy = recommended(self.acquisition, self.evidence)
        self.today = self._priced(policy, policy.value_above_lowest)
        """What is recommended."""
        self.believed = self.evidence
        """What is recommended rests on it."""
        self.worlds: Worlds | None = None
        """That are possible, if more than one is."""
        if isinstance(self.evidence, Beliefs):
            worlds = self.evidence.worlds(number_of_worlds(self.lattice))
            self.worlds = worlds if len(worlds.wide) > 1 else None
            if self.worlds is None or not self.evidence.is_joint:
                self.evidence = self.evidence.as_certain()
            else:
                self.evidence = self.evidence.in_world(mean_world(worlds.learned))
        self._shift = (
            self.today.gain - best_by(self.acquisition, self.evidence, self.lattice).planned_value
        )
        self._idle_cost = 0.0
        """Of what is left out because it is not believed to matter, but would be paid for."""
        if isinstance(evidence, Beliefs) and evidence.part_of is not None:
            whole = evidence.part_of.lattice
            if whole.m == whole.buyable:
                self._idle_cost = float(whole.costs.sum() - self.lattice.costs.sum())

    def best(self, prices: Mapping[str, float]) -> PricedPolicy:
        """The best policy at these prices; others are today's."""
        key = tuple(prices.items())
        if key not in self._best:
            policy = best_by(self.acquisition, self.evidence, self.lattice.supposing(prices))
            self._best[key] = self._priced(policy, policy.planned_value + self._shift)
        return self._best[key]

    @cached_property
    def draws(self) -> WorthDraws:
        """What observations are worth in every world."""
        assert isinstance(self.believed, Beliefs)
        assert self.worlds is not None
        chosen = {name: self._with_and_without(name) for name in self.names}
        recommended, best = self.today.policy, self.best({}).policy
        policies = ChosenPolicies(acted_states(recommended), acted_states(best), chosen)
        return WorthDraws(self.acquisition, self.believed, self.worlds, policies)

    def _with_and_without(self, name: str) -> WithAndWithout:
        self.break_even(name)  # plans for all prices on the way there
        ours = [best.policy for key, best in self._best.items() if [n for n, _ in key] == [name]]
        return WithAndWithout(acted_states(self._best_without[name]), [*map(acted_states, ours)])

    def _priced(self, policy: Policy, gain: float) -> PricedPolicy:
        parts = purchase_shares(policy, self.evidence)
        by_name = (dict(zip(self.names, part, strict=True)) for part in parts)
        return PricedPolicy(policy, gain, *by_name)

    def worth_of(self, name: str) -> ObservationWorth:
        """What one observation is worth."""
        now = self.today
        adds, if_free, price = self._estimates(name)
        lowest = self.problem.lowest_reward
        without = now.gain - adds.value
        row = ObservationWorth(
            name=name,
            price=self.prices[name],
            bought=now.bought[name],
            gain=lowest + now.gain,
            without=lowest + without,
            free=lowest + (without + if_free.value),
            break_even=price.value,
            adds_low=adds.low,
            adds_high=adds.high,
            break_even_low=price.low,
            break_even_high=price.high,
            fees=now.fees[name],
        )
        cases = self.believed.contexts().cases
        return replace(row, cases_to_settle=cases_to_settle(row, cases))

    def _estimates(self, name: str) -> tuple[Estimate, Estimate, Estimate]:
        """What it adds, what it would add for nothing, and its break-even price."""
        if self.worlds is not None:
            return self.draws.estimates(name)
        without = self.without(name)
        adds, free = self.today.gain - without, self.line(name, 0.0).intercept - without
        price, last = self._last_line(name)
        error = self._rough_error(name)
        slope = max(last.slope, TIE_TOLERANCE)
        return (
            estimate_with_error(adds, error),
            estimate_with_error(free, error),
            estimate_with_error(price, error / slope),
        )

    def _rough_error(self, name: str) -> float:
        """Of what it adds, if only states are known and no worlds can be drawn; 0 of the truth."""
        if isinstance(self.evidence, Beliefs):
            return 0.0
        policies = self.today.policy, self._best_without[name]
        reasons = [policy.tree(self.evidence).root.reason for policy in policies]
        return math.sqrt(sum(reason.variance for reason in reasons if reason is not None))

    def without(self, name: str) -> float:
        """V(∞): the gain of a case if the observation could not be had."""
        if name not in self._without:
            policy = best_by(self.acquisition, self.evidence, self.lattice.without(name))
            self._best_without[name] = policy
            self._without[name] = policy.planned_value + self._shift
        return self._without[name]

    @property
    def is_estimated(self) -> bool:
        """Whether anything is not known for certain."""
        return self.worlds is not None or isinstance(self.believed, CountedEvidence)

    def still_to_learn(self) -> Estimate | None:
        """What perfect knowledge would add a case; None if states are known one by one only."""
        if isinstance(self.believed, CountedEvidence) or not self.believed.is_joint:
            return None
        return Estimate(0.0, 0.0, 0.0) if self.worlds is None else self.draws.knowing_more()

    def demand_band(self, row: ObservationWorth) -> list[DemandBand]:
        """In every world the share that buys, at prices up to where it is bought in hardly any."""
        if self.worlds is None or not self.worlds.learned:
            return []
        high = row.break_even_high if math.isfinite(row.break_even_high) else 2 * row.break_even
        prices = np.linspace(0.0, max(high, row.price), BAND_PRICES).tolist()
        return [DemandBand(c, *self.draws.share_bought(row.name, c)) for c in prices]

    def blind_gain(self) -> float | None:
        """What would be done in each context without looking."""
        total, act, beta = 0.0, self.today.policy.act, self.problem.reward_value
        for context, part in enumerate(self.believed.contexts().probability.tolist()):
            action = act(context)
            earned = self.believed.mean_reward(context, action)
            if part > 0 and earned is None:
                return None
            cost = self.problem.actions[action].cost / beta
            total += 0.0 if earned is None else part * (earned.mean - cost)
        return self.problem.lowest_reward + beta * total

    def full_gain(self) -> float | None:
        """The best of the largest sets in each context."""
        if isinstance(self.believed, CountedEvidence):
            return None
        lattice, best = self.lattice, best_set(self.lattice, self.believed.as_certain())
        full = [s for s in range(lattice.subsets) if len(lattice.members(s)) == lattice.m]
        total = 0.0
        for context, part in enumerate(self.believed.contexts().probability.tolist()):
            if part > 0:
                worth = {s: best.values.item(lattice.context_subset(s, context)) for s in full}
                total += self._gain_of_set(max(full, key=worth.__getitem__), context, best)
        return self.problem.lowest_reward + (total - self._idle_cost)

    def _gain_of_set(self, subset: int, context: int, best: Policy) -> float:
        """What the cases of a context gain that buy a set, in all cases."""
        assert isinstance(self.believed, Beliefs)
        context_subset = self.lattice.context_subset(subset, context)
        states = np.arange(
            *self.lattice.layout.context_offsets[context_subset : context_subset + 2]
        )
        done = best.actions[states]
        spent = self.lattice.costs_of(states) + self.lattice.action_costs[done]
        gain = self.problem.reward_value * self.believed.reward[states, done] - spent
        return float(self.believed.probability[states] @ gain)

    def line(self, name: str, price: float) -> GainLine:
        """The line of the best policy at a price."""
        best = self.best({name: price})
        slope = best.paid[name]
        return GainLine(best.gain + price * slope, slope, best.bought[name])

    def break_even(self, name: str) -> float:
        """The break-even price: where V reaches V(∞)."""
        return self._last_line(name)[0]

    def _last_line(self, name: str) -> tuple[float, GainLine]:
        """The break-even price, and the last line that reaches it."""
        nothing, line = self.without(name), self.line(name, 0.0)
        if line.intercept <= nothing + self._tolerance:
            return 0.0, line
        while line.slope > 0:
            price = (line.intercept - nothing) / line.slope
            following = self.line(name, price)
            if following.at(price) <= nothing + self._tolerance or following.slope >= line.slope:
                return price, line
            line = following
        return math.inf, line  # bought, and never paid for

    def demand(self, row: ObservationWorth) -> list[DemandStep]:
        """The steps of V from 0 to the break-even price."""
        first = self.line(row.name, 0.0)
        end, last = self._last_line(row.name)
        if end == 0:
            return [DemandStep(0.0, row.without, 0.0)]
        lowest = self.problem.lowest_reward
        steps = [DemandStep(0.0, lowest + first.intercept, first.bought)]
        for price, line in self._between(row.name, first, last):
            steps.append(DemandStep(price, lowest + line.at(price), line.bought))
        if end < math.inf:
            steps.append(DemandStep(end, row.without, 0.0))
        return steps

    def _between(
        self, name: str, low: GainLine, high: GainLine
    ) -> Iterator[tuple[float, GainLine]]:
        """Where V passes from one line to the next, from the line `low` to the line `high`."""
        if low.slope - high.slope <= TIE_TOLERANCE:
            return
        price = max(0.0, (low.intercept - high.intercept) / (low.slope - high.slope))
        middle = self.line(name, price)
        if middle.at(price) <= low.at(price) + self._tolerance:  # nothing above where they meet
            yield price, high
        else:
            yield from self._between(name, low, middle)
            yield from self._between(name, middle, high)


def purchase_shares(
    policy: Policy, evidence: Evidence
) -> tuple[list[float], list[float], list[float]]:
    """Of each observation the share of the cases that buy it, and that pay for it, and the fees.

    Of several that are bought together the first declared pays the fee that they share.
    """
    lattice = policy.lattice
    bought, paid, fees = ([0.0] * lattice.buyable for _ in range(3))
    refunded, costs = lattice.tariff.refunded.tolist(), lattice.costs.tolist()
    waiting = list(enumerate(evidence.contexts().probability.tolist()))
    while waiting:
        state, share = waiting.pop()
        reached = [(state, share)]
        for i in policy.looks(state):
            outcomes = evidence.outcome_distribution(state, i)
            bought[i] += share
            back = 0.0 if outcomes is None or refunded[i] < 0 else outcomes.probability[refunded[i]]
            paid[i] += share * (1 - float(back))
            fees[i] += sum(part * (lattice.price(s, (i,)) - costs[i]) for s, part in reached)
            reached = [pair for one in reached for pair in _after(lattice, evidence, one, i)]
        if reached != [(state, share)]:
            waiting.extend(reached)
    alone = [lattice.tariff.cost_of([i]) - cost for i, cost in enumerate(costs)]
    means = [f / b if b > 0 else a for f, b, a in zip(fees, bought, alone, strict=True)]
    return bought, paid, means


def _after(
    lattice: Lattice, evidence: Evidence, one: tuple[int, float], i: int
) -> list[tuple[int, float]]:
    state, share = one
    outcomes = evidence.outcome_distribution(state, i)
    if outcomes is None:
        return []
    children = zip(lattice.children(state, i), outcomes.probability.tolist(), strict=True)
    return [(child, share * p) for child, p in children if p > 0]
