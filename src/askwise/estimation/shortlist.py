r"""A model of a few observations, the shortlist, drawn from the data.

The cells φ are the full states of the shortlist. Their probabilities p(φ) are the most likely ones
given the visited states, with a prior of some cases on the product of the marginals. Rewards are
linear in features of the cells (see `_kernels.additive_groups`), so the mean reward of a state is
linear in

    F(ψ) = Σ_φ p(φ | ψ) f(φ),     r(a, ψ) = F(ψ) · w_a

with any correlations: an unknown value counts by its expectation. With w ~ N(0, diag τ²) and noise
σ², the posterior of w is normal, and one w is drawn for each action. If a state was visited often,
its own rewards correct the features:

    r̂(a, ψ) = (κ r(a, ψ) + Σr(a, ψ)) / (κ + N(a, ψ)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.typing import Floats, Integers
from askwise.estimation.estimates import Estimates
from askwise.states import Lattice

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.estimation.additive_groups import Data

PRIOR_CASES = 100.0
"""The number of cases that the product of the marginals counts for in p(φ)."""

STEPS = 6
"""Steps of expectation and maximisation."""

OWN_CASES = 60.0
"""κ: the number of cases that the features count for, against a state's own rewards."""

BASE_SPREAD = 0.5
"""τ of the intercepts."""

MOST_FEATURES = 60


