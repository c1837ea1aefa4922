r"""A sparse additive model with pairs, for many observations of which few matter.

    r(a, ψ) = b_a + Σ_{i in dom ψ} u_i(a, ψ_i) + Σ_{i<j in dom ψ} v_ij(a, ψ_i, ψ_j)

Most u_i and v_ij are zero. All of them are centred under the marginals, so an unknown value adds
nothing. A sweep of Gibbs steps (`_kernels.additive_sweep`) draws which of them are not zero, given
all data. These observations form a shortlist. A small joint model of the shortlist
(`estimation.shortlist`) is passed to the planners.

The model learns from two sources. The rewards by state are in the statistics. The values of
purchases that depended on nothing are tallied beside them. The model also keeps the state of the
Gibbs sampler, and continues from there.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from askwise._support.typing import Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import StatisticsError, TooLargeError
from askwise.estimation.complete_records import CompleteRecords
from askwise.estimation.contrasts import ordered_values, scaled_contrasts
from askwise.estimation.estimates import Estimates
from askwise.estimation.sets_to_try import Screening, sets_to_try, with_what_they_require
from askwise.estimation.shortlist import DrawnModel, Shortlist, ShortlistPrior, draw_model
from askwise.estimation.tabular_posterior import (
    CountedRecords,
    TabularPosterior,
    counted_records,
    joined,
    rows_of,
)
from askwise.problem import Problem
from askwise.states import Lattice
from askwise.states.layout import count_states

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.estimation.additive_groups import Data, EffectPrior

EXPECTED = 4.0
"""The expected number of observations that matter."""

EXPECTED_PAIRS = 2.0
"""The expected number of pairs that matter although neither member does."""

HEREDITY = np.log([2.0, 20.0])
"""The factor by which a pair is more likely if one or both of its members are included."""

MAIN_SPREAD = 0.3
PAIR_SPREAD = 0.7
"""τ of effects that are included."""

SOUGHT_MAIN = 0.15
SOUGHT_PAIR = 0.6
"""τ of effects that are searched for."""

MOST_PAIRS = 24
MOST_STATES = 8_000
MOST_CELLS = 512
"""The limits of a shortlist."""

MOST_TABLED = 20_000
MOST_SUBSETS = 400
"""The limits of a shortlist after complete records."""

LIKELY = -3.0
STRICTER = 1.0
"""The log odds from which an observation or a pair may be on the shortlist. For an observation,
`STRICTER` is added with every tenfold of cases after the first thousand. Early, a plan with what
may matter is a good way to explore. Later it is a loss.
"""

FAINT = 0.06
"""The least probability, for τ, that an observation or a pair on the shortlist matters."""


class AdditivePosterior(NamedTuple):
    """The result of one sweep over all observations: a small problem, and sets to explore."""

    data: Data
    shortlist: Shortlist
    prior: ShortlistPrior
    sets: Integers
    """(n, m): sets to explore."""

    def draw_estimates(self, rng: np.random.Generator, *, spread: float) -> Estimates:
        """Draws estimates for the planners. `spread` scales their uncertainty."""
        return self.draw_model(rng, spread=spread).estimates_in(self.shortlist.lattice)

    def draw_model(self, rng: np.random.Generator, *, spread: float) -> DrawnModel:
        """Draws the same estimates, with the rewards of every action."""
        return draw_model(self.shortlist, self.prior, self.data, rng, spread=spread)


class AdditiveModel:
    """The model of a problem with many observations, kept beside its statistics."""

    def __init__(self, lattice: Lattice) -> None:
        from askwise._kernels.estimation.additive_groups import Effects
        from askwise._kernels.policy.tree_cases import Tallies

        radices = lattice.outcomes
        size, values, actions = len(radices), int(radices.max()), len(lattice.problem.actions)
        self.lattice = lattice
        self.tallies = Tallies(np.zeros((size, values), np.int64))
        self._possible = np.arange(values) < radices[:, None]
        self._basis = np.zeros((size, values, max(1, values - 1)))
        for i, (n, observation) in enumerate(
            zip(radices.tolist(), lattice.observations, strict=True)
        ):
            contrasts = scaled_contrasts(n, ordered_values(observation))
            self._basis[i, :n, : n - 1] = contrasts[1:].T
        self.inside: Integers = np.zeros(size, np.int64)
        """1 for each observation that is included."""
        self.owner: Integers = np.full(MOST_PAIRS, -1)
        """i · D + j of the pair in each slot, −1 for none."""
        self.effects = Effects(
            np.full(actions, 0.5),
            np.zeros((size, values, actions)),
            np.full((size, size), -1),
            np.zeros((MOST_PAIRS, values, values, actions)),
        )
        self.records: CompleteRecords | None = None
        """The complete records that the model began with, if any."""
        self._shortlists: dict[tuple[int, ...], Shortlist] = {}
        self._counted: dict[tuple[int, ...], CountedRecords] = {}

    # --- what it keeps ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats | Integers]:
        """All arrays that the model continues from. The slots of pairs follow from their owners."""
        return {
            "marginal": self.tallies.marginal,
            "inside": self.inside,
            "owner": self.owner,
            "base_effects": self.effects.base,
            "main_effects": self.effects.main,
            "pair_effects": self.effects.pair,
        }

    def restored(self) -> None:
        """Checks the arrays after saved ones overwrote them, and finds the pairs."""
        size = len(self.inside)
        if min(array.min() for array in self.tallies) < 0:
            raise StatisticsError("a tally is negative")
        if (self.tallies.marginal[~self._possible] != 0).any():
            raise StatisticsError("a value was tallied that there is not")
        if not np.isin(self.inside, (0, 1)).all():
            raise StatisticsError("an observation is neither in nor out")
        pairs = self.owner[self.owner >= 0]
        first, second = pairs // size, pairs % size
        apart = len(np.unique(pairs)) == len(pairs)
        if self.owner.min() < -1 or not (apart and (first < second).all() and (first < size).all()):
            raise StatisticsError("what owns a pair's effects is not a pair")
        self.effects.slot[:] = -1
        self.effects.slot[first, second] = np.flatnonzero(self.owner >= 0)

    def use(self, lattice: Lattice) -> None:
        """Uses the same states at other prices."""
        self.lattice = lattice
        self._shortlists.clear()
        self._counted.clear()

    def apart(self) -> AdditiveModel:
        """Returns an independent copy of the model."""
        other = copy.copy(self)
        other.inside, other.owner = self.inside.copy(), self.owner.copy()
        other.effects = type(self.effects)._make(array.copy() for array in self.effects)
        other._shortlists = {}
        other._counted = dict(self._counted)
        return other

    @property
    def alone(self) -> Floats:
        """The cost of each observation alone, including the fees of its panels."""
        tariff = self.lattice.tariff
        return np.array([tariff.cost_of([i]) for i in range(self.lattice.buyable)])

    # --- drawing ---------------------------------------------------------------------------------

    def data(self, statistics: Statistics) -> Data:
        """The rewards by state, in the order of the states, which does not depend on the order of
        arrival.
        """
        from askwise._kernels.estimation.additive_groups import Data
        from askwise._kernels.states.lattices import decode

        visited = statistics.visited
        rows = np.flatnonzero(statistics.action_counts[:visited].any(axis=1))
        states = statistics.states[rows]
        order = np.argsort(states)
        states, rows = states[order], rows[order]
        most = self.lattice.m + len(self.lattice.layout.given)
        seen: Integers = np.empty((len(states), most), np.int64)
        value = np.empty_like(seen)
        decode(self.lattice.layout, states, seen, value)
        counts = statistics.action_counts[rows].astype(np.float64)
        sums: Floats = np.asarray(statistics.reward_sums[rows] * UNIT, np.float64)
        graded: Floats = np.asarray(statistics.graded_sums[rows] * UNIT, np.float64)
        return Data(seen, value, counts, sums, graded)

    def count_log(self, statistics: Statistics) -> None:
        """Tallies the values of single observations in a log.

        Of complete records, every value counts. Of decisions, only the first purchase counts, or a
        set bought at once, because these depended on nothing that had been observed.
        """
        lattice, tallies = self.lattice, self.tallies.marginal
        if self.records is not None:
            for i, digits in enumerate(self.records.digits.T):
                np.add.at(tallies[i], digits, self.records.counts)
        contexts = np.arange(lattice.contexts)
        came = statistics.visits[statistics.rows_of(contexts)]
        for j, stride in enumerate(lattice.layout.given.tolist()):
            digit = contexts // stride % lattice.outcomes[lattice.buyable + j]
            np.add.at(tallies[lattice.buyable + j], digit, came)
        for i in range(lattice.buyable):
            below = lattice.children_of_subset(0, i)  # only that one is known
            rows = statistics.rows_of(below.ravel()).reshape(below.shape)
            seen = statistics.visits[rows] + statistics.transitions[rows, 0]
            if statistics.is_sparse:
                seen = np.where(rows > 0, seen, 0)
            tallies[i, : below.shape[1]] += seen.sum(axis=0)

    def screen(
        self, statistics: Statistics, rng: np.random.Generator
    ) -> AdditivePosterior | TabularPosterior:
        """Sweeps over all observations and pairs, and makes a shortlist of what was drawn."""
        from askwise._kernels.estimation.additive_sweep import draw_base, sweep_mains, sweep_pairs

        met = self.data(statistics)
        data = met if self.records is None else joined(met, rows_of(self.records))
        prior = self.prior(data)
        size = len(self.inside)
        residual = np.empty_like(data.sums)
        odds, pair_evidence, pair_cases = np.empty(size), *np.zeros((2, size, size))
        draw_base(rng, data, prior, self.effects, residual)
        order = rng.permutation(size)
        sweep_mains(rng, data, prior, self.effects, self.inside, order, residual, odds)
        where = (self.effects, self.inside, residual, self.owner)
        sweep_pairs(rng, data, prior, *where, pair_evidence, pair_cases)
        pair_odds = pair_evidence + prior.pair_odds[self.inside[:, None] + self.inside]
        asked = stricter(statistics.cases) if self.records is None else 0.0
        shortlist = self.shortlist(odds, pair_odds, asked)
        found = Screening(odds - prior.main_odds, odds, pair_evidence, pair_odds, pair_cases)
        problem = self.lattice.problem
        sets = sets_to_try(rng, found, self.alone, self.lattice.m, problem.reward_value)
        if self.lattice.has_requirements:
            sets = with_what_they_require(self.lattice, sets)
        if self.records is not None:
            if shortlist.observations not in self._counted:
                self._counted = {shortlist.observations: counted_records(self.records, shortlist)}
            return TabularPosterior(met, shortlist, self._counted[shortlist.observations], sets)
        chosen = np.array(shortlist.observations)
        shortlist_prior = ShortlistPrior(
            [self.marginal(i) for i in shortlist.observations],
            [
                prior.features[i, : self._radix(i), : self._radix(i) - 1]
                for i in shortlist.observations
            ],
            prior.noise,
            MAIN_SPREAD**2 * chance(odds[chosen]),
            PAIR_SPREAD**2 * chance(pair_odds[np.ix_(chosen, chosen)]),
        )
        return AdditivePosterior(data, shortlist, shortlist_prior, sets)

    def shortlist(self, odds: Floats, pair_odds: Floats, stricter: float = 0.0) -> Shortlist:
        """The most likely observations that may matter, as long as their table stays small."""
        size = len(odds)
        above = np.where(np.triu(np.ones((size, size)), 1) > 0, pair_odds, -np.inf)
        in_pairs = np.maximum(above.max(axis=0), above.max(axis=1))
        strength = np.maximum(odds - stricter, in_pairs)
        order = np.argsort(-strength, kind="stable").tolist()
        chosen = self.required
        for i in order:
            if i in chosen:
                continue
            if chosen and strength[i] <= LIKELY and self.records is None:
                break
            needs = self.lattice.needs(i) if i < self.lattice.buyable else []
            more = [*(j for j in needs if j not in chosen), i]
            if not chosen or self._is_small((*chosen, *more)):
                chosen += more
        return self._shortlist_of(tuple(sorted(chosen)))

    @property
    def required(self) -> list[int]:
        """What actions require, with the requirements of that. It is on every shortlist."""
        lattice, found = self.lattice, set[int]()
        if lattice.problem.has_rules:
            for i in lattice.action_needs[lattice.action_needs >= 0].tolist():
                found.update([*lattice.needs(i), i])
        if found and not self._is_small(sorted(found)):
            raise TooLargeError(
                f"actions require {', '.join(lattice.names_of(tuple(sorted(found))))}: more than "
                "the additive model can plan with together; let them require fewer observations"
            )
        return sorted(found)

    def _is_small(self, chosen: Sequence[int]) -> bool:
        """Whether a shortlist of these observations has a small enough table."""
        bought = [self._radix(i) for i in chosen if i < self.lattice.buyable]
        contexts = math.prod(self._radix(i) for i in chosen if i >= self.lattice.buyable)
        m = min(self.lattice.m, len(bought))
        states = contexts * count_states(bought, m)
        if self.records is not None:
            subsets = sum(math.comb(len(bought), k) for k in range(m + 1))
            return states <= MOST_TABLED and subsets <= MOST_SUBSETS
        return contexts * math.prod(bought) <= MOST_CELLS and states <= MOST_STATES

    def prior(self, data: Data) -> EffectPrior:
        """The prior of effects and noise, given the marginals and the mean rewards."""
        from askwise._kernels.estimation.additive_groups import EffectPrior

        size = len(self.inside)
        marginals = (self.tallies.marginal + 1.0) * self._possible
        marginals /= marginals.sum(axis=1, keepdims=True)
        centre = np.einsum("ix,ixk->ik", marginals, self._basis)
        features = (self._basis - centre[:, None, :]) * self._possible[:, :, None]
        n = data.counts.sum(axis=0) + 2.0
        mean = (data.sums.sum(axis=0) + 1.0) / n
        coin = mean * (1.0 - mean)
        part = 1.0 - data.graded.sum(axis=0) / n / coin
        """The measured variance of rewards relative to a coin's. It is exactly 1 if they are 0 or
        1.
        """
        share = min(0.5, EXPECTED / size)
        pair = EXPECTED_PAIRS / max(1.0, size * (size - 1) / 2)
        return EffectPrior(
            features,
            self.lattice.outcomes - 1,
            np.maximum(0.01, coin) * part,
            SOUGHT_MAIN**2,
            SOUGHT_PAIR**2,
            float(np.log(share / (1 - share))),
            np.log(pair) + np.array([0.0, *HEREDITY]),
        )

    def marginal(self, i: int) -> Floats:
        """The distribution of one observation, from purchases that depended on nothing."""
        counted = self.tallies.marginal[i, : self._radix(i)] + 1.0
        return np.asarray(counted / counted.sum())

    def _radix(self, i: int) -> int:
        return int(self.lattice.outcomes[i])

    def _shortlist_of(self, observations: tuple[int, ...]) -> Shortlist:
        if observations not in self._shortlists:
            small = Lattice(self._small_problem(observations))
            strides = np.append(np.cumprod(small.layout.radices[:0:-1])[::-1], 1)
            if len(self._shortlists) >= 256:
                self._shortlists.clear()
            self._shortlists[observations] = Shortlist(observations, small, strides)
        return self._shortlists[observations]

    def _small_problem(self, observations: tuple[int, ...]) -> Problem:
        problem = self.lattice.problem
        chosen = [self.lattice.observations[i] for i in observations]
        names = {o.name for o in chosen}
        panels = [panel.within(names) for panel in problem.panels]
        actions = problem.actions
        if problem.has_rules:  # given values are always known
            chosen = [replace(o, requires=[n for n in o.requires if n in names]) for o in chosen]
            actions = tuple(
                replace(a, requires=[n for n in a.requires if n in names]) for a in actions
            )
        return Problem(
            observations=chosen,
            actions=actions,
            max_observations=min(self.lattice.m, sum(not o.given for o in chosen)),
            reward_value=problem.reward_value,
            rewards=problem.rewards,
            panels=[panel for panel in panels if panel is not None],
        )


def stricter(cases: int) -> float:
    """How much is subtracted from the log odds of an observation after so many cases."""
    return STRICTER * max(0.0, math.log10((1 + cases) / 1_000))


def chance(log_odds: Floats) -> Floats:
    """The probability with these log odds, but never less than FAINT."""
    return np.maximum(FAINT, 1.0 / (1.0 + np.exp(-np.clip(log_odds, -50.0, 50.0))))
