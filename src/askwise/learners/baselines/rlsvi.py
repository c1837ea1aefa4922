"""Randomized values: drawn regressions × sequential × no exploration × a draw for every case."""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import RandomSource
from askwise.counting import UNIT
from askwise.errors import OptionError
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import PathTable, Policy
from askwise.policy.acquisition import Sequential
from askwise.problem import Problem
from askwise.states import Lattice


class RandomizedValues(Strategy):
    """The best policy by values that are drawn, from the largest states down."""

    acquisition = Sequential()
    honours_rules = True
    doubles = False

    def __init__(self, noise: float, prior: float) -> None:
        self.noise = noise
        self.prior = prior

    def round_length(self, now: Progress) -> int:
        """Every case is a round."""
        return 1

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Draws the value of every action and observation, and returns the best choices."""
        from askwise._kernels.planning.look_values import randomized_values

        statistics, beta = now.statistics, lattice.problem.reward_value
        noise, prior = self.noise * beta, self.prior * beta
        n = statistics.action_counts + (noise / prior) ** 2
        mean = beta * statistics.reward_sums * UNIT / n
        acting = mean + noise / np.sqrt(n) * now.rng.standard_normal(mean.shape)
        acting = beta * lattice.net(acting / beta) if lattice.problem.has_rules else acting
        draws = now.rng.standard_normal((lattice.size, lattice.buyable))
        values, look = acting.max(axis=1), np.empty(lattice.size, np.int16)
        layout, tariff, weight = lattice.layout, lattice.tariff, statistics.transitions
        randomized_values(layout, tariff, weight, noise, prior, draws, values, look)
        return Policy(PathTable(lattice, look, acting.argmax(axis=1).astype(np.int16), values))


class RLSVI(BaseLearner):
    """Randomized least-squares value iteration, which the paper cites beside PSRL.

    I. Osband, B. Van Roy, Z. Wen: Generalization and exploration via randomized value functions
    (2016), with a feature for every pair of a state and a choice. From the largest states down,
    with σ = noise · β, τ = prior · β and λ = σ²/τ², values are drawn from the regressions

        Q̃(ψ, a) ~ N( β Σr(a, ψ) / (N(a, ψ) + λ),              σ² / (N(a, ψ) + λ) )
        Q̃(ψ, i) ~ N( Σ_ψ' N(ψ, i, ψ') F̃(ψ') / (N(ψ, i) + λ),  σ² / (N(ψ, i) + λ) ) − c_i

    and F̃(ψ) is the largest of them. Prices and the costs of actions are known, so they are no part
    of a regression. As in the paper, every case has a draw of its own; served over HTTP, a draw
    lasts until the service plans again.

    noise: the standard deviation of a reward, as a part of β.
    prior: the standard deviation of a value a priori, as a part of β.

    >>> from askwise.simulation import simulate
    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = RLSVI(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    69.2
    """

    name = "rlsvi"

    def __init__(
        self, problem: Problem, *, noise: float = 0.5, prior: float = 1.0, rng: RandomSource = None
    ) -> None:
        for name, value in (("noise", noise), ("prior", prior)):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and 0 < value < math.inf):
                raise OptionError(f"{name} must be a finite number above 0, got {value!r}")
        options = {"noise": float(noise), "prior": float(prior)}
        super().__init__(lattice_of(problem), RandomizedValues(**options), options, rng=rng)