class Shortlist(NamedTuple):
    """A few observations of a problem, the lattice of their states, and the strides of cells.

    Given observations come last, but lead in a cell, as in every state.
    """

    observations: tuple[int, ...]
    lattice: Lattice
    strides: Integers

    @property
    def cells(self) -> int:
        """The number of full states of the shortlist."""
        return int(self.lattice.outcomes.prod())

    @property
    def digits(self) -> Integers:
        """(cells, observations): the values in each cell."""
        lattice, inner = self.lattice, int(self.lattice.layout.radices.prod())
        context, rest = np.divmod(np.arange(self.cells)[:, None], inner)
        given = context // lattice.layout.given % lattice.outcomes[lattice.buyable :]
        return np.hstack([rest // self.strides % lattice.layout.radices, given])


class ShortlistPrior(NamedTuple):
    """The prior of the observations on the shortlist, from the screening of all observations."""

    marginals: list[Floats]
    """The distribution of each of them."""
    features: list[Floats]
    """(values, columns) of each of them, centred under its marginal."""
    noise: Floats
    """σ² of each action."""
    variance: Floats
    """τ² of the effects of each of them."""
    pair_variance: Floats
    """At [i, j]: τ² of the effects of each pair i < j."""


class DrawnModel(NamedTuple):
    """Probabilities and rewards in the lattice of a shortlist: a draw, or the means."""

    weight: Floats
    """p(ψ)."""
    reward: Floats
    """r(a, ψ) at [ψ, a]."""
    counts: Floats
    """N(a, ψ): the cases behind a state's own rewards, at [ψ, a]."""
    variance: Floats | None
    """The variance of the rewards, at [ψ, a], if they are means; None for a draw."""

    def estimates_in(self, lattice: Lattice) -> Estimates:
        """The estimates for planners, in that lattice."""
        net = lattice.net(self.reward)
        return Estimates(net.max(axis=1), net.argmax(axis=1).astype(np.int16), self.weight, Radii())


class MetStates(NamedTuple):
    """The visited states of a shortlist, and p(φ)."""

    counts: Floats
    """N(a, ψ), at [ψ, a]."""
    sums: Floats
    """Σr(a, ψ), at [ψ, a]."""
    graded: Floats
    """Σr(1 − r), at [ψ, a]."""
    population: Floats
    """p(φ)."""
    met: Integers
    features: Floats
    """f(φ), at [φ, column]."""
    variance: Floats
    """τ² of each column."""
    expected: Floats
    """F(ψ) of the visited states."""

    @classmethod
    def of(cls, shortlist: Shortlist, prior: ShortlistPrior, data: Data) -> MetStates:
        """From rows, and the prior that screening left."""
        from askwise._kernels.estimation.shortlist import marginalise, maximise

        lattice = shortlist.lattice
        counts, sums, graded = projected(shortlist, data)
        p = np.ones(1)
        given_first = [*prior.marginals[lattice.buyable :], *prior.marginals[: lattice.buyable]]
        for marginal in given_first:
            p = np.outer(p, marginal).ravel()
        visits = counts.sum(axis=1)
        maximise(lattice.layout, shortlist.strides, visits, PRIOR_CASES * p, STEPS, p)
        features, variance = cell_features(shortlist, prior)
        met = np.flatnonzero(visits)
        expected, weight = np.empty((len(met), len(variance))), np.empty(len(met))
        marginalise(lattice.layout, shortlist.strides, p, features, met, weight, expected)
        return cls(counts, sums, graded, p, met, features, variance, expected)

    def draw_cells(self, prior: ShortlistPrior, rng: np.random.Generator, spread: float) -> Floats:
        """Draws r(a, φ) at [φ, a]. `spread` scales the uncertainty."""
        met = self.counts[self.met], self.sums[self.met]
        weights = draw_weights(self.expected, *met, prior.noise, self.variance, rng, spread=spread)
        cells: Floats = np.clip(self.features @ weights.T, 0.0, 1.0)
        return cells

    def of_states(self, shortlist: Shortlist, cells: Floats) -> tuple[Floats, Floats]:
        """p(ψ) of every state, and the means there of the cells' columns."""
        from askwise._kernels.estimation.shortlist import marginalise

        lattice = shortlist.lattice
        weight, found = np.empty(lattice.size), np.empty((lattice.size, cells.shape[1]))
        where = lattice.layout, shortlist.strides, self.population
        marginalise(*where, cells, np.arange(lattice.size), weight, found)
        return weight, found


def draw_model(
    shortlist: Shortlist,
    prior: ShortlistPrior,
    data: Data,
    rng: np.random.Generator,
    *,
    spread: float,
) -> DrawnModel:
    """Draws a model over the lattice of a shortlist. `spread` scales the uncertainty."""
    known = MetStates.of(shortlist, prior, data)
    counts = known.counts
    weight, reward = known.of_states(shortlist, known.draw_cells(prior, rng, spread))
    reward = (OWN_CASES * reward + known.sums) / (OWN_CASES + counts)
    if spread > 0:
        return DrawnModel(weight, reward, counts, None)
    _, of_states = known.of_states(shortlist, known.features)
    doubt = np.empty_like(reward)
    for a, noise in enumerate(prior.noise):
        precision = precision_of(known.expected, counts[known.met, a], noise, known.variance)
        doubt[:, a] = (of_states @ np.linalg.inv(precision) * of_states).sum(axis=1)
    own = np.maximum(0.0, reward * (1 - reward) * counts - known.graded)
    doubt = (OWN_CASES**2 * doubt + own) / (OWN_CASES + counts) ** 2
    return DrawnModel(weight, reward, counts, doubt)


def draw_rewards(
    shortlist: Shortlist, prior: ShortlistPrior, data: Data, rng: np.random.Generator, number: int
) -> list[Floats]:
    """Draws r(a, ψ) of so many worlds by the features alone, at [ψ, a].

    The states' own rewards do not correct them. So the states of a world are consistent, and it can
    be planned in.
    """
    known = MetStates.of(shortlist, prior, data)
    return [known.of_states(shortlist, known.draw_cells(prior, rng, 1.0))[1] for _ in range(number)]


def projected(shortlist: Shortlist, data: Data) -> tuple[Floats, Floats, Floats]:
    """N(a, ψ), Σr(a, ψ) and Σr(1 − r) by the rows' values of the shortlist."""
    from askwise._kernels.estimation.shortlist import project

    shape = (shortlist.lattice.size, data.counts.shape[1])
    counts, sums, graded = np.empty((3, *shape))
    place = np.full(int(data.seen.max(initial=-1)) + 1, -1)
    for j, i in enumerate(shortlist.observations):
        if i < len(place):
            place[i] = j
    project(shortlist.lattice.layout, place, data, counts, sums, graded)
    return counts, sums, graded


def cell_features(shortlist: Shortlist, prior: ShortlistPrior) -> tuple[Floats, Floats]:
    """f(φ) of every cell, and τ² of every column: the intercept, mains, the most likely pairs."""
    digits = shortlist.digits
    mains = [f[digits[:, j]] for j, f in enumerate(prior.features)]
    columns = [np.ones((shortlist.cells, 1)), *mains]
    variance = [BASE_SPREAD**2]
    for main, of_main in zip(mains, prior.variance, strict=True):
        variance += [of_main] * main.shape[1]
    pairs = [(-prior.pair_variance[i, j], i, j) for j in range(len(mains)) for i in range(j)]
    for negative, i, j in sorted(pairs):
        product = (mains[i][:, :, None] * mains[j][:, None, :]).reshape(shortlist.cells, -1)
        if len(variance) + product.shape[1] <= MOST_FEATURES:
            columns.append(product)
            variance += [-negative] * product.shape[1]
    return np.concatenate(columns, axis=1), np.array(variance)


def draw_weights(
    expected: Floats,
    counts: Floats,
    sums: Floats,
    noise: Floats,
    variance: Floats,
    rng: np.random.Generator,
    *,
    spread: float,
) -> Floats:
    """(A, columns): w_a = Λ⁻¹ (Fᵀ(Σr − n/2)/σ² + spread · L z), Λ = L Lᵀ = FᵀnF/σ² + diag τ⁻².

    With z standard normal, Λ⁻¹ L z has the covariance Λ⁻¹. The intercept's prior mean is ½.
    """
    weights = np.empty((counts.shape[1], expected.shape[1]))
    for a, drawn in enumerate(weights):
        n = counts[:, a]
        precision = precision_of(expected, n, noise[a], variance)
        factor = np.linalg.cholesky(precision)
        target = expected.T @ ((sums[:, a] - 0.5 * n) / noise[a])
        noise_of_draw = factor @ rng.standard_normal(len(target))
        drawn[:] = np.linalg.solve(precision, target + spread * noise_of_draw)
    weights[:, 0] += 0.5
    return weights


def precision_of(expected: Floats, counts: Floats, noise: float, variance: Floats) -> Floats:
    """Λ of one action."""
    precision: Floats = (expected.T * (counts / noise)) @ expected + np.diag(1.0 / variance)
    return precision
