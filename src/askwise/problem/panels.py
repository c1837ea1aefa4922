"""Observations that are cheaper together: panels."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import msgspec

from askwise.errors import ProblemError
from askwise.problem.amounts import check_amount
from askwise.problem.checks import as_tuple, check_distinct, check_name

MOST_PRICED_PANELS = 8
"""In a set of looks each may be paid for or not: what is cheapest is found by trying them all."""


class Panel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """Observations that share a visit or a sample.

    A list of names: the first one bought in a case pays `fee` too. Cost 1 each and a fee of 86.3:
    the first costs 87.3, every other one 1. Cost 0 each: the fee is the one price of the panel.

    {name: price}: once `fee` is paid, each of them costs that much in place of its own cost. Nobody
    has to pay it: what was bought in a case is charged in the cheapest way, by itself or within
    panels, whichever they are where panels overlap; and the price of the next look is what that
    total rises by. So discounts of its own, of tests that cost 87.3 each and 1 after the first, are
    a fee of 86.3 and 1 for each.

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
        """What each costs once the fee is paid; None if that is its own cost."""
        return self.observations if isinstance(self.observations, Mapping) else None

    def within(self, names: Collection[str]) -> Self | None:
        """The panel of those among its observations that are named; None if none is."""
        members = [name for name in self.observations if name in names]
        if not members:
            return None
        kept = members if self.prices is None else {name: self.prices[name] for name in members}
        return msgspec.structs.replace(self, observations=kept)

    def dearer(self, more: Mapping[str, float]) -> Self:
        """The same panel, in which observations cost so much more."""
        if self.prices is None:
            return self
        other = copy.copy(self)
        prices = {name: price + more.get(name, 0.0) for name, price in self.prices.items()}
        msgspec.structs.force_setattr(other, "observations", prices)
        return other


def check_panels(panels: Sequence[object], given: Mapping[str, bool]) -> None:
    """Refuse panels of what cannot be bought: `given` has every observation."""
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
                raise ProblemError(f"panels: observation {name!r} is given, nobody buys it")
    priced = sum(panel.prices is not None for panel in panels if isinstance(panel, Panel))
    if priced > MOST_PRICED_PANELS:
        raise ProblemError(
            f"{priced} panels have prices of their own, at most {MOST_PRICED_PANELS} may: every "
            "way to combine them is weighed"
        )
