"""Declares panels: groups of observations that are cheaper together."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import msgspec

from askwise.errors import ProblemError
from askwise.problem.amounts import check_amount
from askwise.problem.checks import as_tuple, check_distinct, check_name

MOST_PRICED_PANELS = 8
"""The cheapest bill is found by trying every combination of fees, so there must be few panels."""


class Panel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """A group of observations that share a visit, a sample or a fee.

    With a list of names, the first of them that is bought in a case pays `fee` in addition to its
    cost. With a cost of 1 each and a fee of 86.3, the first costs 87.3 and every other one 1. With
    a cost of 0 each, the fee is the price of the whole panel.

    With {name: price}, each observation has this price instead of its own cost once `fee` is paid.
    The fee is optional: a case is charged the cheapest total over all ways to pay, also where
    panels overlap. The price of the next observation is the increase of that total. So tests that
    cost 87.3 each, and 1 after the first, are a fee of 86.3 and a price of 1 each. A panel that
    saves less than its fee is never paid; it may be once the costs of its members rise.

    >>> Panel(["ecg", "pulse"], fee=86.3)
    Panel(observations=('ecg', 'pulse'), fee=86.3)
    >>> Panel({"ecg": 1.0, "pulse": 0.5}, fee=86.3)
    Panel(observations={'ecg': 1.0, 'pulse': 0.5}, fee=86.3)
    """

    observations: Sequence[str] | Mapping[str, float]
    fee: float

    def __post_init__(self) -> None:
        prices = self.observations if isinstance(self.observations, Mapping) else None
        given = self.observations if prices is None else list(prices)
        names = as_tuple(given, "a panel's observations")
        if not names:
            raise ProblemError("a panel has no observations, expected at least one")
        for name in names:
            check_name(name, "a panel's observation")
        check_distinct(names, "a panel's observation")
        what = f"the panel of {', '.join(map(str, names))}: "
        fee = check_amount(self.fee, f"{what}fee")
        kept: Any = names
        if prices is not None:
            kept = {n: check_amount(p, f"{what}the price of {n!r}") for n, p in prices.items()}
        msgspec.structs.force_setattr(self, "observations", kept)
        msgspec.structs.force_setattr(self, "fee", fee)

    @property
    def prices(self) -> Mapping[str, float] | None:
        """The price of each observation once the fee is paid; None if that is its own cost."""
        return self.observations if isinstance(self.observations, Mapping) else None

    def within(self, names: Collection[str]) -> Self | None:
        """Returns the panel with only the named observations; None if it has none of them."""
        members = [name for name in self.observations if name in names]
        if not members:
            return None
        kept = members if self.prices is None else {name: self.prices[name] for name in members}
        return msgspec.structs.replace(self, observations=kept)

    def dearer(self, more: Mapping[str, float]) -> Self:
        """Returns the same panel with prices raised by these amounts."""
        if self.prices is None:
            return self
        other = copy.copy(self)
        prices = {name: price + more.get(name, 0.0) for name, price in self.prices.items()}
        msgspec.structs.force_setattr(other, "observations", prices)
        return other


def check_panels(panels: Sequence[object], given: Mapping[str, bool]) -> None:
    """Refuses panels with observations that cannot be bought; `given` has every observation."""
    for panel in panels:
        if not isinstance(panel, Panel):
            raise ProblemError(f"panels: expected a Panel, got {panel!r}")
        for name in panel.observations:
            if name not in given:
                known = ", ".join(given)
                raise ProblemError(
                    f"panels: unknown observation {name!r}, expected one of: {known}"
                )
            if given[name]:
                raise ProblemError(
                    f"panels: observation {name!r} is given, so no panel may have it"
                )
    priced = sum(panel.prices is not None for panel in panels if isinstance(panel, Panel))
    if priced > MOST_PRICED_PANELS:
        raise ProblemError(
            f"{priced} panels have prices of their own, at most {MOST_PRICED_PANELS} may, "
            "because every combination of them is compared"
        )
