"""What Sim-OOS and Seq-OOS share: optimism and its options."""

from typing import Any

from askwise._typing import RandomSource
from askwise.estimation.optimistic import Confidence, optimistic_estimates
from askwise.learners.base import BaseLearner
from askwise.policy import Policy
from askwise.problem import Problem


class OptimisticLearner(BaseLearner):
    """Plans with the most favourable rewards and probabilities within the radii."""

    def __init__(
        self,
        problem: Problem,
        *,
        confidence: str = "practical",
        width: float = 1.0,
        delta: float = 0.1,
        rng: RandomSource = None,
    ) -> None:
        super().__init__(problem, rng=rng)
        self.confidence = Confidence(confidence, width=width, delta=delta)

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        c = self.confidence
        return {"confidence": c.kind, "width": c.width, "delta": c.delta}

    def plan(self) -> Policy:
        """The policy that is best in the best of the plausible worlds."""
        radii = self.confidence.radii(self.lattice, self.way.name, self.t)
        estimates = optimistic_estimates(self.statistics, self.way.weight(self.statistics), radii)
        return self.way.policy(self.lattice, estimates)
