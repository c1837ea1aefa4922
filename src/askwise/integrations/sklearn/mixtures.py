r"""A mixture model: rows belong to hidden classes, within which columns are independent.

Each hidden class k has one label c(k). With cells x cut into bins, and the columns K known,

    P(c | x_K) ∝ Σ_{k: c(k) = c} π_k Π_{i in K} P(x_i | k).

So the model answers for any known columns without another fit. With one hidden class a label it is
naive Bayes. With more, columns may depend on each other within a label. The hidden classes of a
label are found by EM, the best of `STARTS` random starts. P(x_i | k) is shrunk towards the
distribution of the column in all rows, which counts for `PRIOR_ROWS` rows.

The number of bins, and then of hidden classes a label, are those under which the labels of rows
held back are likeliest, given all columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import (
    LEAST,
    Beliefs,
    Fitted,
    Table,
    calibrating_power,
    raised,
)

BINS = (4, 8, 16)
"""The numbers of bins of a column of numbers that are tried."""
MOST_HIDDEN = 8
"""The most hidden classes of a label: 1, 2, 4 and 8 are tried while they are better."""
MOST_CLASSES = 64
"""The most hidden classes of all labels."""
PRIOR_ROWS = 2.0
NO_BIN = 1e-300
"""The probability of a bin that a column does not have. Its logarithm is finite."""
STARTS = 3
FIRST_ROUNDS, MOST_ROUNDS = 15, 100
"""The most rounds of EM from each start, and from the best of them."""
CONVERGED = 1e-3
"""The least increase of a row's mean log likelihood for another round."""
MOST_ROWS = 4_000
"""The approximate number of rows on which hidden classes are found; all rows are then counted."""


class Bins(NamedTuple):
    """The outcomes of columns. A missing cell is an outcome if training rows had missing cells."""

    cuts: tuple[Floats | None, ...]
    """None for a column of categories."""
    is_missing: Flags
    """Whether a missing cell is the last outcome of the column."""
    outcomes: Integers

    def digits(self, cells: Floats) -> Integers:
        """Returns the outcome of each cell; −1 for a cell that tells nothing."""
        found = np.empty(cells.shape, np.int64)
        for i, cuts in enumerate(self.cuts):
            column = cells[:, i]
            none = np.isnan(column)
            if cuts is None:
                place = np.where(none, -1.0, column).astype(np.int64)
            else:
                place = np.searchsorted(cuts, column, side="right")
            found[:, i] = np.where(none, self.outcomes[i] - 1 if self.is_missing[i] else -1, place)
        return found


def bins_of(table: Table, most: int) -> Bins:
    """Returns bins of about equal weight for numbers, and the categories of other columns."""
    cuts: list[Floats | None] = []
    missing: Flags = np.asarray(np.isnan(table.cells).any(axis=0))
    outcomes: Integers = missing.astype(np.int64)
    for i, categories in enumerate(table.columns.categories):
        if categories is not None:
            cuts.append(None)
            outcomes[i] += len(categories)
            continue
        there = ~np.isnan(table.cells[:, i])
        found = _quantiles(table.cells[there, i], table.weights[there], most)
        cuts.append(found)
        outcomes[i] += len(found) + 1
    return Bins(tuple(cuts), missing, outcomes)


def _quantiles(column: Floats, weights: Floats, parts: int) -> Floats:
    """Returns the numbers at which the weighted column is cut into at most so many parts."""
    if not len(column):
        return column
    order = np.argsort(column, kind="stable")
    column, total = column[order], np.cumsum(weights[order])
    at = np.searchsorted(total, np.arange(1, parts) / parts * total[-1])
    cuts = np.unique(column[at.clip(0, len(column) - 1)])
    found: Floats = cuts[cuts > column[0]]
    return found


class Mixture(NamedTuple):
    """The hidden classes of a table, with the distributions of the cells in each."""

    bins: Bins
    labels: Integers
    """c(k)."""
    log_share: Floats
    """log π_k."""
    cells: Floats
    """P(x_i = b | k) at [i, b, k]."""
    log_cells: Floats
    classes: int

    def hidden(self, digits: Integers, known: Flags) -> Floats:
        """Returns P(k | what is known), (rows, hidden classes)."""
        return _hidden(digits, known, self.log_share, self.log_cells)[0]

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """Returns P(c | what is known), a column for each class."""
        of_labels = np.zeros((len(cells), self.classes))
        hidden = self.hidden(self.bins.digits(cells), known)
        for k, label in enumerate(self.labels):
            of_labels[:, label] += hidden[:, k]
        found: Floats = (of_labels + LEAST) / (1 + self.classes * LEAST)
        return found


class Tried(NamedTuple):
    """Mixtures of a table, with the likelihood by which they are chosen."""

    likely: float
    """The log likelihood of the labels of rows held back, given all columns."""
    fitted: Fitted


