"""What one observation is worth: the numbers, how sure they are, and what they say of its price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["pays", "does not pay", "not known yet"]
FORESEEN = 100.0
"""How many times as many cases can be foreseen."""


@dataclass(frozen=True)
class ObservationWorth:
    """What one observation is worth, all other prices fixed."""

    name: str
    price: float
    bought: float
    """The share of the cases in which the best policy buys it."""
    gain: float
    """A case, of the best policy at today's prices."""
    without: float
    """The same if it could not be had."""
    free: float
    """The same if it cost nothing."""
    break_even: float
    """The highest price at which the best policy still buys it; 0 if it is not even worth having
    for nothing."""
    adds_low: float
    adds_high: float
    """Of what it adds, the ends of an interval of 95 %; that number itself, if it is known."""
    break_even_low: float
    break_even_high: float
    """Of its break-even price, likewise."""
    fees: float = 0.0
    """What is paid on top for its panels where the best policy buys it, on average: nothing after
    another member. If it never does, what would be paid if it came first."""
    cases_to_settle: float = 0.0
    """About how many more cases will settle whether it pays; 0 if that is settled, infinite if that
    cannot be foreseen."""

    @property
    def paid(self) -> float:
        """The price that is paid for it, fees included: what is shown as its price."""
        return self.price + self.fees

    @property
    def adds(self) -> float:
        """What having it adds to the gain of a case, at today's price."""
        return self.gain - self.without

    @property
    def verdict(self) -> Verdict:
        """Whether its price is below the break-even price, by all of the interval."""
        if self.break_even_low > self.price:
            return "pays"
        return "does not pay" if self.break_even_high <= self.price else "not known yet"


class DemandStep(NamedTuple):
    """From `price` up to the next one the best policy buys in a share of the cases."""

    price: float
    gain: float
    """At that price."""
    bought: float
    """The share of the cases that buy it there."""


class DemandBand(NamedTuple):
    """At a price, the share of the cases that buy: between which two it lies (95 %)."""

    price: float
    low: float
    high: float


def cases_to_settle(row: ObservationWorth, cases: float) -> float:
    """About how many more cases, if the interval of its break-even price c* narrows like 1/√n.

    n' − n = n ((h / |c* − c|)² − 1),     h from c* to the end of the interval on c's side
    """
    if row.verdict != "not known yet":
        return 0.0
    distance = abs(row.break_even - row.price)
    below = row.break_even > row.price
    reach = row.break_even - row.break_even_low if below else row.break_even_high - row.break_even
    if distance == 0 or not math.isfinite(reach / distance):
        return math.inf
    more = (reach / distance) ** 2 - 1
    return cases * more if more < FORESEEN else math.inf
