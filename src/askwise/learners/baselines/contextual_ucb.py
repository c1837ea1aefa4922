"""A bandit that buys everything."""

from typing import Any

from askwise._support.typing import RandomSource
from askwise.counting import Statistics
from askwise.learners.baselines.fixed_set import FixedSet
from askwise.problem import Problem
from askwise.states import Lattice


class ContextualUCB(FixedSet):
    """The paper's benchmark: buys everything, whatever m says, and plays UCB1 in each full state.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = ContextualUCB(patients.problem, exploration=0.2)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    73.3
    """

    name = "contextual-ucb"

    def __init__(
        self, problem: Problem, *, exploration: float = 1.0, rng: RandomSource = None
    ) -> None:
        super().__init__(problem, exploration=exploration, rng=rng)
        self.lattice = Lattice(problem, max_observations=self.lattice.buyable)
        self.statistics = Statistics(self.lattice)
        self.observations = self.lattice.names_of(tuple(range(self.lattice.buyable)))
        self.subset = self.lattice.subsets - 1

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {"exploration": self.exploration}
