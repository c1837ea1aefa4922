"""What a look costs, when that depends on what was bought before and on what it shows.

The cost of a set is c(I) = Σ_{i in I} c_i + Σ_P fee_P [I ∩ P ≠ ∅], P being the panels: the first
member bought pays the fee. The price of the next look is c(I ∪ {i}) − c(I). A look that fails and
is refunded was not bought: it leaves I, and the fee is due with the next member of its panel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers
from askwise.problem import Observation, Panel


class Tariff(NamedTuple):
    """The prices as the kernels take them; observations are places among those that are bought."""

    cost: Floats
    """c_i."""
    refunded: Integers
    """The outcome of i whose price is given back, the last one; −1 if none is."""
    first_panel: Integers
    """(D + 1): where the panels of each observation begin in `panel`."""
    panel: Integers
    fee: Floats
    """Of each panel."""

    @property
    def has_refunds(self) -> bool:
        """Whether what was spent depends on more than the set that was looked at."""
        return bool((self.refunded >= 0).any())

    @property
    def is_plain(self) -> bool:
        """Whether every look has one price, whatever went before and whatever it shows."""
        return len(self.fee) == 0 and not self.has_refunds

    def panels_of(self, i: int) -> list[int]:
        """The panels that an observation belongs to."""
        return [int(k) for k in self.panel[self.first_panel[i] : self.first_panel[i + 1]]]

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
        return total


def tariff_of(
    observations: Sequence[Observation], panels: Sequence[Panel], on_file: Collection[str] = ()
) -> Tariff:
    """The prices of these observations, all of which can be bought; what is on file pays no fee."""
    belongs = [
        [k for k, p in enumerate(panels) if o.name in p.observations and o.name not in on_file]
        for o in observations
    ]
    return Tariff(
        cost=np.array([o.cost for o in observations], np.float64),
        refunded=np.array(
            [len(o.values) if o.fails == "refunded" else -1 for o in observations], np.int64
        ),
        first_panel=np.concatenate([[0], np.cumsum([len(b) for b in belongs])]).astype(np.int64),
        panel=np.array([k for b in belongs for k in b], np.int64),
        fee=np.array([p.fee for p in panels], np.float64),
    )
