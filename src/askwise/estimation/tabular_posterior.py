"""Complete records of many observations are a table of as many as fit, state by state.

A few hundred complete records are better evidence for many states than for effects in a model of
few observations. So they are counted in every state of a larger shortlist. Each state is shrunk
towards those with one observation less (`estimation/shrinkage.py`). Later cases are counted beside
them, in the state that they acted in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.counting import UNIT
from askwise.estimation.complete_records import (
    CompleteRecords,
    agreeing,
    count_in_states,
    weigh_states,
)
from askwise.estimation.estimates import Estimates
from askwise.estimation.shortlist import STEPS, DrawnModel, Shortlist, projected
from askwise.estimation.shrinkage import shrink_to_parents, variance_of_means

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.estimation.additive_groups import Data


class CountedRecords(NamedTuple):
    """The counts of complete records on a shortlist."""

    records: CompleteRecords
    counts: Floats
    """N(ψ)."""
    sums: Floats
    """Σr(a, ψ) at [ψ, a]."""
    graded: Floats
    """Σr(1 − r) at [ψ, a]."""


def counted_records(records: CompleteRecords, shortlist: Shortlist) -> CountedRecords:
    """Complete records counted in every state of a shortlist."""
    own = records.of(shortlist.observations)
    return CountedRecords(own, *count_in_states(shortlist.lattice, own))


class TabularPosterior(NamedTuple):
    """The result of a sweep after complete records: a table of all that fits, and sets to
    explore.
    """

    data: Data
    """All other cases."""
    shortlist: Shortlist
    known: CountedRecords
    sets: Integers
    """(n, m): sets to explore."""

    def draw_estimates(self, rng: np.random.Generator, *, spread: float) -> Estimates:
        """The means, with any spread, because states that are drawn one by one would be
        inconsistent.
        """
        return self.draw_model(rng, spread=spread).estimates_in(self.shortlist.lattice)

    def draw_model(self, rng: np.random.Generator, *, spread: float) -> DrawnModel:
        """Records and cases, state by state."""
        lattice = self.shortlist.lattice
        counts, sums, graded = projected(self.shortlist, self.data)
        records = self.known.records
        weight = agreeing(lattice, records, counts.sum(axis=1), STEPS)
        counts, sums = counts + self.known.counts[:, None], sums + self.known.sums
        reward = shrink_to_parents(lattice, counts, sums)
        variance = variance_of_means(lattice, reward, counts, graded + self.known.graded)
        return DrawnModel(weigh_states(lattice, records, weight), reward, counts, variance)


def rows_of(records: CompleteRecords) -> Data:
    """Complete records as rows in which every observation is known."""
    from askwise._kernels.estimation.additive_groups import Data

    n, size = records.digits.shape
    actions = records.units.shape[1]
    return Data(
        np.tile(np.arange(size), (n, 1)),
        records.digits.astype(np.int64),
        np.repeat(records.counts.astype(np.float64)[:, None], actions, axis=1),
        np.asarray(records.units * UNIT, np.float64),
        np.asarray(records.graded * UNIT, np.float64),
    )


def joined(met: Data, records: Data) -> Data:
    """All rows. Rows in which less is known are padded with −1."""
    missing = records.seen.shape[1] - met.seen.shape[1]
    seen = np.pad(met.seen, ((0, 0), (0, missing)), constant_values=-1)
    value = np.pad(met.value, ((0, 0), (0, missing)))
    own = met._replace(seen=seen, value=value)
    return type(met)(*(np.concatenate(both) for both in zip(own, records, strict=True)))