def fit_mixtures(table: Table) -> Fitted:
    """Returns the mixture of all rows, and one without each fold."""
    every = [bins_of(table, most) for most in BINS]
    tried = [_tried(table, bins, 1) for bins in every]
    place = int(np.argmax([one.likely for one in tried]))
    best, hidden = tried[place], 2
    while hidden <= MOST_HIDDEN and hidden * table.classes <= MOST_CLASSES:
        more = _tried(table, every[place], hidden)
        if more.likely <= best.likely:
            break
        best, hidden = more, 2 * hidden
    return best.fitted


def _tried(table: Table, bins: Bins, hidden: int) -> Tried:
    apart: list[Beliefs] = [
        fit_mixture(table, bins, table.fold != k, hidden) for k in np.unique(table.fold)
    ]
    fitted = Fitted(fit_mixture(table, bins, table.weights > 0, hidden), apart)
    rows, every = np.arange(len(table.labels)), np.ones(table.cells.shape, bool)
    held = fitted.held(table, rows, every, table.cells)
    held = raised(held, calibrating_power(held, table.labels, table.weights))
    return Tried(float(table.weights @ np.log(held[rows, table.labels])), fitted)


def fit_mixture(table: Table, bins: Bins, rows: Flags, hidden: int) -> Mixture:
    """Fits a mixture with so many hidden classes for each label to some rows."""
    digits, weights = bins.digits(table.cells[rows]), table.weights[rows]
    own, prior = table.labels[rows], _prior(digits, weights, bins)
    labels = np.repeat(np.arange(table.classes), hidden)
    belongs = np.zeros((len(own), len(labels)))
    rng = np.random.default_rng(0)
    for label in range(table.classes):
        here = np.flatnonzero(own == label)
        if hidden == 1 or not len(here):
            belongs[here, label * hidden] = 1.0
            continue
        few = np.sort(rng.permutation(here)[: MOST_ROWS // table.classes + 1])
        found = _separated(digits[few], weights[few], prior, hidden, rng)
        log_share, cells = _counted(digits[few], weights[few], found, prior)
        every = np.ones((len(here), digits.shape[1]), bool)
        to, _ = _hidden(digits[here], every, log_share, np.log(cells))
        belongs[here, label * hidden : (label + 1) * hidden] = to
    log_share, cells = _counted(digits, weights, belongs, prior)
    return Mixture(bins, labels, log_share, cells, np.log(cells), table.classes)


def _separated(
    digits: Integers, weights: Floats, prior: Floats, hidden: int, rng: np.random.Generator
) -> Floats:
    """Returns P(k | row) of rows of one label, by EM."""
    best, most = np.empty(0), -np.inf
    for _ in range(STARTS):
        start = rng.dirichlet(np.full(hidden, 0.5), len(digits))
        found, likely = _em(digits, weights, start, prior, FIRST_ROUNDS)
        if likely > most:
            best, most = found, likely
    return _em(digits, weights, best, prior, MOST_ROUNDS)[0]


def _em(
    digits: Integers, weights: Floats, belongs: Floats, prior: Floats, rounds: int
) -> tuple[Floats, float]:
    every, before = np.ones(digits.shape, bool), -np.inf
    for _ in range(rounds):
        log_share, cells = _counted(digits, weights, belongs, prior)
        belongs, rows = _hidden(digits, every, log_share, np.log(cells))
        likely = float(np.average(rows, weights=weights))
        if likely - before < CONVERGED:
            break
        before = likely
    return belongs, likely


def _prior(digits: Integers, weights: Floats, bins: Bins) -> Floats:
    """Returns the distribution of each column in all rows, (columns, bins)."""
    from askwise._kernels.planning.mixtures import count_cells

    width = int(bins.outcomes.max())
    found = np.zeros((len(bins.outcomes), width, 1))
    count_cells(digits, weights, np.ones((len(digits), 1)), found)
    is_outcome = np.arange(width) < bins.outcomes[:, None]
    counts = np.where(is_outcome, found[:, :, 0] + 0.5, 0.0)
    prior: Floats = counts / counts.sum(axis=1, keepdims=True)
    return prior


def _counted(
    digits: Integers, weights: Floats, belongs: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """Returns log π_k, and P(x_i = b | k) at [i, b, k]."""
    from askwise._kernels.planning.mixtures import count_cells

    cells = np.repeat(PRIOR_ROWS * prior[:, :, None], belongs.shape[1], axis=2)
    count_cells(digits, weights, belongs, cells)
    cells = np.maximum(cells / cells.sum(axis=1, keepdims=True), NO_BIN)
    share = weights @ belongs + 0.5
    return np.log(share / share.sum()), cells


def _hidden(
    digits: Integers, known: Flags, log_share: Floats, log_cells: Floats
) -> tuple[Floats, Floats]:
    """Returns P(k | what is known), and the log likelihood of what is known, for each row."""
    from askwise._kernels.planning.mixtures import hidden_classes

    belongs, likely = np.empty((len(digits), len(log_share))), np.empty(len(digits))
    hidden_classes(digits, known, log_share, log_cells, belongs, likely)
    return belongs, likely
