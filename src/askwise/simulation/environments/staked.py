"""Cases in which not the same is at stake."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askwise._support.typing import Floats
from askwise.errors import ModelError
from askwise.problem import Problem
from askwise.simulation.environments.base import Environment, StakedDraws


def always(stake: float) -> Callable[[np.random.Generator, int], Floats]:
    """Returns stakes that are the same in every case."""
    return lambda rng, cases: np.full(cases, stake)


class Staked:
    """The cases of another environment, each with a stake: how many times its reward counts.

    Stakes are drawn by themselves: `stakes(rng, cases)` gives so many numbers above 0.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> amounts = lambda rng, cases: rng.lognormal(0.0, 1.0, cases)
    >>> patients = Staked(Population(breast_cancer(cost=5.0)), amounts)
    >>> patients.draw(np.random.default_rng(0), 2).stakes.round(2).tolist()
    [0.59, 1.44]
    """

    def __init__(
        self, environment: Environment, stakes: Callable[[np.random.Generator, int], Floats]
    ) -> None:
        if not callable(stakes):
            raise ModelError(f"stakes must be a function of (rng, cases), got {stakes!r}")
        self.environment, self.stakes = environment, stakes

    @property
    def problem(self) -> Problem:
        """That of the cases."""
        return self.environment.problem

    def draw(self, rng: np.random.Generator, cases: int) -> StakedDraws:
        """Cases of the other environment, and their stakes."""
        draws = self.environment.draw(rng, cases)
        stakes = np.asarray(self.stakes(rng, cases), np.float64)
        if stakes.shape != (cases,):
            raise ModelError(
                f"stakes must return an array of {cases:,} numbers, one a case, "
                f"got one of the shape {stakes.shape}"
            )
        return StakedDraws.of(draws, stakes)
