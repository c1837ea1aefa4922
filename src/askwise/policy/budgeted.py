"""The best gain within an average spend, and the frontier of gain against spend.

A policy π gains G(π) and spends S(π) on observations, on average. Within a budget b the best is

    max G(π)   subject to   S(π) ≤ b     over all policies and their mixtures,

a linear program. With a multiplier λ ≥ 0 on the constraint it is, for a given λ, the plan at prices
that are 1 + λ times as high:

    L(λ) = max_π G(π) − λ S(π).

Each policy is a line in λ, L is their upper envelope, and the frontier of G against S is concave.
The best within b is a mixture of the two policies whose lines meet where the slope of L passes −b.
That λ is the shadow price: what one more unit of spend on a case adds to its gain.

The two are found without a grid. The line of a policy that spends more than b and the line of one
that spends less meet at some λ. Either a plan at that λ is better than both there and replaces one
of them, or they are the two policies (Eisner, Severance: Mathematical techniques for efficient
record segmentation in large shared databases, 1976). Every step finds a policy of the envelope, of
which there are finitely many. A search on both sides finds all of them, which are the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.numbers import shown
from askwise._support.sums import dot
from askwise._support.typing import Floats
from askwise.policy.expected_gain import acted_states
from askwise.policy.exploration import PathExploration
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.states import Lattice

NOTHING_BOUGHT = 1e15
"""At this λ nothing is bought that has a price."""

TOLERANCE = 1e-11
"""Gains closer than this part of β are equal, because they may be sums in different orders. So are
spends closer than this part of the budget.
"""

BESIDE = 1e-4
"""The policies that are mixed are both the best at the shadow price. A little below it only the
more expensive one is, and a little above it only the cheaper one."""


class Line(NamedTuple):
    """A policy, with its mean gain above the lowest reward and its mean spend."""

    policy: Policy
    gain: float
    spend: float
    price: float = 0.0
    """The λ at which it was planned."""

    def at(self, price: float) -> float:
        """G − λ S."""
        return self.gain - price * self.spend


Kinds = Sequence[tuple[float, Lattice]]
"""The share of the cases of each kind, and the states at their stake and prices."""


def mean_line(shares: Sequence[float], lines: Sequence[Line], price: float) -> Line:
    """Returns the mean of cases of several kinds, with the policy of the first kind."""
    gain = sum(share * line.gain for share, line in zip(shares, lines, strict=True))
    spend = sum(share * line.spend for share, line in zip(shares, lines, strict=True))
    return Line(lines[0].policy, gain, spend, price)


Plan = Callable[[float], Line]
"""The best policy at prices of 1 + λ, with its gain and its spend at the true prices."""


class Within(NamedTuple):
    """The two policies whose mixture is the best within a budget."""

    dear: Line
    cheap: Line
    share: float
    """The share of the cases that follow the more expensive policy; 1 if it is within the
    budget.
    """
    shadow_price: float
    budget: float

    @property
    def spend(self) -> float:
        """The mean spend of a case."""
        return self.share * self.dear.spend + (1.0 - self.share) * self.cheap.spend

    def mixed(self, finish: Callable[[Policy], Policy]) -> Policy:
        """Returns both as one policy, with parts at the prices that are paid.

        The policy of fewer cases is mixed into that of more cases.
        """
        if self.share in (0.0, 1.0):
            found = finish((self.dear if self.share else self.cheap).policy)
        else:
            dear, cheap = finish(self.dear.policy), finish(self.cheap.policy)
            is_dear = self.share >= 0.5
            found = (
                dear.mixed(cheap, 1.0 - self.share) if is_dear else cheap.mixed(dear, self.share)
            )
        found.shadow_price = self.shadow_price
        more = f"one more to spend would add {shown(self.shadow_price, decimals=2)}"
        if self.shadow_price == 0.0:  # plans count on no more than is fairly sure
            more = "nothing more is fairly sure to pay"
        found.note = f"Within {shown(self.budget)} a case it spends {shown(self.spend)}, and {more}"
        return found


def best_within(
    plan: Plan, budget: float, beta: float, near: tuple[float, float] | None = None
) -> Within:
    """Returns the best mixture of policies with at most this average spend.

    `near` are two λ between which the shadow price probably is, such as those of a similar plan.
    They only save time.
    """
    affordable = budget * (1.0 + TOLERANCE)
    dear, cheap = (None, None) if near is None else map(plan, near)
    if dear is None or dear.spend <= affordable:
        dear = plan(0.0)
    if dear.spend <= affordable:
        return Within(dear, dear, 1.0, 0.0, budget)
    if cheap is None or cheap.spend > affordable:
        cheap = plan(NOTHING_BOUGHT)
    while cheap.spend < budget * (1.0 - TOLERANCE):
        price = _where_they_meet(dear, cheap)
        found = plan(price)
        if found.at(price) <= cheap.at(price) + TOLERANCE * beta:
            share = (budget - cheap.spend) / (dear.spend - cheap.spend)
            return Within(dear, cheap, share, price, budget)
        if found.spend > affordable:
            dear = found
        else:
            cheap = found
    # only this one: one more unit of spend adds what the next more expensive one gains
    while True:
        price = _where_they_meet(dear, cheap)
        found = plan(price)
        is_between = cheap.spend < found.spend < dear.spend
        if not is_between or found.at(price) <= cheap.at(price) + TOLERANCE * beta:
            return Within(dear, cheap, 0.0, price, budget)
        dear = found


def frontier_of(plan: Plan, beta: float) -> list[Line]:
    """Returns the policies of the envelope, from the least spend to the best without a budget.
    Gains rise with spends, at a falling slope.
    """
    cheap, dear = plan(NOTHING_BOUGHT), plan(0.0)
    if dear.spend <= cheap.spend or dear.gain <= cheap.gain + TOLERANCE * beta:
        return [cheap if cheap.gain >= dear.gain else dear]
    found, between = [cheap], [(cheap, dear)]
    while between:
        low, high = between.pop()
        price = _where_they_meet(high, low)
        middle = plan(price)
        if middle.at(price) <= low.at(price) + TOLERANCE * beta:
            found.append(high)
        else:
            between += [(middle, high), (low, middle)]
    return found


def _where_they_meet(dear: Line, cheap: Line) -> float:
    return max(0.0, (dear.gain - cheap.gain) / (dear.spend - cheap.spend))


def line_of(policy: Policy, lattice: Lattice, probability: Floats, reward: Floats) -> Line:
    """Returns a policy that was planned at other prices, with its gain and spend at those of a
    lattice.

    Both are computed from p(ψ) and from what acting in ψ earns net of its cost, in units of β.
    """
    states = acted_states(policy).states
    states = states[probability[states] > 0]  # elsewhere no action may be allowed
    p, earned = probability[states], lattice.problem.reward_value * reward[states]
    spent = lattice.costs_of(states)
    return Line(policy, dot(p, earned - spent), dot(p, spent))


def repriced(lattice: Lattice, policy: Policy) -> Policy:
    """Returns a policy at the prices of a lattice, with the values of its plan."""
    table = policy.table
    if isinstance(table, PathTable):
        arrays = table.look, table.actions, table.values
        return Policy(PathTable(lattice, *arrays), frequency=policy.frequency)
    assert isinstance(table, SetTable)
    return Policy(
        SetTable(lattice, table.sets, table.actions, table.values), frequency=policy.frequency
    )


def at_prices_of(
    lattice: Lattice, policy: Policy, probability: Floats, reward: Floats
) -> PathTable | SetTable:
    """Returns a policy's table at the prices of a lattice. Its values come from p(ψ) and from what
    acting in ψ earns net of its cost, in units of β.
    """
    table, every = policy.table, np.arange(lattice.size)
    # states without cases, or without an allowed action, earn nothing
    earned: Floats = np.where((probability > 0) & (reward > -np.inf), reward, 0.0)
    earned *= lattice.problem.reward_value
    spent = lattice.costs_of(every)
    if isinstance(table, PathTable):
        from askwise._kernels.policy.gains import gains_by_paths

        nothing = PathExploration.none(lattice)
        untried = nothing.other_look, nothing.look_probability, 0.0
        gains_by_paths(lattice.layout, table.look, *untried, probability, spent, earned)
        return PathTable(lattice, table.look, table.actions, earned)
    assert isinstance(table, SetTable)
    came = np.tile(np.maximum(probability[: lattice.contexts], 1e-300), lattice.subsets)
    first = lattice.layout.context_offsets[:-1]
    values: Floats = np.add.reduceat(probability * (earned - spent), first) / came
    return SetTable(lattice, table.sets, table.actions, values)
