"""NCC-UCRL2: optimistic, also about prices × simultaneous × a window × a plan for every case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._kernels.radii import Radii
from askwise._support.typing import AcquisitionName, Floats, RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Forgetting
from askwise.counting.units import PAID_UNIT
from askwise.errors import OptionError
from askwise.estimation.optimistic import Confidence
from askwise.learners.baselines.fixed_set import check_exploration
from askwise.learners.baselines.random_choice import random_actions
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.optimistic import OptimisticInFull
from askwise.learners.strategy import Progress
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class WindowConfidence(Confidence):
    """The radii of the paper depend on the window w and the horizon T, and do not grow with t."""

    def __init__(self, window: int, horizon: int | None, delta: float, exploration: float) -> None:
        super().__init__("theorem", width=1.0, delta=delta, clock="exact", cap="printed")
        self.window, self.horizon = window, horizon
        self.exploration = exploration

    def until(self, t: int) -> int:
        """T; without one, the next power of two."""
        return 1 << (t - 1).bit_length() if self.horizon is None else max(t, self.horizon)

    def radii(self, lattice: Lattice, acquisition: AcquisitionName, t: int) -> Radii:
        """conf₁ and conf₂ of case t, as widths."""
        pairs, scale = lattice.size * len(lattice.problem.actions), self.exploration**2
        reward = math.log(pairs * self.window * self.until(t) / self.delta)
        outcomes = math.log(2 * lattice.subsets * self.until(t) / self.delta)
        return Radii(scale * reward, scale * 2 * lattice.size * outcomes, cap=1.0)

    def of_prices(self, n: Floats, t: int) -> Floats:
        """conf₃ of prices with so many bills each, as a part of the highest price."""
        width = 2 * math.log(len(n) * self.window * self.until(t) / self.delta)
        return np.minimum(1.0, self.exploration * np.sqrt(width / np.maximum(1.0, n)))


class OptimisticPrices(OptimisticInFull):
    """The best set in the best of the plausible worlds, including low prices; at first each set
    once.
    """

    doubles = False
    confidence: WindowConfidence

    def __init__(self, lattice: Lattice, confidence: WindowConfidence) -> None:
        super().__init__(lattice, Simultaneous(), confidence)
        self._learned: Floats = np.full(lattice.buyable, -1.0)
        """The last price that was learned from bills, also if they are forgotten. It is −1 if the
        price is known, because there never was a bill or the price was set since.
        """

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Which prices are learned."""
        return {"learned_prices": self._learned}

    @property
    def is_mergeable(self) -> bool:
        """True, because bills are counted."""
        return True

    def round_length(self, now: Progress) -> int:
        """Every case is a round."""
        return 1

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The set whose turn it is with random actions; then the best set at the lowest prices."""
        if now.t <= len(lattice.open_subsets):
            subset = int(lattice.open_subsets[now.t - 1])
            unknown = np.full(lattice.context_subsets, math.nan)
            return Policy(
                SetTable(lattice, subset, random_actions(lattice, subset, now.rng), unknown)
            )
        policy = super().full_plan(now, lattice)
        if lattice is not now.lattice:
            return policy  # these prices are known
        table, bills = policy.table, now.statistics.paid_counts
        self._learned[self._learned != lattice.costs] = -1.0
        self._learned[bills > 0] = lattice.costs[bills > 0]
        if np.all(self._learned < 0):
            return policy  # all prices are known
        assert isinstance(table, SetTable)
        saved = lattice.costs - self.lowest_prices(now.statistics, now.t)
        of_set = [saved[list(lattice.members(s))].sum() for s in range(lattice.subsets)]
        values = table.values + np.repeat(of_set, lattice.contexts)
        sets = values.reshape(-1, lattice.contexts).argmax(axis=0)
        return Policy(SetTable(lattice, sets, table.actions, values))

    def lowest_prices(self, statistics: Statistics, t: int) -> Floats:
        """ĉ(i) − conf₃, where ĉ is 0 if the window has no bill of i; known prices stay."""
        lattice, n = statistics.lattice, statistics.paid_counts
        mean = statistics.paid_sums * PAID_UNIT / np.maximum(1, n)
        dearest = max(o.cost for o in lattice.problem.observations)
        lowest = mean - dearest * self.confidence.of_prices(n.astype(np.float64), t)
        return np.where(self._learned < 0, lattice.costs, lowest)


class NCCUCRL2(BaseLearner):
    """Optimism over a sliding window of rewards and prices, and over all observations.

    S. Ghoorchian, E. Kortukov, S. Maghsudi: Contextual multi-armed bandit with costly feature
    observation in non-stationary environments (2024). Rewards and prices are stationary only piece
    by piece, so their estimates are those of the last `window` cases, w of them,

        r̂_w(a, ψ) = Σ_{s > t − w} r_s [a_s = a, ψ_s = ψ] / N_w(a, ψ),     ĉ_w(i) alike,

    while the population is assumed not to change: p̂(ψ) comes from every case. First each set is
    bought once, with random actions. Then every case has the set and the actions that are best in
    the best of the plausible worlds: rewards r̂_w + conf₁, p̃ within conf₂, prices ĉ_w − conf₃,

        conf₁ = min(1, √( log(A Ψ_tot w T / δ) / N_w(a, ψ) ))
        conf₂ = min(1, √( 2 Ψ_tot log(2 T |P_≤m(D)| / δ) / N(I) ))
        conf₃ = min(1, √( 2 log(D w T / δ) / N_w(i) )) · the dearest price that is known.

    An action without rewards in the window counts 1. A price without bills in the window counts as
    0 less conf₃, so a price that fell is found again. These are the rule and the radii of the
    authors' program, the cap of 1 on conf₂ included, which docs/paper.md shows to be too low. There
    are these differences. The window slides by eighths. An optimistic reward is at most 1, and p̃
    is at least 0. Ties go to the first. The first purchases count for the subsets of what they
    bought too. A price is learned once a bill was reported (`observe(…, paid=…)`); until then it is
    known. Served over HTTP, it plans when the service does.

    window: the number of cases for which rewards and prices are remembered.
    horizon: T, the number of cases in all; by default the next power of two at any time.
    delta: the radii hold with probability 1 − delta while nothing changes.
    exploration: scales all radii; 1 is the paper's, and far too wide to learn from quickly.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = NCCUCRL2(patients.problem, exploration=0.05, rng=0)
    >>> round(float(simulate(learner, patients, steps=2_000, rng=0).gain.mean()), 1)
    57.0
    """

    name = "ncc-ucrl2"

    def __init__(
        self,
        problem: Problem,
        *,
        window: int = 10_000,
        horizon: int | None = None,
        delta: float = 0.1,
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        is_whole = isinstance(horizon, int) and not isinstance(horizon, bool)
        if horizon is not None and not (is_whole and horizon > 0):
            raise OptionError(f"horizon must be a whole number above 0 or None, got {horizon!r}")
        lattice = lattice_of(problem)
        forgetting = Forgetting(window, detect=False, only_rewards=True)
        assert forgetting.window is not None
        exploration = check_exploration(exploration)
        radii = WindowConfidence(forgetting.window, horizon, delta, exploration)
        options = {
            "window": forgetting.window,
            "horizon": horizon,
            "delta": radii.delta,
            "exploration": exploration,
        }
        strategy = OptimisticPrices(lattice, radii)
        super().__init__(lattice, strategy, options, rng=rng, forgetting=forgetting)
