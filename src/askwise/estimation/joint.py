"""One model of all there is to see and to earn, from every case so far.

    p(φ)      the population, over the F full states ("cells")
    r(a, φ)   the mean reward of each action in each of them

What a case looked at depends only on what it had seen, so what it did not see is missing at random:
a likelihood over full states may use every case, whatever it bought and in whatever order.

**Population.** The most likely p given n(ψ), the cases that acted in ψ, and `MASS` imagined cases
from the product of the marginals:

    p(φ) ∝ Σ_ψ n(ψ) p(φ | ψ) + MASS · Π_i p(φ_i) + FLOOR / F

repeated a few times whenever a round begins, each time from where it stood (Dempster, Laird, Rubin:
Maximum likelihood from incomplete data via the EM algorithm, 1977).

**Rewards.** For each action a Gaussian, with the prior of `anova.py` and one linear observation
Σ_φ p(φ | ψ) r(a, φ) for each state acted in; `_kernels/joint_rewards.py` has the equations. The
coordinates θ of the prior follow their own posterior by Metropolis steps in which the rewards are
integrated out.

Imagined cases and priors are fixed while counts grow: in the limit the counts alone decide.
"""

from __future__ import annotations

import math

import numpy as np

from askwise._typing import Floats, Integers
from askwise.errors import TooLargeError
from askwise.estimation.anova import AnovaPrior
from askwise.estimation.estimates import Estimates, Radii
from askwise.lattice import Lattice
from askwise.problem import Problem
from askwise.statistics import UNIT, Statistics

MOST_CELLS = 512
"""The cost of a round is cubic in the number of cells."""
MASS = 100.0
FLOOR = 1.0
STEPS = 3
"""Steps of EM a round."""
STRIDES = (0.3, 1.0)
"""How large a Metropolis step is, in standard deviations of the prior: either."""
PROPOSALS = 2
"""Metropolis steps a round."""


def count_cells(problem: Problem) -> int:
    """F = Π_i X_i, the number of full states."""
    return math.prod(len(o.values) for o in problem.observations)


class JointModel:
    """What is believed of p(φ) and r(a, φ): `update` takes in the counters, `draw` a world."""

    def __init__(self, lattice: Lattice) -> None:
        cells, actions = count_cells(lattice.problem), len(lattice.problem.actions)
        if cells > MOST_CELLS:
            raise TooLargeError(
                f"the observations have {cells:,} combinations of values, more than the "
                f"{MOST_CELLS:,} for which all of them are modelled together"
            )
        radices = lattice.layout.radices
        self.lattice = lattice
        self.population: Floats = np.full(cells, 1 / cells)
        """p(φ)."""
        self.prior = AnovaPrior(radices)
        self.theta: Floats = np.zeros(self.prior.coordinates)
        """Where the Metropolis steps stand."""
        self.probability: Floats = np.empty(lattice.size)
        """p(ψ)."""
        self._digits: Integers = np.stack(np.unravel_index(np.arange(cells), tuple(radices)), 1)
        self._order = _cells_by_state(lattice, self._digits)
        self._patterns = self.prior.patterns(self._digits)
        self._posterior = _Posterior(actions, cells)
        self._proposed = _Posterior(actions, cells)

    def update(self, statistics: Statistics, rng: np.random.Generator) -> None:
        """Go on from the last estimates with the counters of now."""
        from askwise._kernels.joint_population import improve_population, marginals

        layout = self.lattice.layout
        seen = statistics.action_counts.sum(axis=1)
        for _ in range(STEPS):
            improve_population(
                self._order,
                layout.offsets,
                self._digits,
                layout.radices,
                seen,
                MASS,
                FLOOR,
                self.population,
            )
        marginals(self._order, layout.offsets, self.population, self.probability)
        here = self._fit(statistics, self.theta, self._posterior)
        for _ in range(PROPOSALS):
            theta = self._propose(rng)
            there = self._fit(statistics, theta, self._proposed)
            if math.log(1.0 - rng.random()) < there - here:
                here = there
                self.theta[:] = theta
                self._posterior, self._proposed = self._proposed, self._posterior

    def mean_rewards(self) -> Floats:
        """E[r(a, ψ)] at [ψ, a]."""
        return self._of_states(0.5 + self._posterior.mean)

    def draw(self, rng: np.random.Generator, spread: float, *, slots: bool) -> Estimates:
        """A world as the planners take it: a draw if the spread is 1, else so much nearer the mean.

        p(ψ) stands in every slot of a state, or once.
        """
        from askwise._kernels.joint_rewards import draw_rewards

        factor, mean = self._posterior.factor, self._posterior.mean
        cells = np.empty_like(mean)
        draw_rewards(factor, mean, rng.standard_normal(mean.shape), spread, cells)
        reward = self._of_states(cells)
        weight = self.probability
        if slots:  # p(ψ' | ψ, i) is proportional to p(ψ'), from whichever parent
            weight = np.repeat(weight[:, None], self.lattice.m, axis=1)
        action = reward.argmax(axis=1).astype(np.int16)
        return Estimates(reward.max(axis=1), action, weight, Radii())

    def _of_states(self, cells: Floats) -> Floats:
        """r(a, ψ) at [ψ, a], from r(a, φ) at [a, φ]."""
        from askwise._kernels.joint_rewards import rewards_of_states

        states = np.empty((self.lattice.size, len(cells)))
        offsets = self.lattice.layout.offsets
        rewards_of_states(self._order, offsets, self.population, self.probability, cells, states)
        return states

    def _propose(self, rng: np.random.Generator) -> Floats:
        """Another θ: one coordinate moved, or all levels together."""
        theta = self.theta.copy()
        chosen = int(rng.integers(len(theta) + 1))
        step = STRIDES[int(rng.integers(len(STRIDES)))] * rng.standard_normal()
        levels = self.prior.coordinates - len(self._digits[0])
        theta[slice(levels) if chosen == len(theta) else slice(chosen, chosen + 1)] += step
        return theta

    def _fit(self, statistics: Statistics, theta: Floats, out: _Posterior) -> float:
        """The posterior of the rewards under θ; returns log p(rewards | θ) + log p(θ)."""
        from askwise._kernels.joint_rewards import posterior

        inverse, logarithm = self.prior.inverse(theta)
        likelihood = posterior(
            self._order,
            self.lattice.layout.offsets,
            self.population,
            self.probability,
            self._patterns,
            inverse,
            logarithm,
            statistics.action_counts,
            statistics.reward_sums,
            UNIT,
            out.factor,
            out.mean,
        )
        return likelihood - 0.5 * float(theta @ theta)


class _Posterior:
    """Of every action: Λ = UᵀU and E[r − ½]."""

    def __init__(self, actions: int, cells: int) -> None:
        self.factor = np.empty((actions, cells, cells))
        self.mean = np.empty((actions, cells))


def _cells_by_state(lattice: Lattice, digits: Integers) -> Integers:
    """For each subset the cells, those of its first state first, at [subset]."""
    order = np.empty((lattice.subsets, len(digits)), np.int64)
    for subset in range(lattice.subsets):
        members = list(lattice.members(subset))
        state = digits[:, members] @ lattice.layout.strides[subset, : len(members)]
        order[subset] = np.argsort(state, kind="stable")
    return order
