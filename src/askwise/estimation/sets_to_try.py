"""Sets of observations that are worth trying, by what screening all of them has shown.

What is tried are single observations and pairs, m observations at a time: a set shows all pairs in
it. Of the draws that fill the sets,

    SINGLES              are single observations, in proportion to their Bayes factors,
    EVEN                 are pairs that few cases saw, in proportion to (1 + cases)^−COVERING,
    1 − EVEN − SINGLES   are pairs, in proportion to their Bayes factors to the power of FOCUS,

each divided by its price. So what looks promising is tried again until luck is ruled out, and what
was never seen together comes first. What is settled is not tried: it is in the plan if it pays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

LISTED = 64
"""How many sets are drawn for a round."""

SINGLES = 0.3
EVEN = 0.3
COVERING = 2.0
FOCUS = 3.0

SETTLED = 3.0
"""Log odds from which an effect needs no trying."""

ACTING = 0.01
"""What a try costs beside its looks, in units of β, when prices are compared."""


class Screening(NamedTuple):
    """What is known of every observation and every pair."""

    evidence: Floats
    """(D): the log Bayes factor of each observation."""
    odds: Floats
    """(D): its log odds."""
    pair_evidence: Floats
    """(D, D): the same of each pair i < j."""
    pair_odds: Floats
    pair_cases: Floats
    """(D, D): how many cases saw each pair i < j."""


def sets_to_try(
    rng: np.random.Generator, found: Screening, price: Floats, m: int, reward_value: float
) -> Integers:
    """(LISTED, m): sets of those that have a price."""
    from askwise._kernels.estimation.set_draws import draw_sets

    size = len(price)
    pairs = np.triu_indices(size, 1)  # what has no price is known anyway
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
    """Sets of as many, in which each member comes after what it requires.

    What has no room together with what it requires makes way for the first that has.
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
    """What each gets of the tries: in proportion to weight over price, nothing if settled."""
    if len(price) == 0:
        return price
    weight: Floats = np.where(settled, 0.0, np.exp(log_weight - log_weight.max()) / price)
    return weight / max(float(weight.sum()), 1e-300)
