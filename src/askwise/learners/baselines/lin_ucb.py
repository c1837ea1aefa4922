"""A linear bandit on the values of a fixed set."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import UNIT
from askwise.learners.baselines.fixed_set import (
    check_exploration,
    digits_in,
    first_observations,
    members_of,
    net_in,
    outcomes_in,
)
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice

GROWTH = math.log(2.0)
"""A round ends when the determinant has grown by this factor: C = 1 in Abbasi-Yadkori et al."""


class LinearUCB(Strategy):
    """A fixed set × a linear reward for each action × rounds by the determinant."""

    acquisition = Simultaneous()
    honours_rules = True
    doubles = False

    def __init__(self, lattice: Lattice, subset: int, exploration: float) -> None:
        self.subset = subset
        self.exploration = exploration
        states = lattice.states(subset)
        self._block = slice(states.start, states.stop)
        self._features = one_hot(lattice, subset)
        self._planned: Floats = np.zeros(len(lattice.problem.actions))
        """log det A_a when the round was planned."""

    def arrays(self) -> dict[str, Floats]:
        """The determinants at the start of the current round."""
        return {"log_determinants": self._planned}

    @property
    def is_mergeable(self) -> bool:
        """True, because a merge ends the round."""
        return True

    def round_length(self, now: Progress) -> int | None:
        """The round is over as soon as the determinant has doubled."""
        is_over = self._is_over(now.statistics.action_counts[self._block])
        return now.lengths[1] if is_over else None

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The set, with the actions of the highest index in each of its states."""
        counts = now.statistics.action_counts[self._block]
        sums = now.statistics.reward_sums[self._block] * UNIT
        x, grams = self._features, self._grams(counts)
        inverse = np.linalg.inv(grams)
        theta = np.einsum("ade,ea->ad", inverse, x.T @ sums)
        spread = np.sqrt(((x @ inverse) * x).sum(axis=2)).T
        index = x @ theta.T + self.exploration * spread
        if lattice is now.lattice:
            self._planned[:] = log_determinants(grams)
        actions = np.zeros(lattice.size, np.int16)
        actions[self._block] = net_in(lattice, self.subset, index).argmax(axis=1)
        unknown = np.full(lattice.context_subsets, np.nan)
        return Policy(SetTable(lattice, self.subset, actions, unknown))

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Runs a compiled loop for each round. The cases show when the determinant has doubled."""
        now, start = rounds.now, 0
        while start < len(cases):
            policy = rounds.policy_of_the_round()
            states = states_of_set(now.lattice, self.subset, cases.values[start:])
            chosen = policy.actions[states + self._block.start]
            counts = now.statistics.action_counts[self._block]
            low, high = 0, 1  # the round lasts for more than `low` cases, and at most `high`
            while high < len(states) and not self._is_over_after(counts, states, chosen, high):
                low, high = high, 2 * high
            high = min(high, len(states))
            while high - low > 1:
                middle = (low + high) // 2
                if self._is_over_after(counts, states, chosen, middle):
                    high = middle
                else:
                    low = middle
            rounds.run_round_by_round(cases.part(start, start + high))
            start += high

    def _is_over_after(
        self, counts: Integers, states: Integers, chosen: Choices, cases: int
    ) -> bool:
        more = counts.copy()
        np.add.at(more, (states[:cases], chosen[:cases]), 1)
        return self._is_over(more)

    def _is_over(self, counts: Integers) -> bool:
        grown = log_determinants(self._grams(counts)) - self._planned
        return float(grown.sum()) > GROWTH

    def _grams(self, counts: Integers) -> Floats:
        """A_a = I + Σ_ψ N(a, ψ) x xᵀ of every action."""
        x = self._features
        grams: Floats = np.eye(x.shape[1]) + (x.T[None] * counts.T[:, None]) @ x
        return grams


class LinUCB(BaseLearner):
    """Buys a fixed set and fits a linear reward for each action to its values.

    W. Chu, L. Li, L. Reyzin, R. Schapire: Contextual bandits with linear payoff functions (2011):
    with x(ψ) a constant and the values one-hot,

        A_a = I + Σ_ψ N(a, ψ) x xᵀ,    θ_a = A_a⁻¹ Σ_ψ Σr(a, ψ) x,
        index(a, ψ) = θ_aᵀ x + exploration · √(xᵀ A_a⁻¹ x).

    With a block of features for each action this is their one θ and one Gram matrix A, of which the
    A_a are the blocks. The sums are over states, so the counters are all it needs. Renewed when
    det A = Π_a det A_a has doubled since: rarely switching, as in Y. Abbasi-Yadkori, D. Pál, C.
    Szepesvári: Improved algorithms for linear stochastic bandits (2011), Section 5.1.

    observations: the names to buy; by default the first m.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = LinUCB(patients.problem, observations=["WHO score", "age"], exploration=0.2)
    >>> round(simulate(learner, patients, steps=20_000, rng=0).gain.mean())
    70
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
        names = first_observations(problem) if observations is None else observations
        chosen = members_of(lattice, names)
        strategy = LinearUCB(lattice, lattice.subset(chosen), exploration)
        options = {"observations": list(lattice.names_of(chosen)), "exploration": exploration}
        super().__init__(lattice, strategy, options, rng=rng)


def one_hot(lattice: Lattice, subset: int) -> Floats:
    """x(ψ) for every state of the set: 1, then the values one-hot, given ones too."""
    digits = digits_in(lattice, subset)
    columns = [np.ones((len(digits), 1))]
    for j, outcomes in enumerate(outcomes_in(lattice, subset)):
        columns.append(np.eye(outcomes)[digits[:, j]])
    return np.hstack(columns)


def log_determinants(matrices: Floats) -> Floats:
    """Log det of each of these positive definite matrices."""
    found: Floats = np.linalg.slogdet(matrices)[1]
    return found


def states_of_set(lattice: Lattice, subset: int, values: Choices) -> Integers:
    """The index of each case's state among the states of a set, with values as in `Cases`."""
    layout, contexts = lattice.layout, lattice.contexts
    start = values[:, lattice.buyable :].astype(np.int64) @ layout.given
    members = lattice.members(subset)
    strides = layout.strides[subset, : len(members)]
    first = layout.context_offsets[subset * contexts + start]
    shown = values[:, list(members)].astype(np.int64) @ strides
    states: Integers = first + shown - layout.offsets[subset]
    return states
