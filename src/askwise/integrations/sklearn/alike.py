r"""Values that say the same of the label become one.

With n_c records of class c among those with a value, the value's classes are likely to be drawn
from one distribution near the whole table's p with

    log m(n) = log Γ(s) − log Γ(n + s) + Σ_c log Γ(n_c + s p_c) − log Γ(s p_c),

the marginal likelihood of a Dirichlet prior of s records. Two values are told apart only while that
explains their records better than one value would: the pair whose union gains most,

    log m(n + n') − log m(n) − log m(n'),

is merged, again and again, while it gains. Two values always stay: what tells nothing alone may do
so beside another column.
"""

from __future__ import annotations

import math

import numpy as np

from askwise._support.typing import Floats, Integers

PRIOR_RECORDS = 8.0
"""s: how many records the whole table stands for in one value."""


def merge_alike(counts: Floats) -> Integers:
    """The group of each value, from the (values, classes) records that have it.

    Groups are numbered by their first value. A value without records is put to the largest group.
    """
    totals = counts.sum(axis=1)
    prior = (counts.sum(axis=0) + 0.5) / (totals.sum() + 0.5 * counts.shape[1])
    groups = [[int(v)] for v in np.flatnonzero(totals > 0)]
    tables = [counts[v[0]] for v in groups]
    alone = [_log_marginal(table, prior) for table in tables]
    gains = {
        (a, b): _log_marginal(tables[a] + tables[b], prior) - alone[a] - alone[b]
        for a in range(len(groups))
        for b in range(a + 1, len(groups))
    }
    left = set(range(len(groups)))
    while len(left) > 2:
        (a, b), gain = max(gains.items(), key=lambda item: (item[1], -item[0][0], -item[0][1]))
        if gain <= 0:
            break
        groups[a] += groups[b]
        tables[a] = tables[a] + tables[b]
        alone[a] = _log_marginal(tables[a], prior)
        left.remove(b)
        gains = {pair: g for pair, g in gains.items() if b not in pair}
        for other in left - {a}:
            pair = (min(a, other), max(a, other))
            together = _log_marginal(tables[a] + tables[other], prior)
            gains[pair] = together - alone[a] - alone[other]
    kept = sorted((groups[k] for k in left), key=min)
    largest = max(range(len(kept)), key=lambda k: totals[kept[k]].sum(), default=0)
    group: Integers = np.full(len(counts), largest, np.int64)
    for number, values in enumerate(kept):
        group[values] = number
    return group


def _log_marginal(counts: Floats, prior: Floats) -> float:
    s = PRIOR_RECORDS
    found = math.lgamma(s) - math.lgamma(float(counts.sum()) + s)
    for n, p in zip(counts.tolist(), prior.tolist(), strict=True):
        if n > 0:
            found += math.lgamma(n + s * p) - math.lgamma(s * p)
    return found
