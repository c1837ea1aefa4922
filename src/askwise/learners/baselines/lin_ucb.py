"""A linear bandit on what a fixed set shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askwise._support.typing import Floats, RandomSource
from askwise.counting import UNIT
from askwise.learners.baselines.fixed_set import check_exploration, members_of
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class LinearUCB(Strategy):
    """A fixed set × a linear reward for each action × doubling."""

    acquisition = Simultaneous()

    def __init__(self, lattice: Lattice, subset: int, exploration: float) -> None:
        self.subset = subset
        self.exploration = exploration
        self._features = _one_hot(lattice, subset)

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The set, with the actions of the highest index in each of its states."""
        states = lattice.states(self.subset)
        block = slice(states.start, states.stop)
        counts = now.statistics.action_counts[block]
        sums = now.statistics.reward_sums[block] * UNIT
        x = self._features
        index = np.empty(counts.shape)
        for action in range(counts.shape[1]):
            gram = np.eye(x.shape[1]) + (x * counts[:, action, None]).T @ x
            inverse = np.linalg.inv(gram)
            theta = inverse @ (x.T @ sums[:, action])
            spread = np.sqrt(np.einsum("sd,de,se->s", x, inverse, x))
            index[:, action] = x @ theta + self.exploration * spread
        actions = np.zeros(lattice.size, np.int16)
        actions[block] = index.argmax(axis=1)
        return Policy(
            SetTable(lattice, self.subset, actions, np.full(lattice.context_subsets, np.nan))
        )


class LinUCB(BaseLearner):
    """Buys a fixed set and fits a linear reward for each action to its values.

    W. Chu, L. Li, L. Reyzin, R. Schapire: Contextual bandits with linear payoff functions (2011):
    with x(ψ) a constant and the values one-hot,

        A_a = I + Σ_ψ N(a, ψ) x xᵀ,    θ_a = A_a⁻¹ Σ_ψ Σr(a, ψ) x,
        index(a, ψ) = θ_aᵀ x + exploration · √(xᵀ A_a⁻¹ x).

    The sums are over states, so the counters are all it needs. Renewed when a count has doubled
    (rarely switching, as in Abbasi-Yadkori et al., 2011).

    observations: the names to buy; by default the first m.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = LinUCB(patients.problem, observations=["WHO score", "age"], exploration=0.2)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    69.7
    """

    name = "lin-ucb"

    def __init__(
        self,
        problem: Problem,
        *,
        observations: Sequence[str] | str | None = None,
        exploration: float = 1.0,
        rng: RandomSource = None,
    ) -> None:
        lattice, exploration = lattice_of(problem), check_exploration(exploration)
        if observations is None:
            observations = [o.name for o in problem.observations if not o.given][: problem.m]
        chosen = members_of(lattice, observations)
        strategy = LinearUCB(lattice, lattice.subset(chosen), exploration)
        options = {"observations": list(lattice.names_of(chosen)), "exploration": exploration}
        super().__init__(lattice, strategy, options, rng=rng)


def _one_hot(lattice: Lattice, subset: int) -> Floats:
    """x(ψ) for every state of the set: 1, then the values one-hot, given ones too."""
    states = lattice.states(subset)
    columns = [np.ones((len(states), 1))]
    for j, (i, _) in enumerate(lattice.digits(states[0])):
        digits = [lattice.digits(state)[j][1] for state in states]
        columns.append(np.eye(len(lattice.observations[i].outcomes))[digits])
    return np.hstack(columns)
