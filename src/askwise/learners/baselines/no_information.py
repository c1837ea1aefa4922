"""A bandit that buys nothing."""

from typing import Any

from askwise._support.typing import RandomSource
from askwise.learners.baselines.fixed_set import FixedSet
from askwise.problem import Problem


class NoInformation(FixedSet):
    """UCB1 that buys nothing: what one has without askwise.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = NoInformation(patients.problem)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    41.3
    """

    name = "no-information"

    def __init__(
        self, problem: Problem, *, exploration: float = 1.0, rng: RandomSource = None
    ) -> None:
        super().__init__(problem, exploration=exploration, rng=rng)

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {"exploration": self.exploration}
