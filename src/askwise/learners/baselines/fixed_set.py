"""Buying the same set always, then a bandit in each of its states."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise._support.typing import Choices, Floats, RandomSource
from askwise.counting import Statistics
from askwise.errors import CaseError, OptionError
from askwise.learners.acquisition import Simultaneous
from askwise.learners.base import BaseLearner
from askwise.policy import SimultaneousPolicy
from askwise.problem import Problem


class FixedSet(BaseLearner):
    """Buys the given observations in every case, then plays UCB1 in the state that appears.

    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time analysis of the multiarmed bandit problem
    (2002): the action with the highest r̂(a, ψ) + √(2 log n(ψ) / N(a, ψ)), n(ψ) = Σ_a N(a, ψ). The
    index is renewed when a count has doubled, as in every learner here.

    observations: the names to buy; none by default.
    exploration: scales the radius; 1 is UCB1's.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = FixedSet(patients.problem, observations=["WHO score"], exploration=0.2)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    58.2
    """

    name = "fixed-set"
    way = Simultaneous()

    def __init__(
        self,
        problem: Problem,
        *,
        observations: Sequence[str] | str = (),
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        super().__init__(problem, rng=rng)
        self.exploration = check_exploration(exploration)
        if isinstance(observations, str):
            observations = [observations]
        try:
            chosen = tuple(sorted({self.lattice.to_buy(name) for name in observations}))
        except CaseError as error:
            raise OptionError(f"observations: {error}") from None
        if len(chosen) > self.lattice.m:
            raise OptionError(
                f"observations: {len(chosen)} of them, expected at most {self.lattice.m}"
            )
        self.observations = self.lattice.names_of(chosen)
        self.subset = self.lattice.subset(chosen)

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {"observations": list(self.observations), "exploration": self.exploration}

    def plan(self) -> SimultaneousPolicy:
        """The set, with the actions of the highest index."""
        actions, _ = ucb_actions(self.statistics, self.exploration)
        return SimultaneousPolicy(
            self.lattice, self.subset, actions, np.full(self.lattice.context_subsets, math.nan)
        )


def ucb_actions(statistics: Statistics, exploration: float) -> tuple[Choices, Floats]:
    """The action of the highest UCB1 index in each state, and that index; untried ones first."""
    tried = statistics.action_counts > 0
    n = np.maximum(1, statistics.action_counts)
    seen = np.maximum(1, statistics.action_counts.sum(axis=1, keepdims=True))
    index = statistics.mean_rewards() + exploration * np.sqrt(2 * np.log(seen) / n)
    index[~tried] = np.inf
    return index.argmax(axis=1).astype(np.int16), index.max(axis=1)


def check_exploration(exploration: float) -> float:
    """The option as a float, or an error that names it."""
    if isinstance(exploration, bool) or not (
        isinstance(exploration, int | float) and 0 <= exploration < math.inf
    ):
        raise OptionError(f"exploration must be a finite number of at least 0, got {exploration!r}")
    return float(exploration)
