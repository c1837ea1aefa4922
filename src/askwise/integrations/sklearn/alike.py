r"""Merges values of a column whose classes are distributed alike.

Let n_c of the records with a value be of class c, and let p be the distribution of classes in the
whole table. The log marginal likelihood of these records is

    log m(n) = log Γ(s) − log Γ(n + s) + Σ_c log Γ(n_c + s p_c) − log Γ(s p_c),

under a Dirichlet prior with mean p and the strength of s records. Two values stay separate only if
their records are likelier under two values than under one. In each step the pair with the largest

    log m(n + n') − log m(n) − log m(n')

is merged, while that is positive. At least two values are kept, because a column that is
uninformative alone may be informative together with another column. Records may be given with
several sets of weights, for example their stakes. A pair is then merged only if the gain is
positive under all of them. Few records with large weights count as few records. So under such
weights alone, most other values would seem to be uninformative.

Among many values some are alike by chance, and groups of those would seem to be informative. So
more than `FEW_VALUES` values are grouped by their classes only if, as separate values, they make
their records much likelier than the whole table does, in the mean over all sets of weights and all
`STRENGTHS` s:

    mean of exp(Σ log m(n) − Σ n_c log p_c) > `ODDS`.

If classes do not depend on values, each of these ratios has a mean of at most 1 for any number of
values, provided that no record weighs more than 1. Given the distribution θ of a value, a record of
class c and weight w multiplies a ratio by (θ_c / p_c)^w ≤ 1 + w (θ_c / p_c − 1). The mean of the
right side is 1, because p_c is the share of class c in the weights. So the mean of the ratios
exceeds `ODDS` by chance in at most one of `ODDS` columns. Otherwise the most frequent value is one
outcome, and all others are another. This division does not depend on the classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from askwise._support.typing import Floats, Integers

PRIOR_RECORDS = 8.0
"""s: the number of records that the whole table counts for in the prior of a value."""

FEW_VALUES = 4
"""The number of values that can be grouped in few ways only, so that chance matters little."""
ODDS = 100.0
"""How many times likelier the records must be if many values are kept separate."""
STRENGTHS = (PRIOR_RECORDS, 10 * PRIOR_RECORDS, 100 * PRIOR_RECORDS)
"""The strengths s in that comparison. Small differences between values are likelier under large s.
"""


def merge_alike(*tables: Floats) -> Integers:
    """Returns the group of each value, from the (values, classes) counts of its records.

    Several tables count the same values with different weights, of at most 1 a record. Values stay
    separate if they do so by one of the tables. Groups are numbered by their first value. A value
    without records joins the largest group.
    """
    totals = tables[0].sum(axis=1)
    priors = [(n.sum(axis=0) + 0.5) / (n.sum() + 0.5 * n.shape[1]) for n in tables]
    if (totals > 0).sum() > FEW_VALUES and not _say_something(tables, priors):
        most: Integers = (np.arange(len(totals)) != totals.argmax()).astype(np.int64)
        return most if most[0] == 0 else 1 - most
    groups = [[int(v)] for v in np.flatnonzero(totals > 0)]

    def likely(values: list[int]) -> Floats:
        """Returns log m of the records that have one of these values, by each table."""
        pairs = zip(tables, priors, strict=True)
        return np.array([_log_marginal(n[values].sum(axis=0), prior) for n, prior in pairs])

    alone = [likely(values) for values in groups]

    def gain(a: int, b: int) -> float:
        return float((likely(groups[a] + groups[b]) - alone[a] - alone[b]).min())

    left = list(range(len(groups)))
    gains = {(a, b): gain(a, b) for a in left for b in left if a < b}
    while len(left) > 2:
        (a, b), most_gained = max(
            gains.items(), key=lambda item: (item[1], -item[0][0], -item[0][1])
        )
        if most_gained <= 0:
            break
        groups[a] += groups[b]
        alone[a] = likely(groups[a])
        left.remove(b)
        gains = {pair: g for pair, g in gains.items() if b not in pair}
        for other in left:
            if other != a:
                pair = (min(a, other), max(a, other))
                gains[pair] = gain(*pair)
    kept = sorted((groups[k] for k in left), key=min)
    largest = max(range(len(kept)), key=lambda k: totals[kept[k]].sum(), default=0)
    group: Integers = np.full(len(totals), largest, np.int64)
    for number, values in enumerate(kept):
        group[values] = number
    return group


def _say_something(tables: Sequence[Floats], priors: Sequence[Floats]) -> bool:
    """Whether the records are much likelier if the values are kept separate."""
    ratios = [
        sum(_log_marginal(n, prior, s) for n in counts) - float(counts.sum(axis=0) @ np.log(prior))
        for counts, prior in zip(tables, priors, strict=True)
        for s in STRENGTHS
    ]
    return bool(np.logaddexp.reduce(ratios) - math.log(len(ratios)) > math.log(ODDS))


def _log_marginal(counts: Floats, prior: Floats, s: float = PRIOR_RECORDS) -> float:
    found = math.lgamma(s) - math.lgamma(float(counts.sum()) + s)
    for n, p in zip(counts.tolist(), prior.tolist(), strict=True):
        if n > 0:
            found += math.lgamma(n + s * p) - math.lgamma(s * p)
    return found
