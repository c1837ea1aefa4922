"""Draws cases from a known model."""

import numpy as np

from askwise.errors import ModelError
from askwise.estimation.models import Model
from askwise.problem import Problem
from askwise.problem.rewards import all_money_of
from askwise.simulation.environments.base import Draws


class Population:
    """An environment that draws full states from p(φ), and rewards of 1 with probability r̄(a, φ),
    else 0.

    If the problem has `rewards`, a reward is the highest or the lowest of them. All actions of a
    case share one uniform random number, so the action that is better on average is never worse in
    a case. Each action alone has the distribution of the model.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"expected a Model, got {type(model).__name__}")
        self.model = model

    def __repr__(self) -> str:
        return f"<Population of {self.model!r}>"

    @property
    def problem(self) -> Problem:
        """The problem of the model."""
        return self.model.problem

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """Draws independent cases from the model."""
        values = self.model.sample(rng, cases)
        mean = self.model.reward[tuple(values.T)]
        luck = rng.random(cases)
        rewards = all_money_of((luck[:, None] < mean).astype(np.float64), self.problem.rewards)
        return Draws(values.astype(np.int16), rewards)
