"""One step ahead: optimistic × sequential and myopic × no exploration × doubling."""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Choices, Floats, RandomSource
from askwise.errors import OptionError
from askwise.learners.optimistic import OptimisticInFull, OptimisticLearner
from askwise.learners.strategy import Progress
from askwise.planning import look_values
from askwise.policy import PathTable, Policy
from askwise.policy.acquisition import Sequential
from askwise.problem import Problem
from askwise.states import Lattice

CHOOSES_BY = ("benefit", "benefit per cost")


class Myopic(OptimisticInFull):
    """Buys the observation that would be best if it were the last one."""

    chooses_by = CHOOSES_BY[0]

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns in every state the observation of the largest marginal benefit, among those that
        pay.
        """
        weight = self.acquisition.weight(now.statistics)
        estimates = self.estimates(now, now.statistics, weight, lattice)
        stop = lattice.problem.reward_value * estimates.reward
        net = look_values(lattice, estimates, stop)
        look = greedy_looks(net, stop, self._prices(lattice), self.chooses_by)
        values = np.where(look < 0, stop, np.take_along_axis(net, look[:, None], 1)[:, 0])
        return Policy(PathTable(lattice, look, estimates.action, values))

    def _prices(self, lattice: Lattice) -> Floats:
        """The price of each observation in each state."""
        if not lattice.tariff.has_panels:
            return np.broadcast_to(lattice.costs, (lattice.size, lattice.buyable))
        every = range(lattice.buyable)
        return np.array([[lattice.price(s, (i,)) for i in every] for s in range(lattice.size)])


def greedy_looks(net: Floats, stop: Floats, prices: Floats, chooses_by: str) -> Choices:
    """Argmax Δ(i | ψ) or Δ(i | ψ) / c_i over all i with Δ(i | ψ) > c_i; −1 if there is none."""
    benefit = net + prices - stop[:, None]
    if chooses_by == "benefit per cost":
        with np.errstate(divide="ignore", invalid="ignore"):
            benefit = benefit / prices
    benefit = np.where(net > stop[:, None], benefit, -np.inf)
    look = benefit.argmax(axis=1)
    look[np.isneginf(benefit.max(axis=1))] = -1
    return np.asarray(look, np.int16)


class AdaptiveGreedy(OptimisticLearner):
    """Buys the observation of the largest marginal benefit, as long as one alone is worth its
    price.

    D. Golovin, A. Krause: Adaptive submodularity (2010): greedily take the item with the largest
    expected marginal benefit given the observed values, or the largest per unit of cost,

        Δ(i | ψ) = β Σ p̂(ψ' | ψ, i) max_a r̂(a, ψ') − β max_a r̂(a, ψ),

    here on the optimistic estimates of Seq-OOS. They take items until m are taken or the budget is
    used up. Here a price is paid, so it stops where no Δ(i | ψ) exceeds c_i. With true numbers, two
    observations that are informative only together (parity) are never bought, because the rule is
    myopic. Optimism corrects this in part, because a state with few counts has a high optimistic
    value.

    chooses_by: "benefit", Δ(i | ψ), or "benefit per cost", Δ(i | ψ) / c_i.
    confidence, width, delta, clock, cap, window, detect: as in Seq-OOS.

    >>> from askwise.simulation import simulate
    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = AdaptiveGreedy(patients.problem)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    78.6
    """

    name = "adaptive-greedy"
    _acquisition = Sequential()
    _kind = Myopic

    def __init__(
        self,
        problem: Problem,
        *,
        chooses_by: str = CHOOSES_BY[0],
        confidence: str = "practical",
        width: float = 1.0,
        delta: float = 0.1,
        clock: str = "doubling",
        cap: str = "corrected",
        window: int | None = None,
        detect: bool = False,
        rng: RandomSource = None,
    ) -> None:
        if chooses_by not in CHOOSES_BY:
            known = " or ".join(map(repr, CHOOSES_BY))
            raise OptionError(f"chooses_by must be {known}, got {chooses_by!r}")
        super().__init__(
            problem,
            confidence=confidence,
            width=width,
            delta=delta,
            clock=clock,
            cap=cap,
            window=window,
            detect=detect,
            rng=rng,
        )
        strategy = self._rounds.strategy
        assert isinstance(strategy, Myopic)
        strategy.chooses_by = chooses_by
        self._options["chooses_by"] = chooses_by
        del self._options["storage"]
