"""One model of the population and the rewards, from every case so far.

    p(φ)      the population, over the F full states ("cells")
    r(a, φ)   the mean reward of each action in each of them

The purchases in a case depend only on what was observed in it, so unobserved values are missing at
random. A likelihood over full states may therefore use every case, with any purchases in any order.

**Population.** The most likely p given n(ψ), the cases that acted in ψ, and `MASS` imagined cases
from the product of the marginals:

    p(φ) ∝ Σ_ψ n(ψ) p(φ | ψ) + MASS · Π_i p(φ_i) + FLOOR / F

The step is repeated a few times whenever a round begins, from the last result (Dempster, Laird,
Rubin: Maximum likelihood from incomplete data via the EM algorithm, 1977).

**Rewards.** Each action has a Gaussian around the mean reward of all actions, with the prior of
`anova.py` and one linear observation Σ_φ p(φ | ψ) r(a, φ) for each state acted in. The equations
are in `_kernels/estimation/joint_rewards.py`.

**Variances of effects.** With a fixed prior, the model mistakes noise for effects and overrates
information. It also mistakes one decisive observation among many for noise. So the variance of the
effect of every set J, with k_J coefficients, is drawn once a round (Gibbs sampling). It is drawn
given a draw of the rewards of all A actions. It is shrunk towards its level (main effects, pairs,
larger sets), and the level towards the first prior:

    s²_level = (Σ_J ‖f_J‖² / F + ν₀ s₀²) / (A Σ_J k_J + ν₀)
    s²_J     ~ (‖f_J‖² / F + ν s²_level) / χ²(A k_J + ν)

**Complete records** (`take`) are cases whose full state is known. Each counts once, in its own
cell, for p and for the rewards of every action. So a log and live cases are combined.

The imagined cases are fixed, and variances stay above a part of the first ones, while counts grow.
So in the limit the counts alone decide.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName, Flags, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import StatisticsError, TooLargeError
from askwise.estimation.anova import (
    LEVELS,
    first_variances,
    inverse_covariance,
    patterns,
    sets_of,
    sums_of_squares,
)
from askwise.estimation.complete_records import CompleteRecords
from askwise.estimation.contrasts import ordered_values
from askwise.estimation.reward_variances import (
    RewardVariances,
    reward_variances,
    varied_as_coins,
)
from askwise.estimation.untried import untried
from askwise.problem import Problem
from askwise.states import Lattice

MOST_CELLS = 512
"""The cost of a round is cubic in the number of cells."""
MASS = 100.0
FLOOR = 1.0
STEPS = 3
"""Steps of EM a round."""
OF_FIRST = 3.0
OF_LEVEL = 8.0
"""ν₀ and ν: the number of coefficients that the first variance, and that of the level, count
for.
"""
LEAST_PART = 0.002
"""A variance stays above this part of its first value, so no effect is excluded."""
MOST_SQUARE = 4.0
"""The mean square of an effect, by the variance of its coefficients, is at most this. Effects on
rewards from 0 to 1 do not come near it. But while no reward is known, each draw rests on the one
before alone, and would wander off.
"""
LEAST_WEIGHT = 1e-9
"""The least weight of a cell in a draw of the population, in cases. So no cell is impossible."""
LEAST_LUCK = 0.3
"""A draw of χ² is at least this part of its mean, because a level of few coefficients would
jump.
"""


def count_cells(problem: Problem) -> int:
    """F = Π_i X_i, the number of full states."""
    return math.prod(len(o.outcomes) for o in problem.observations)


class JointModel:
    """Estimates of p(φ) and r(a, φ). `update` takes in counters; `draw_rewards` draws a world."""

    def __init__(self, lattice: Lattice) -> None:
        cells, actions = count_cells(lattice.problem), len(lattice.problem.actions)
        if cells > MOST_CELLS:
            raise TooLargeError(
                f"the observations have {cells:,} combinations of values, more than the "
                f"{MOST_CELLS:,} for which all of them are modelled together: "
                "use model='additive' or 'auto', or fewer observations or values"
            )
        # given observations lead in a full state, as in every state
        buyable = lattice.buyable
        observations = [*lattice.observations[buyable:], *lattice.observations[:buyable]]
        radices: Integers = np.array([len(o.outcomes) for o in observations], np.int64)
        self.lattice = lattice
        self._digits: Integers = np.stack(np.unravel_index(np.arange(cells), tuple(radices)), 1)
        self.radices = radices
        self.ordered: Integers = np.array([ordered_values(o) for o in observations], np.int64)
        self._order = _cells_by_state(lattice, self._digits)
        self.set_levels, self.set_coefficients = sets_of(radices)
        self._first_variances = first_variances(radices)
        self._most_variances: Floats = MOST_SQUARE / np.maximum(1, self.set_coefficients)
        self.patterns = patterns(self._digits, radices, self.ordered)
        self._begin(cells, actions)

    def _begin(self, cells: int, actions: int) -> None:
        """Sets all estimates to those of a model without data."""
        self.population: Floats = np.full(cells, 1 / cells)
        """p(φ)."""
        self._probability: Floats | None = None
        self.effect_variances: Floats = self._first_variances.copy()
        """s²_J of every set J of observations."""
        self.centre = 0.5
        """The mean reward of all actions."""
        self._factor = np.empty((actions, cells, cells))
        self._mean = np.empty((actions, cells))
        self._whole = np.zeros(cells)
        self.expected: Floats = np.full((actions, cells), 0.5)
        """r(a, φ) as it was last estimated. The variances of rewards are those at these means."""
        self._seen = np.zeros((actions, cells))
        self._earned, self._graded, self._coins = np.zeros((3, actions))
        self._takes_graded = False
        self._records = _Records(np.ones((actions, cells)), *np.full((2, actions, 1), 0.5))

    def apart(self, lattice: Lattice) -> JointModel:
        """Returns a model without data, for the same observations at the prices of a lattice."""
        model = copy.copy(self)
        model.lattice = lattice
        model._begin(len(self._digits), len(self._mean))
        return model

    def take(self, records: CompleteRecords) -> None:
        """Replaces the complete records that the model uses."""
        given = records.digits.shape[1] - self.lattice.buyable
        digits = np.roll(records.digits.astype(np.int64), given, axis=1)
        cell = np.ravel_multi_index(tuple(digits.T), tuple(self.radices))
        from askwise._kernels.estimation.joint_rewards import DOUBT

        cells, actions = len(self._whole), len(self._mean)
        n: Floats = np.bincount(cell, records.counts, cells).astype(np.float64)
        total, graded = np.empty((2, cells, actions))
        for action in range(actions):
            total[:, action] = np.bincount(cell, records.units[:, action] * UNIT, cells)
            graded[:, action] = np.bincount(cell, records.graded[:, action] * UNIT, cells)
        self._earned, self._graded = total.sum(axis=0), graded.sum(axis=0)
        self._takes_graded = bool(self._graded.any())
        self._coins = varied_as_coins(n[:, None], total)
        usual, usually_graded, least = reward_variances(
            n.sum(), self._earned, self._graded, self._coins
        )
        mean = (total + DOUBT * usual) / (n + DOUBT)[:, None]
        rest = (graded + DOUBT * usually_graded) / (n + DOUBT)[:, None]
        part = 1.0 - rest / (mean * (1.0 - mean))
        self._records = _Records(part.T, usual[:, None], least[:, None])
        self._seen = np.ascontiguousarray((total / np.maximum(1.0, n)[:, None]).T)
        self._whole = n

    def update(self, statistics: Statistics, steps: int = STEPS) -> None:
        """Updates the last estimates with the current counters."""
        from askwise._kernels.estimation.joint_population import improve_population
        from askwise._kernels.estimation.joint_rewards import posterior

        if statistics.records:
            raise StatisticsError(
                "complete records that were counted in every state are not cases of their own: "
                "aw.fit(...).learner() hands them over as they are"
            )
        layout = self.lattice.layout
        seen = statistics.action_counts.sum(axis=1)
        expected = self._of_states(self.expected)
        for _ in range(steps):
            improve_population(
                self._order,
                layout.offsets,
                self._digits,
                self.radices,
                seen,
                self._whole,
                MASS,
                FLOOR,
                self.population,
            )
        self._probability = None
        self.centre, variances = self._of_actions(statistics)
        posterior(
            self._order,
            layout.offsets,
            self.population,
            self.probability,
            self.patterns,
            inverse_covariance(self.radices, self.effect_variances, self.ordered),
            statistics.action_counts,
            statistics.reward_sums,
            statistics.graded_sums,
            UNIT,
            self._records.weights(self._whole, self.expected),
            self._seen,
            self.centre,
            expected,
            *variances,
            self._factor,
            self._mean,
        )
        np.clip(self.centre + self._mean, 0.0, 1.0, out=self.expected)

    def _of_actions(self, statistics: Statistics) -> tuple[float, RewardVariances]:
        """The mean reward of all actions, and the variances of the rewards of each."""
        n = statistics.action_counts.sum(axis=0) + self._whole.sum()
        earned = statistics.reward_sums.sum(axis=0) * UNIT + self._earned
        centre = float((((earned + 0.5) / (n + 1.0)).sum() + 0.5) / (len(n) + 1))
        graded, coins = self._graded, self._coins
        if self._takes_graded or statistics.graded_sums.any():
            graded = statistics.graded_sums.sum(axis=0) * UNIT + graded
            own: Floats = np.asarray(statistics.reward_sums * UNIT, np.float64)
            coins = coins + varied_as_coins(statistics.action_counts, own)
        return centre, reward_variances(n, earned, graded, coins)

    @property
    def probability(self) -> Floats:
        """p(ψ) of every state, summed from the population on first use."""
        if self._probability is None:
            from askwise._kernels.estimation.joint_population import marginals

            found = np.empty(self.lattice.size)
            marginals(self._order, self.lattice.layout.offsets, self.population, found)
            self._probability = found
        return self._probability

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """The estimates from which `update` continues."""
        return self.population, self.effect_variances, self.expected

    def restored(self) -> None:
        """Checks these arrays after saved ones overwrote them."""
        if not (self.population > 0).all() or abs(self.population.sum() - 1) > 1e-6:
            raise StatisticsError("the population is not one")
        least = 0.99 * LEAST_PART * self._first_variances
        if not ((self.effect_variances >= least) & (self.effect_variances < 1e200)).all():
            raise StatisticsError("the variances of effects are not all ones that it draws")
        # earlier versions saved larger ones, of learners that waited for their first rewards
        np.minimum(self.effect_variances, self._most_variances, out=self.effect_variances)
        if not ((self.expected >= 0) & (self.expected <= 1)).all():  # nor is NaN
            raise StatisticsError("an expected reward is not from 0 to 1")
        self._probability = None

    def sets_with(self, observation: int) -> Flags:
        """The sets J that contain an observation, by its number in a full state."""
        found: Flags = (np.arange(len(self.set_levels)) >> observation & 1) == 1
        return found

    def evidence_of_cases(self) -> tuple[Floats, Floats]:
        """What the cases added to Λ (upper half) and to Λ E[f], at [a], in the last update."""
        from askwise._kernels.estimation.effect_evidence import evidence_of_cases

        inverse = inverse_covariance(self.radices, self.effect_variances, self.ordered)
        data, target = np.zeros_like(self._factor), np.empty_like(self._mean)
        for action, factor in enumerate(self._factor):
            evidence_of_cases(
                factor, self._mean[action], self.patterns, inverse, data[action], target[action]
            )
        return data, target

    def untried(self, counts: Integers) -> Floats:
        """E[u(a, φ) | ψ] at [ψ, a] (`untried.py`). `counts` are N(a, ψ) at [ψ, a]."""
        given_last = np.roll(self._digits, -len(self.lattice.layout.given), axis=1)
        return self._of_states(untried(self.lattice, given_last, counts).T)

    def mean_rewards(self) -> Floats:
        """E[r(a, ψ)] at [ψ, a]."""
        return self._of_states(self.centre + self._mean)

    def variances(self) -> Floats:
        """The variances of r(a, ψ), at [ψ, a]."""
        from askwise._kernels.estimation.joint_rewards import inverse_upper, variances_of_states

        found = np.empty((len(self._mean), self.lattice.size))
        where = (self._order, self.lattice.layout.offsets, self.population, self.probability)
        inverse = np.empty_like(self._factor[0])
        for action, factor in enumerate(self._factor):
            inverse_upper(factor, inverse)
            variances_of_states(*where, inverse, found[action])
        return np.ascontiguousarray(found.T)

    def draw_rewards(self, rng: np.random.Generator, spread: float) -> Floats:
        """Draws r(a, ψ) of a world, at [ψ, a]. A spread below 1 draws nearer to the mean."""
        return self._of_states(self.centre + self._draw_effects(rng, spread))

    def draw_population(self, rng: np.random.Generator, seen: Integers) -> None:
        """Draws p(φ), given a draw of the cells of the cases that saw only a part of them.

        `seen` is n(ψ), the cases that acted in each state. The next `update` uses the draw.
        """
        from askwise._kernels.estimation.joint_population import product_of_marginals

        p, offsets = self.population, self.lattice.layout.offsets
        cases = np.empty(len(p))
        product_of_marginals(self._digits, self.radices, p, cases)
        cases = self._whole + MASS * cases + FLOOR / len(p)
        for subset, order in enumerate(self._order):
            n = seen[offsets[subset] : offsets[subset + 1]]
            met = np.flatnonzero(n)
            if len(met):
                cells = order.reshape(len(n), -1)[met]
                weight = p[cells] / p[cells].sum(axis=1, keepdims=True)
                cases[cells] += rng.multinomial(n[met], weight)
        drawn = np.maximum(rng.standard_gamma(cases), LEAST_WEIGHT)
        self.population[:] = drawn / drawn.sum()
        self._probability = None

    def draw_effect_variances(self, rng: np.random.Generator, *, grow: bool = True) -> None:
        """Draws s²_J of every set, given a draw of the rewards. The next `update` uses them.

        The mean of n / χ² is n / (n − 2). So a variance of which the cases say nothing grows with
        every draw, up to its limit. If it may not `grow`, the draw is multiplied by (n − 2) / n.
        """
        first, level, coefficients = self._first_variances, self.set_levels, self.set_coefficients
        squares = sums_of_squares(self._draw_effects(rng, 1.0), self.radices, self.ordered)
        free = len(self._mean) * coefficients
        top = np.bincount(level, squares, LEVELS)[level] + OF_FIRST * first
        of_level = top / (np.bincount(level, free, LEVELS)[level] + OF_FIRST)
        n = free + OF_LEVEL
        luck = np.maximum(rng.chisquare(n), LEAST_LUCK * n)
        drawn = (squares + OF_LEVEL * of_level) / luck * (1.0 if grow else (n - 2.0) / n)
        self.effect_variances[:] = np.clip(drawn, LEAST_PART * first, self._most_variances)

    def _draw_effects(self, rng: np.random.Generator, spread: float) -> Floats:
        """Draws the effects f = r − c of such a world, at [a, φ]."""
        from askwise._kernels.estimation.joint_rewards import draw_effects

        cells = np.empty_like(self._mean)
        noise = rng.standard_normal(self._mean.shape)
        draw_effects(self._factor, self._mean, noise, spread, cells)
        return cells

    def weight(self, acquisition: AcquisitionName) -> Floats:
        """p(ψ), once or in every slot. p(ψ' | ψ, i) is proportional to it, from any parent."""
        if acquisition == "simultaneous":
            return self.probability
        return np.repeat(self.probability[:, None], self.lattice.m, 1)

    def _of_states(self, cells: Floats) -> Floats:
        """r(a, ψ) at [ψ, a], from r(a, φ) at [a, φ]."""
        from askwise._kernels.estimation.joint_rewards import rewards_of_states

        states = np.empty((self.lattice.size, len(cells)))
        offsets = self.lattice.layout.offsets
        rewards_of_states(self._order, offsets, self.population, self.probability, cells, states)
        return states


class _Records(NamedTuple):
    """What the variances of complete records depend on, beside the expected rewards."""

    part: Floats
    """The variance of rewards relative to a coin's, at [a, φ]."""
    usual: Floats
    least: Floats

    def weights(self, n: Floats, expected: Floats) -> Floats:
        """N(φ) / v(φ) at [a, φ], as in `joint_rewards.py`, with `DOUBT` rewards in every mean."""
        from askwise._kernels.estimation.joint_rewards import DOUBT

        mean = (n * expected + DOUBT * self.usual) / (n + DOUBT)
        found: Floats = n / np.maximum(self.least, mean * (1.0 - mean) * self.part)
        return np.ascontiguousarray(found)


def _cells_by_state(lattice: Lattice, digits: Integers) -> Integers:
    """For each subset the cells, those of its first state first, at [subset]."""
    order = np.empty((lattice.subsets, len(digits)), np.int64)
    given_last = np.roll(digits, -len(lattice.layout.given), axis=1)
    for subset in range(lattice.subsets):
        order[subset] = np.argsort(lattice.states_of(subset, given_last), kind="stable")
    return order
