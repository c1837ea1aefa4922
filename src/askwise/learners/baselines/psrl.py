"""Posterior sampling: posterior × either way to buy × doubling with growing rounds."""

from typing import Any

from askwise._support.typing import RandomSource
from askwise.errors import OptionError
from askwise.estimation.posterior import posterior_estimates
from askwise.learners.acquisition import Sequential, Simultaneous, WayToBuy
from askwise.learners.base import BaseLearner
from askwise.policy import Policy
from askwise.problem import Problem


class PSRL(BaseLearner):
    """Draws a world from the posterior, does what is best in it, and draws again.

    I. Osband, D. Russo, B. Van Roy: (More) efficient reinforcement learning via posterior sampling
    (2013). A round also ends when it is one case longer than the one before, as in Y. Ouyang et
    al.: Learning unknown Markov decision processes: a Thompson sampling approach (2017): a draw
    that is wrong and never contradicted must not last.

    plan: "sequential" or "simultaneous".

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = PSRL(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    79.0
    """

    name = "psrl"

    def __init__(
        self, problem: Problem, *, plan: str = "sequential", rng: RandomSource = None
    ) -> None:
        super().__init__(problem, rng=rng)
        ways: dict[str, WayToBuy] = {way.name: way for way in (Sequential(), Simultaneous())}
        if plan not in ways:
            raise OptionError(f"plan must be 'sequential' or 'simultaneous', got {plan!r}")
        self.way = ways[plan]

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {"plan": self.way.name}

    @property
    def round_length(self) -> int:
        """One case more than the round before."""
        return self.lengths[0] + 1

    def plan(self) -> Policy:
        """The best policy of a drawn world."""
        weight = self.way.weight(self.statistics)
        estimates = posterior_estimates(self.statistics, weight, self.rng)
        return self.way.policy(self.lattice, estimates)
