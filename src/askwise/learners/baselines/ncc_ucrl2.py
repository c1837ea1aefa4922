"""NCC-UCRL2: sets bought at once, rewards and prices that change."""

from __future__ import annotations

from askwise._support.typing import RandomSource
from askwise.counting.forgetting import Forgetting
from askwise.estimation.optimistic import Confidence
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.optimistic import Optimistic
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem


class NCCUCRL2(BaseLearner):
    """Optimism over a sliding window of rewards and prices, and over all observations.

    S. Ghoorchian, E. Kortukov, S. Maghsudi: Contextual multi-armed bandit with costly feature
    observation in non-stationary environments (2024). Rewards and prices are stationary only piece
    by piece, so their estimates are those of the last `window` cases,

        r̂_w(a, ψ) = Σ_{s > t − w} r_s [a_s = a, ψ_s = ψ] / N_w(a, ψ),     ĉ_w(i) alike,

    while what there is to see is taken to stay as it is: p̂(ψ) comes from every case. The set and
    the actions are the best in the best of the plausible worlds, as in Sim-OOS. Prices that were
    told when paying (`observe(…, paid=…)`) are followed by their means. The window slides by
    eighths.

    window: how many cases rewards and prices are remembered for.
    width: scales the radii, as in Sim-OOS.

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
        width: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        lattice = lattice_of(problem)
        radii = Confidence("practical", width=width, delta=0.1, clock="doubling")
        forgetting = Forgetting(window, detect=False, only_rewards=True)
        options = {"window": forgetting.window, "width": radii.width}
        strategy = Optimistic(lattice, Simultaneous(), radii)
        super().__init__(lattice, strategy, options, rng=rng, forgetting=forgetting)
