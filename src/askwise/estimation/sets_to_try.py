"""Sets of observations to explore, from the screening of all observations and pairs.

A set has m observations and shows all pairs in it. Of the draws that fill the sets,

    SINGLES              are single observations, in proportion to their Bayes factors,
    EVEN                 are pairs that few cases saw, in proportion to (1 + cases)^−COVERING,
    1 − EVEN − SINGLES   are pairs, in proportion to their Bayes factors to the power of FOCUS,

each divided by its price. So promising observations are explored again until chance is ruled out,
and pairs that were never seen come first. Settled effects are not explored: they are in the plan if
they pay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

LISTED = 64
"""The number of sets that are drawn for a round."""

SINGLES = 0.3
EVEN = 0.3
COVERING = 2.0
FOCUS = 3.0

SETTLED = 3.0
"""The log odds from which an effect is settled."""

ACTING = 0.01
"""The cost of exploring beside the prices of observations, in units of β, when prices are
compared.
"""


class Screening(NamedTuple):
    """The results of screening every observation and every pair."""

    evidence: Floats
    """(D): the log Bayes factor of each observation."""
    odds: Floats
    """(D): the log odds of each observation."""
    pair_evidence: Floats
    """(D, D): the log Bayes factor of each pair i < j."""
    pair_odds: Floats
    pair_cases: Floats
    """(D, D): the number of cases that saw each pair i < j."""


def sets_to_try(
    rng: np.random.Generator, found: Screening, price: Floats, m: int, reward_value: float
) -> Integers:
    """(LISTED, m): sets of those observations that have a price."""
    from askwise._kernels.estimation.set_draws import draw_sets

    size = len(price)
    pairs = np.triu_indices(size, 1)  # what has no price is always known
    dear = price + ACTING * reward_value
    dear_pair = dear[pairs[0]] + dear[pairs[1]]
    cases = found.pair_cases[pairs]
    single = shares(found.evidence[:size], dear, found.odds[:size] > SETTLED)
    promising = shares(
        FOCUS * found.pair_evidence[pairs], dear_pair, found.pair_odds[pairs] > SETTLED
    )
    rare = shares(-COVERING * np.log1p(cases), dear_pair, np.zeros(len(cases), bool))
    of_pairs = EVEN * rare + (1.0 - EVEN - SINGLES) * promising
    cumulative = np.cumsum(np.concatenate([SINGLES * single, of_pairs]))
    sets: Integers = np.empty((LISTED, m), np.int64)
    draw_sets(rng, cumulative, *pairs, size, sets)
    return sets


def with_what_they_require(lattice: Lattice, sets: Integers) -> Integers:
    """Sets of the same size, in which each member comes after what it requires.

    A member that does not fit together with its requirements is replaced by the first that does.
    """
    found = np.empty_like(sets)
    for k, drawn in enumerate(sets.tolist()):
        chosen: list[int] = []
        while len(chosen) < len(drawn):
            for i in (*drawn, *range(lattice.buyable)):
                more = [j for j in (*lattice.needs(i), i) if j not in chosen]
                if len(chosen) + len(more) <= len(drawn):
                    chosen += more
        found[k] = chosen
    return found


def shares(log_weight: Floats, price: Floats, settled: npt.NDArray[np.bool_]) -> Floats:
    """The share of each in the draws: proportional to weight over price, and 0 if settled."""
    if len(price) == 0:
        return price
    weight: Floats = np.where(settled, 0.0, np.exp(log_weight - log_weight.max()) / price)
    return weight / max(float(weight.sum()), 1e-300)
