"""Prices of observations that depend on earlier purchases and on the outcome.

The cost of a set is c(I) = Σ_{i in I} c_i + Σ_P fee_P [I ∩ P ≠ ∅] + s(I), where P are the panels
whose first member pays a fee. The term s(I) is the surcharge of observations that are cheaper
within panels Q with their own prices. Let c_i be the lowest price of i, c_i + a_i its price alone,
and c_i + b_Qi its price within Q. Panels are paid for in the cheapest way:

    s(I) = min_{𝒬} Σ_{Q in 𝒬} fee_Q + Σ_{i in I} min(a_i, min_{Q in 𝒬} b_Qi).

The price of the next observation is c(I ∪ {i}) − c(I). An observation that fails and is refunded
was not bought: it leaves I, and the next member of its panel pays the fee.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers
from askwise.problem import Panel, Problem


class Tariff(NamedTuple):
    """The prices as the kernels use them; observations are indices among the buyable ones."""

    cost: Floats
    """c_i."""
    refunded: Integers
    """The outcome of i whose price is given back, the last one; −1 if none is."""
    first_panel: Integers
    """(D + 1): where the panels of each observation begin in `panel`."""
    panel: Integers
    fee: Floats
    """The fee of each panel."""
    alone: Floats
    """a_i: how much more than c_i it costs outside of panels."""
    priced_fee: Floats
    """The fee of each panel that has its own prices."""
    within: Floats
    """b_Qi at [Q, i]: how much more than c_i it costs within that panel; ∞ if it is no member."""

    @property
    def has_refunds(self) -> bool:
        """Whether the amount spent depends on more than the set of observations."""
        return bool((self.refunded >= 0).any())

    @property
    def is_plain(self) -> bool:
        """Whether every observation has one price, whatever came before and whatever its value."""
        return not self.has_panels and not self.has_refunds

    @property
    def has_panels(self) -> bool:
        """Whether the price of an observation depends on earlier purchases."""
        return len(self.fee) + len(self.priced_fee) > 0

    def panels_of(self, i: int) -> list[int]:
        """The panels that an observation belongs to."""
        return [int(k) for k in self.panel[self.first_panel[i] : self.first_panel[i + 1]]]

    def in_panels(self, observations: Iterable[int]) -> tuple[int, ...]:
        """Those of the observations whose prices depend on what else is bought."""
        return tuple(i for i in observations if self.panels_of(i) or self._is_priced_within(i))

    def _is_priced_within(self, i: int) -> bool:
        return bool(np.isfinite(self.within[:, i]).any())

    def belongs(self, panel: int) -> npt.NDArray[np.bool_]:
        """Whether each observation is a member of the panel; one more, at −1, is not."""
        members = [panel in self.panels_of(i) for i in range(len(self.cost))]
        return np.array([*members, False])

    def cost_of(self, bought: Sequence[int]) -> float:
        """c(I), of observations in ascending order."""
        total = 0.0
        for i in bought:
            total += float(self.cost[i])
        for k in sorted({k for i in bought for k in self.panels_of(i)}):
            total += float(self.fee[k])
        if len(self.priced_fee):
            total += float(self.surcharges(np.array([[*bought, -1]]))[0])
        return total

    def totals(self, bought: Integers) -> Floats:
        """c(I) of many sets, each a row of observations in ascending order; −1 is none."""
        costs, total = np.array([*self.cost, 0.0]), np.zeros(len(bought))
        for member in bought.T:
            total += costs[member]
        for k, fee in enumerate(self.fee.tolist()):
            total += np.where(self.belongs(k)[bought].any(axis=1), fee, 0.0)
        if len(self.priced_fee):
            total += self.surcharges(bought)
        return total

    def surcharges(self, bought: Integers) -> Floats:
        """s(I) of many sets."""
        best: Floats = np.full(len(bought), np.inf)
        for chosen in range(1 << len(self.priced_fee)):
            paid = [q for q in range(len(self.priced_fee)) if chosen >> q & 1]
            more = np.array([*np.minimum(self.alone, self.within[paid].min(0, initial=np.inf)), 0])
            total: Floats = np.full(len(bought), self.priced_fee[paid].sum())
            for member in bought.T:
                total += more[member]
            np.minimum(best, total, out=best)
        return best

    def at_rate(self, rate: float) -> Tariff:
        """Returns the same tariff with all prices multiplied by a factor."""
        scaled = {
            name: rate * getattr(self, name)
            for name in ("cost", "fee", "alone", "priced_fee", "within")
        }
        return self._replace(**scaled)


def tariff_of(problem: Problem, names: Sequence[str], on_file: Collection[str] = ()) -> Tariff:
    """Returns the prices of these buyable observations; values on file pay no fee."""
    known = {o.name: o for o in problem.observations}
    observations = [known[name] for name in names]
    plain: list[Panel] = [p for p in problem.panels if p.prices is None]
    priced: list[Panel] = [p for p in problem.panels if p.prices is not None]
    belongs = [
        [k for k, p in enumerate(plain) if name in p.observations and name not in on_file]
        for name in names
    ]
    least = np.array([problem.least_price(o) for o in observations], np.float64)
    for i, o in enumerate(observations):
        if o.name in on_file:
            least[i] = o.cost  # it is not bought, so no panel makes it cheaper
    within = np.full((len(priced), len(names)), np.inf)
    for k, panel in enumerate(priced):
        for i, name in enumerate(names):
            if name in panel.observations and name not in on_file:
                assert panel.prices is not None
                within[k, i] = panel.prices[name] - least[i]
    return Tariff(
        cost=least,
        refunded=np.array(
            [len(o.values) if o.fails == "refunded" else -1 for o in observations], np.int64
        ),
        first_panel=np.concatenate([[0], np.cumsum([len(b) for b in belongs])]).astype(np.int64),
        panel=np.array([k for b in belongs for k in b], np.int64),
        fee=np.array([p.fee for p in plain], np.float64),
        alone=np.array([o.cost for o in observations], np.float64) - least,
        priced_fee=np.array([p.fee for p in priced], np.float64),
        within=within,
    )
