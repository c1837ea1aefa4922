r"""The gain of the best policy as a function of the price of an observation.

As a function of one price c_i, all others fixed, the gain of the best policy is

    V(c_i) = max_π A_π − c_i s_π

where s_π is the share of the cases in which π pays for i, and A_π its gain before that payment. As
a maximum of lines, V is convex and falling, and its slope is −s of the best policy. The
**break-even price** is where V reaches V(∞), the gain without i.

The search for the break-even price starts at c = 0. The line of the best policy there lies below V.
At the price where this line meets V(∞), the best policy is planned again. The search ends when that
policy does not buy i. It skips all policies that are best at no price, is exact, and takes about
five plans for an observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs, CountedEvidence
from askwise.estimation.worlds import Worlds, mean_world
from askwise.explain.observation_worth import (
    DemandBand,
    DemandStep,
    ObservationWorth,
    cases_to_settle,
)
from askwise.explain.purchase_shares import purchase_shares
from askwise.explain.worth_draws import (
    NOTHING_KNOWN,
    ChosenPolicies,
    WithAndWithout,
    WorthDraws,
    around,
    estimate_with_error,
    number_of_worlds,
)
from askwise.policy import Policy
from askwise.policy.acquisition import acquisition_of
from askwise.policy.expected_gain import acted_states
from askwise.policy.oracle import best_set
from askwise.policy.recommending import best_by, recommended
from askwise.policy.scores import Estimate

BAND_PRICES = 12
"""The number of prices at which the band of a demand curve is computed."""


class PricedPolicy(NamedTuple):
    """The best policy at some prices."""

    policy: Policy
    gain: float
    bought: dict[str, float]
    """The share of the cases that buy each observation."""
    paid: dict[str, float]
    """The share of the cases that pay for it, which is smaller if failures are refunded."""
    fees: dict[str, float]
    """The mean panel fees of each observation, in the cases that buy it."""


class GainLine(NamedTuple):
    """The gain of one policy as a function of one price c: A_π − c s_π."""

    intercept: float
    slope: float
    bought: float

    def at(self, price: float) -> float:
        """Returns the gain at a price."""
        return self.intercept - price * self.slope


class PriceSensitivity:
    """The best policies at all prices, by the means of the estimates.

    The recommended policy at today's prices is chosen with caution (`policy/recommending.py`).
    Policies at other prices are not. Without an observation, much depends on states that were
    hardly tried. Caution there would make the observation seem worth more than it is. So other
    prices are compared by the mean of the possible worlds. All gains are shifted by the same
    amount, so that today's gain is that of the tree. The drawn worlds give the intervals, and
    correct the means where they are biased (`explain/worth_draws.py`).

    Gains are computed above the lowest reward, and returned with it.
    """

    def __init__(self, evidence: Beliefs | CountedEvidence, acquisition: AcquisitionName) -> None:
        # a shortlist of observations is a problem of its own
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
        """The recommended policy at today's prices."""
        self.believed = self.evidence
        """The evidence behind the recommended policy."""
        self.worlds: Worlds | None = None
        """The possible worlds; None if there is only one."""
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
        """The cost of observations that are not on the shortlist but would be bought with all."""
        self.left_out: tuple[str, ...] = ()
        """The observations that can be bought, but are not on the shortlist."""
        if isinstance(evidence, Beliefs) and evidence.part_of is not None:
            whole = evidence.part_of.lattice
            every = whole.names_of(tuple(range(whole.buyable)))
            self.left_out = tuple(name for name in every if name not in self.names)
            if whole.m == whole.buyable:
                self._idle_cost = float(whole.costs.sum() - self.lattice.costs.sum())

    def best(self, prices: Mapping[str, float]) -> PricedPolicy:
        """Returns the best policy at these prices. All other prices are today's."""
        key = tuple(prices.items())
        if key not in self._best:
            policy = best_by(self.acquisition, self.evidence, self.lattice.supposing(prices))
            self._best[key] = self._priced(policy, policy.planned_value + self._shift)
        return self._best[key]

    @cached_property
    def draws(self) -> WorthDraws:
        """The worth of observations in every world."""
        assert isinstance(self.believed, Beliefs)
        assert self.worlds is not None
        chosen = {name: self._with_and_without(name) for name in self.names}
        recommended, best = self.today.policy, self.best({}).policy
        policies = ChosenPolicies(acted_states(recommended), acted_states(best), chosen)
        return WorthDraws(self.acquisition, self.believed, self.worlds, policies)

    def _with_and_without(self, name: str) -> WithAndWithout:
        self.break_even(name)  # this plans for all prices up to the break-even price
        ours = [best.policy for key, best in self._best.items() if [n for n, _ in key] == [name]]
        without, free = self._best_without[name], self._if_free(name)
        lines = [acted_states(policy) for policy in ours]
        return WithAndWithout(acted_states(without), acted_states(free), lines)

    def _if_free(self, name: str) -> Policy:
        """Returns the best policy if the observation cost nothing, alone and in its panels."""
        return best_by(self.acquisition, self.evidence, self.lattice.with_free(name))

    def _priced(self, policy: Policy, gain: float) -> PricedPolicy:
        parts = purchase_shares(policy, self.evidence)
        by_name = (dict(zip(self.names, part, strict=True)) for part in parts)
        return PricedPolicy(policy, gain, *by_name)

    def worth_of(self, name: str) -> ObservationWorth:
        """Returns the worth of one observation."""
        now = self.today
        adds, if_free, price = self._estimates(name) if self.has_cases else [NOTHING_KNOWN] * 3
        if self.is_estimated and price.low <= self.prices[name]:  # then it may add nothing
            adds = adds._replace(low=min(0.0, adds.low))
        lowest = self.problem.lowest_reward
        without = now.gain - adds.value
        row = ObservationWorth(
            name=name,
            price=self.prices[name],
            bought=now.bought[name],
            gain=lowest + now.gain,
            without=lowest + without,
            free=lowest + (without + if_free.value),
            adds=adds.value,
            adds_if_free=if_free.value,
            break_even=price.value,
            adds_low=adds.low,
            adds_high=adds.high,
            break_even_low=price.low,
            break_even_high=price.high,
            fees=now.fees[name],
        )
        # an interval that ends at what is possible hides its width, so cases are counted before
        cases = cases_to_settle(row, self.believed.contexts().cases)
        row = self._as_possible(row) if self.is_estimated else row
        return replace(row, cases_to_settle=cases if row.verdict == "not known yet" else 0.0)

    def _as_possible(self, row: ObservationWorth) -> ObservationWorth:
        """Returns the row without what is impossible in any population.

        Without a look a case takes an action at once, which earns at most β less, and costs at most
        the most expensive action more. So a look that is paid for in every case pays up to this
        price. If failures are refunded, it pays up to a higher price that is not known.
        """
        least, most = self._bounds
        row = replace(
            row,
            without=float(np.clip(row.without, min(least, row.gain), row.gain)),
            free=float(np.clip(row.free, row.gain, max(most, row.gain))),
        )
        dearest = adds = self.problem.reward_value + float(self.lattice.action_costs.max())
        if self.lattice.tariff.refunded[self.names.index(row.name)] < 0:
            prices = row.break_even, row.break_even_low, row.break_even_high
            value, low, high = (min(price, dearest) for price in prices)
            row = replace(row, break_even=value, break_even_low=low, break_even_high=high)
            adds = max(0.0, dearest - row.price)
        return replace(row, adds_high=max(row.adds, min(row.adds_high, adds)))

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        """The least and the most that a best policy can gain. It gains what buying nothing does."""
        lowest, beta = self.problem.lowest_reward, self.problem.reward_value
        costs = self.lattice.action_costs
        at_once = [a.cost for a in self.problem.actions if not a.requires]
        least, blind = lowest - min(at_once, default=float(costs.max())), self.blind_gain()
        return least if blind is None else max(least, blind), lowest + beta - float(costs.min())

    def _estimates(self, name: str) -> tuple[Estimate, Estimate, Estimate]:
        """Returns what it adds, what it would add if free, and its break-even price."""
        without, (price, last) = self.without(name), self._last_line(name)
        if_free = self._if_free(name).planned_value + self._shift - without
        if self.worlds is not None:
            drawn = self.draws.estimates(name)
            if not self.worlds.of_shortlist or price > self.prices[name]:
                return drawn
            added = max(0.0, self.best({}).gain - without)
            return around(added, drawn[0]), around(if_free, drawn[1]), around(price, drawn[2])
        error = self._rough_error(name)
        adds = estimate_with_error(self.today.gain - without, error)
        free = estimate_with_error(if_free, error)
        if error and last.slope <= TIE_TOLERANCE:  # no payment was seen, so nothing gives a price
            return adds, free, Estimate(price, price if free.low > 0 else 0.0, math.inf)
        return adds, free, estimate_with_error(price, error / max(last.slope, TIE_TOLERANCE))

    def _rough_error(self, name: str) -> float:
        """Returns the standard error of what it adds, from counters; 0 for a known population."""
        if isinstance(self.evidence, Beliefs):
            return 0.0
        policies = self.today.policy, self._best_without[name]
        reasons = [policy.tree(self.evidence).root.reason for policy in policies]
        return math.sqrt(sum(reason.variance for reason in reasons if reason is not None))

    def without(self, name: str) -> float:
        """Returns V(∞): the gain of a case if the observation were not available."""
        if name not in self._without:
            policy = best_by(self.acquisition, self.evidence, self.lattice.without(name))
            self._best_without[name] = policy
            self._without[name] = policy.planned_value + self._shift
        return self._without[name]

    @property
    def has_cases(self) -> bool:
        """Whether there are cases of the population, or it is known."""
        return self.believed.has_cases

    @property
    def is_estimated(self) -> bool:
        """Whether the numbers are estimates."""
        return self.worlds is not None or isinstance(self.believed, CountedEvidence)

    def still_to_learn(self) -> Estimate | None:
        """Returns what perfect knowledge would add to the gain of a case.

        The result is None before the first case, and if states are estimated one by one.
        """
        if not self.has_cases:
            return None
        if isinstance(self.believed, CountedEvidence) or not self.believed.is_joint:
            return None
        return Estimate(0.0, 0.0, 0.0) if self.worlds is None else self.draws.knowing_more()

    def demand_band(self, row: ObservationWorth) -> list[DemandBand]:
        """Returns the interval of the share that buys, at prices from 0 on."""
        if self.worlds is None or not self.worlds.learned or not self.has_cases:
            return []
        prices = np.linspace(0.0, self._last_price(row), BAND_PRICES).tolist()
        return [DemandBand(c, *self.draws.share_bought(row.name, c)) for c in prices]

    def _last_price(self, row: ObservationWorth) -> float:
        """Returns the last price of a band.

        The interval of a break-even price may end at a hundred times today's price. A picture up to
        there would hide today's price and the curve. So the band ends at twice today's price or at
        1.5 times the break-even price, whichever is more, if that is within the interval.
        """
        seen = 2 * row.price, 1.5 * row.break_even, 1.5 * self.break_even(row.name)
        wanted = max(price for price in (0.0, *seen) if math.isfinite(price)) or math.inf
        end = min(wanted, row.break_even_high)
        return max(row.price, end if math.isfinite(end) else 0.0)

    def blind_gain(self) -> float | None:
        """Returns the gain of a case if nothing were bought; None if it is not known."""
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
        """Returns the gain of a case with the best set of m observations in each context."""
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
        """Returns the gain of the cases of a context that buy a set, times the context's share."""
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
        """Returns the line of the best policy at a price."""
        best = self.best({name: price})
        slope = best.paid[name]
        return GainLine(best.gain + price * slope, slope, best.bought[name])

    def break_even(self, name: str) -> float:
        """Returns the break-even price: where V reaches V(∞)."""
        return self._last_line(name)[0]

    def _last_line(self, name: str) -> tuple[float, GainLine]:
        """Returns the break-even price, and the last line that reaches it."""
        nothing, line = self.without(name), self.line(name, 0.0)
        if line.intercept <= nothing + self._tolerance:
            return 0.0, line
        while line.slope > 0:
            price = (line.intercept - nothing) / line.slope
            following = self.line(name, price)
            if following.at(price) <= nothing + self._tolerance or following.slope >= line.slope:
                return price, line
            line = following
        return math.inf, line  # bought but never paid for

    def demand(self, row: ObservationWorth) -> list[DemandStep]:
        """Returns the steps of V from 0 to the break-even price; none before the first case.

        All are by the means, and so is the gain without it, so that they are one curve.
        """
        if not self.has_cases:
            return []
        lowest = self.problem.lowest_reward
        without = lowest + self.without(row.name)
        first = self.line(row.name, 0.0)
        end, last = self._last_line(row.name)
        if end == 0:
            return [DemandStep(0.0, without, 0.0)]
        steps = [DemandStep(0.0, lowest + first.intercept, first.bought)]
        for price, line in self._between(row.name, first, last):
            steps.append(DemandStep(price, lowest + line.at(price), line.bought))
        if end < math.inf:
            steps.append(DemandStep(end, without, 0.0))
        return steps

    def _between(
        self, name: str, low: GainLine, high: GainLine
    ) -> Iterator[tuple[float, GainLine]]:
        """Yields the prices at which V changes its line, from `low` to `high`, and that line."""
        if low.slope - high.slope <= TIE_TOLERANCE:
            return
        price = max(0.0, (low.intercept - high.intercept) / (low.slope - high.slope))
        middle = self.line(name, price)
        if middle.at(price) <= low.at(price) + self._tolerance:  # no line in between
            yield price, high
        else:
            yield from self._between(name, low, middle)
            yield from self._between(name, middle, high)
