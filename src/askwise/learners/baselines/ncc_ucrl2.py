"""NCC-UCRL2: sets bought at once, rewards and prices that change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers, RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Forgetting
from askwise.counting.units import PAID_UNIT
from askwise.estimation.optimistic import Confidence
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.optimistic import OptimisticInFull
from askwise.learners.strategy import Progress
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class OptimisticPrices(OptimisticInFull):
    """Sim-OOS, with the lowest prices that the bills of the window allow."""

    def __init__(self, lattice: Lattice, confidence: Confidence) -> None:
        super().__init__(lattice, Simultaneous(), confidence)
        self._learned: Floats = np.full(lattice.buyable, -1.0)
        """The last price that was learned from bills, also if they are forgotten; −1: it is known,
        since there never was a bill or the learner was told another price since."""
        self._bills: Integers = np.zeros(lattice.buyable, np.int64)
        """N_w(i) when the round was planned."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Which prices are learned, and the bills that the current round goes by."""
        return {"learned_prices": self._learned, "bills": self._bills}

    @property
    def is_mergeable(self) -> bool:
        """It is: bills are counted."""
        return True

    def round_length(self, now: Progress) -> int | None:
        """The round is also over when the bills of an observation have doubled."""
        new = now.statistics.paid_counts - self._bills
        return now.lengths[1] if (new >= np.maximum(1, self._bills)).any() else None

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The best set in the best of the plausible worlds, cheap ones included."""
        if lattice is now.lattice:
            self._bills[:] = now.statistics.paid_counts
            self._learned[self._learned != lattice.costs] = -1.0
            self._learned[self._bills > 0] = lattice.costs[self._bills > 0]
        if lattice is not now.lattice or (self._learned < 0).all():
            return super().full_plan(now, lattice)  # the prices are known
        names = lattice.names_of(tuple(range(lattice.buyable)))
        lowest = self.lowest_prices(now.statistics, now.t)
        cheap = lattice.priced(dict(zip(names, lowest.tolist(), strict=True)))
        table = super().full_plan(now, cheap).table
        assert isinstance(table, SetTable)
        return Policy(SetTable(lattice, table.sets, table.actions, table.values))

    def lowest_prices(self, statistics: Statistics, t: int) -> Floats:
        """max(0, ĉ(i) − conf₃(N_w(i), t)); 0 where the window has no bill; known prices stay."""
        lattice, n = statistics.lattice, statistics.paid_counts
        mean = statistics.paid_sums * PAID_UNIT / np.maximum(1, n)
        dearest = max(o.cost for o in lattice.problem.observations)
        radius = dearest * np.sqrt(self._price_width(lattice, t) / np.maximum(1, n))
        lowest = np.where(n > 0, np.maximum(0.0, mean - radius), 0.0)
        return np.where(self._learned < 0, lattice.costs, lowest)

    def _price_width(self, lattice: Lattice, t: int) -> float:
        if self.confidence.kind == "practical":
            return (self.confidence.width / 4) ** 2 * math.log(max(2, t))
        return math.log(20 * lattice.buyable * t**5 / self.confidence.delta) / 2


class NCCUCRL2(BaseLearner):
    """Optimism over a sliding window of rewards and prices, and over all observations.

    S. Ghoorchian, E. Kortukov, S. Maghsudi: Contextual multi-armed bandit with costly feature
    observation in non-stationary environments (2024). Rewards and prices are stationary only piece
    by piece, so their estimates are those of the last `window` cases,

        r̂_w(a, ψ) = Σ_{s > t − w} r_s [a_s = a, ψ_s = ψ] / N_w(a, ψ),     ĉ_w(i) alike,

    while what there is to see is taken to stay as it is: p̂(ψ) comes from every case. The set and
    the actions are the best in the best of the plausible worlds: rewards r̂_w + conf₁ and p̃ as in
    Sim-OOS, and prices

        c̃(i) = max(0, ĉ_w(i) − conf₃(N_w(i), t)),   conf₃(n, t) = c_max √(log(20 D t⁵ / δ) / 2n).

    conf₃ has the form of conf₁, for D prices up to c_max, the dearest that is known.

    What the window has no reward or no bill of counts as a reward of 1 and a price of 0, so it is
    tried first: a price that fell is found again. A price is learned once a bill was told
    (`observe(…, paid=…)`); until then it is known. The window slides by eighths. Rounds end as in
    Sim-OOS, and when N_w(i) has doubled. With practical radii conf₃ is c_max width/4 √(log t/n).

    This is their idea in the rounds and radii of Sim-OOS, not their program: that one plans in
    every case, buys every set once before anything else, lets c̃ fall below 0, and has radii that
    know the horizon and how often the world changes.

    window: how many cases rewards and prices are remembered for.
    confidence, width, delta: as in Sim-OOS; "theorem" has the radii above.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = NCCUCRL2(patients.problem, window=10_000)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    69.7
    """

    name = "ncc-ucrl2"

    def __init__(
        self,
        problem: Problem,
        *,
        window: int = 10_000,
        confidence: str = "practical",
        width: float = 1.0,
        delta: float = 0.1,
        rng: RandomSource = None,
    ) -> None:
        lattice = lattice_of(problem)
        radii = Confidence(confidence, width=width, delta=delta, clock="doubling")
        forgetting = Forgetting(window, detect=False, only_rewards=True)
        options = {
            "window": forgetting.window,
            "confidence": radii.kind,
            "width": radii.width,
            "delta": radii.delta,
        }
        strategy = OptimisticPrices(lattice, radii)
        super().__init__(lattice, strategy, options, rng=rng, forgetting=forgetting)
