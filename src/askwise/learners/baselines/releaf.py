"""Relevance learning: one relevant observation for each action, found by pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import UNIT
from askwise.errors import OptionError
from askwise.learners.baselines.fixed_set import (
    digits_in,
    first_observations,
    members_of,
    net_in,
    outcomes_in,
)
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.strategy import Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice


class Relevance(Strategy):
    """A fixed set × one relevant observation for each action × doubling."""

    acquisition = Simultaneous()
    honours_rules = True

    def __init__(self, lattice: Lattice, subset: int, delta: float, tolerance: float) -> None:
        self.subset = subset
        self.delta = delta
        self.tolerance = tolerance
        states = lattice.states(subset)
        self._block = slice(states.start, states.stop)
        self._digits = digits_in(lattice, subset)
        self._outcomes = outcomes_in(lattice, subset)

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns under-explored actions first, then the best by the relevant observations."""
        counts = now.statistics.action_counts[self._block]
        sums = np.asarray(now.statistics.reward_sums[self._block] * UNIT, np.float64)
        actions = np.zeros(lattice.size, np.int16)
        actions[self._block] = self.actions(lattice, counts, sums, now.t)
        unknown = np.full(lattice.context_subsets, math.nan)
        return Policy(SetTable(lattice, self.subset, actions, unknown))

    def actions(self, lattice: Lattice, counts: Integers, sums: Floats, t: int) -> Choices:
        """The action in each state of the set, from N(a, φ) and Σr(a, φ) at [φ, a].

        Costs of actions are subtracted; what is not allowed is not explored.
        """
        least, apart, alone = [], [], []
        for i in range(len(self._outcomes)):
            pairs = [self._grouped((i, j), counts, sums) for j in self._others(i)]
            n, means = (np.array(part) for part in zip(*pairs, strict=True))
            least.append(n.min(axis=0))
            apart.append(means.max(axis=0) - means.min(axis=0))
            alone.append(self._grouped((i,), counts, sums)[1])
        if not alone:  # nothing is seen
            n, mean = self._grouped((), counts, sums)
            least, apart, alone = [n], [0 * mean], [mean]
        explored = np.min(least, axis=0) >= self.enough(t, counts.shape[1])
        relevant = np.argmin(apart, axis=0)
        expected = np.take_along_axis(np.array(alone), relevant[None], 0)[0]
        expected = net_in(lattice, self.subset, expected)
        explored |= expected == -np.inf
        best = expected.argmax(axis=1)
        chosen = np.where(explored.all(axis=1), best, explored.argmin(axis=1))
        return np.asarray(chosen, np.int16)

    def enough(self, t: int, actions: int) -> float:
        """D(t) = 2 log(t A D / δ) / tolerance²: how often each pair must have been seen."""
        types = max(1, len(self._outcomes))
        return 2 * math.log(t * actions * types / self.delta) / self.tolerance**2

    def _others(self, i: int) -> list[int]:
        """The observations that i is paired with; itself, if there is no other."""
        return [j for j in range(len(self._outcomes)) if j != i] or [i]

    def _grouped(
        self, types: tuple[int, ...], counts: Integers, sums: Floats
    ) -> tuple[Integers, Floats]:
        """N and r̂ of each action over the cases with the same values of these observations."""
        key = np.zeros(len(counts), np.int64)
        for i in types:
            key = key * self._outcomes[i] + self._digits[:, i]
        n = np.zeros((key.max() + 1, counts.shape[1]), np.int64)
        total = np.zeros(n.shape)
        np.add.at(n, key, counts)
        np.add.at(total, key, sums)
        return n[key], (total / np.maximum(1, n))[key]


class RELEAF(BaseLearner):
    """Buys a fixed set and finds the one observation in it that is relevant for each action.

    C. Tekin, M. van der Schaar: Discovering, learning and exploiting relevance (2014). For every
    action and every pair of observations (i, j) it keeps r̂(a, x_i, x_j). While the pairs that a
    case shows were seen fewer than D(t) = 2 log(t A D / δ) / tolerance² times with some action, it
    takes that one. Else it takes i as relevant for a whose pairs agree best, and the best action:

        i(a) = argmin_i max_{j, k ≠ i} |r̂(a, x_i, x_j) − r̂(a, x_i, x_k)|,    argmax_a r̂(a, x_i(a)).

    r̂(a, x_i) is the mean over all cases with that value.

    The paper has contexts in intervals; here every value is its own interval. `tolerance` stands
    for the difference of rewards within an interval (L s). The algorithm has no prices, so the set
    is given. Estimates are computed again when a count has doubled. Rewards of cases that exploit
    count too: if only one observation matters they are fair samples.

    observations: the names to buy; by default the first m.
    delta: the probability of a wrong estimate.
    tolerance: the error of rewards that is allowed, from 0 (exclusive) to 1.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = RELEAF(patients.problem, tolerance=0.5)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    24.7
    """

    name = "releaf"

    def __init__(
        self,
        problem: Problem,
        *,
        observations: Sequence[str] | str | None = None,
        delta: float = 0.1,
        tolerance: float = 0.2,
        rng: RandomSource = None,
    ) -> None:
        lattice = lattice_of(problem)
        if not (isinstance(delta, int | float) and 0 < delta < 1):
            raise OptionError(f"delta must be a number between 0 and 1, got {delta!r}")
        if not (isinstance(tolerance, int | float) and 0 < tolerance <= 1):
            raise OptionError(f"tolerance must be a number above 0, up to 1, got {tolerance!r}")
        names = first_observations(problem) if observations is None else observations
        chosen = members_of(lattice, names)
        strategy = Relevance(lattice, lattice.subset(chosen), float(delta), float(tolerance))
        options = {
            "observations": list(lattice.names_of(chosen)),
            "delta": strategy.delta,
            "tolerance": strategy.tolerance,
        }
        super().__init__(lattice, strategy, options, rng=rng)
