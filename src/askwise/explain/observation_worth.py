"""The worth of one observation: the numbers, their intervals, and the verdict on its price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["pays", "does not pay", "not known yet", "no cases yet"]
FORESEEN = 100.0
"""The largest multiple of the present cases that can be foreseen."""


@dataclass(frozen=True)
class ObservationWorth:
    """The worth of one observation, with all other prices fixed. The numbers are NaN before the
    first case. All but `bought` leave a budget aside.
    """

    name: str
    price: float
    bought: float
    """The share of the cases in which the recommended policy buys it, within the budget."""
    gain: float
    """The gain of a case by the recommended policy at today's prices, without a budget."""
    without: float
    """The same gain if the observation were not available, within what is possible."""
    free: float
    """The same gain if the observation cost nothing, within what is possible."""
    adds: float
    """The amount that it adds to the gain of a case, at today's price. It is a mean over possible
    worlds. So it may be positive where the policy does not buy, and differ from gain − without.
    """
    adds_if_free: float
    """The amount that it would add if it cost nothing, in the same worlds."""
    break_even: float
    """The highest price at which the best policy still buys it; 0 if it is not bought even for
    nothing.
    """
    adds_low: float
    adds_high: float
    """The ends of the 95 % interval of what it adds; the number itself, if it is known."""
    break_even_low: float
    break_even_high: float
    """The ends of the 95 % interval of its break-even price."""
    fees: float = 0.0
    """The mean panel fees where the best policy buys it; there is no fee after another member. If
    the policy never buys it, the fees as the first member.
    """
    cases_to_settle: float = 0.0
    """About how many more cases will settle whether it pays; 0 if that is settled, infinite if that
    cannot be foreseen. The chance that so many settle it is about even.
    """

    @property
    def paid(self) -> float:
        """The price that is paid for it, including fees, which is shown as its price."""
        return self.price + self.fees

    def with_fees(self, break_even: float) -> float:
        """Returns a break-even price, or an end of its interval, with the fees. It is 0 if the
        observation is not bought at any price.
        """
        return break_even + self.fees if break_even > 0 else 0.0

    @property
    def verdict(self) -> Verdict:
        """Whether its price is below the break-even price, over the whole interval."""
        if math.isnan(self.break_even):
            return "no cases yet"
        if self.break_even_low > self.price:
            return "pays"
        return "does not pay" if self.break_even_high <= self.price else "not known yet"


class DemandStep(NamedTuple):
    """From `price` up to the next one the best policy buys in a share of the cases."""

    price: float
    gain: float
    """The gain of a case at that price."""
    bought: float
    """The share of the cases that buy it there."""


class DemandBand(NamedTuple):
    """The 95 % interval of the share of the cases that buy, at a price."""

    price: float
    low: float
    high: float


def cases_to_settle(row: ObservationWorth, cases: float) -> float:
    """Estimates how many more cases settle whether it pays, if intervals narrow like 1/√n.

    n' − n = n ((h / |c* − c|)² − 1), where c* is the break-even price and c the price that is paid,
    both with the fees. The number h is the distance from c* to the end of its interval on the side
    of c. No break-even price is below 0. So an interval that ends at 0 is cut there, which hides
    its width, and c* is then mostly too high. Where c* is above c, h is then the whole interval:
    after so many cases about half of the verdicts were settled, on several populations.
    """
    if row.verdict != "not known yet":
        return 0.0
    ends = row.break_even, row.break_even_low, row.break_even_high
    value, low, high = map(row.with_fees, ends)
    distance, reach = abs(value - row.paid), high - value
    if value > row.paid:
        reach = value - low if low > 0 else high
    if distance == 0 or not math.isfinite(reach / distance):
        return math.inf
    more = (reach / distance) ** 2 - 1
    return cases * more if more < FORESEEN else math.inf
