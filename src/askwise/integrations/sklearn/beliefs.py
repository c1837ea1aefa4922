"""Models of what was bought: the classes of rows in which some columns are known.

scikit-learn's models, boosted trees where there are rows enough and a logistic model where not,
with the numbers as they are. What they say is calibrated: P ∝ P̂^t, t being what makes rows most
likely that the model was not fitted on.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.columns import UNSEEN, Columns

BOOSTED_FROM = 1_000
"""Rows from which on models are boosted trees; fewer are not enough for them."""
POWERS = np.geomspace(0.25, 2.0, 25)
"""The powers t that are tried."""
RIDGE = 0.05
"""What is added to the variances of columns, each of which is 1 or less."""
LEAST = 1e-6
"""The least probability of a class."""


class Table(NamedTuple):
    """Complete records as numbers, each with the fold that it is judged in."""

    columns: Columns
    cells: Floats
    labels: Integers
    weights: Floats
    fold: Integers
    classes: int

    @property
    def is_large(self) -> bool:
        """Whether there are rows enough for boosted trees of rows with holes."""
        return bool(self.weights.sum() >= BOOSTED_FROM)


class Beliefs(Protocol):
    """How likely classes are in rows in which some columns are known, the others are not."""

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """P(c | what is known), a column for each class."""


class Prior(NamedTuple):
    """Nothing is known but how often each class comes."""

    often: Floats

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """The same in every row."""
        return np.tile(self.often, (len(cells), 1))


class Boosted:
    """Boosted trees of rows with holes where a column is not known."""

    def __init__(self, table: Table, rows: Flags, known: Flags) -> None:
        cells = np.where(known[rows], table.cells[rows], np.nan)
        self._used = np.flatnonzero(~np.isnan(cells).all(axis=0))
        is_category = [table.columns.categories[k] is not None for k in self._used]
        self._model = HistGradientBoostingClassifier(
            categorical_features=is_category if any(is_category) else None,
            early_stopping=False,
            random_state=0,
        )
        self._classes = table.classes
        weights = table.weights[rows]
        self._model.fit(self._inputs(cells, known[rows]), table.labels[rows], weights)

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """P(c | what is known), a column for each class."""
        return _of_all_classes(self._model, self._inputs(cells, known), self._classes)

    def _inputs(self, cells: Floats, known: Flags) -> Floats:
        is_there = known & (cells != UNSEEN) if self._has_codes else known
        return np.where(is_there, cells, np.nan)[:, self._used]

    @property
    def _has_codes(self) -> bool:
        return self._model.categorical_features is not None


class Filled:
    r"""A logistic model of all columns, those that are not known filled with what is expected.

    With Σ the covariance of the columns, known ones k and others u,

        E(x_u | x_k) = μ_u + Σ_uk Σ_kk⁻¹ (x_k − μ_k).

    One model does for whatever is known: small tables are not cut up by what was bought.
    """

    def __init__(self, table: Table, rows: Flags) -> None:
        self._columns, self._classes = table.columns, table.classes
        cells, weights = table.cells[rows], table.weights[rows]
        there = ~np.isnan(cells)
        number = np.maximum(weights @ there, 1e-300)
        self._middle = weights @ np.where(there, cells, 0.0) / number
        off = np.where(there, cells - self._middle, 0.0)
        self._spread = np.sqrt(np.maximum(weights @ off**2 / number, 1e-24))
        inputs, _ = self._inputs(cells, there)
        self._offset = weights @ inputs / weights.sum()
        inputs = inputs - self._offset
        self._covariance = (inputs.T * weights) @ inputs / weights.sum()
        self._covariance += RIDGE * np.eye(len(self._covariance))
        self._model = LogisticRegression(max_iter=300).fit(inputs, table.labels[rows], weights)

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """P(c | what is known), a column for each class."""
        inputs, is_there = self._inputs(cells, known)
        inputs = np.where(is_there, inputs - self._offset, 0.0)
        patterns, place = np.unique(is_there, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            if pattern.any() and not pattern.all():
                rows = np.flatnonzero(place.ravel() == k)
                within = self._covariance[np.ix_(pattern, pattern)]
                across = self._covariance[np.ix_(pattern, ~pattern)]
                expected = inputs[np.ix_(rows, pattern)] @ np.linalg.solve(within, across)
                inputs[np.ix_(rows, ~pattern)] = expected
        return _of_all_classes(self._model, inputs, self._classes)

    def _inputs(self, cells: Floats, known: Flags) -> tuple[Floats, Flags]:
        """Numbers in units of their spread and a 0 or 1 for each category; which are known."""
        parts, flags = [], []
        is_there = known & ~np.isnan(cells)
        for k, categories in enumerate(self._columns.categories):
            column = cells[:, [k]]
            if categories is None:
                part = (column - self._middle[k]) / self._spread[k]
            else:
                part = (column == np.arange(len(categories))).astype(np.float64)
            parts.append(np.where(is_there[:, [k]], part, 0.0))
            flags.append(np.broadcast_to(is_there[:, [k]], part.shape))
        return np.hstack(parts), np.hstack(flags)


def _of_all_classes(model: Any, inputs: Floats, classes: int) -> Floats:
    """What a model says, with a little for classes that it never saw."""
    found = np.full((len(inputs), classes), LEAST)
    found[:, model.classes_] += model.predict_proba(inputs)
    whole: Floats = found / found.sum(axis=1, keepdims=True)
    return whole


def beliefs_of(table: Table, rows: Flags, known: Flags) -> Beliefs:
    """A model of some rows, of what is known in each."""
    counts = np.bincount(table.labels[rows], table.weights[rows], minlength=table.classes)
    there = known[rows] & ~np.isnan(table.cells[rows])
    if (counts > 0).sum() < 2 or not there.any():
        return Prior((counts + 1.0 / table.classes) / (counts.sum() + 1.0))
    if table.is_large:
        return Boosted(table, rows, known)
    return Filled(table, rows)


class Model(Protocol):
    """What says how likely classes are: of rows to fit on without their fold, and of others."""

    @property
    def held(self) -> Floats:
        """(rows, classes), of the rows that it was fitted on."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """(rows, classes), of other rows."""


class CrossFitted(NamedTuple):
    """A model of all rows, and what models without a fold say of its rows."""

    beliefs: Beliefs
    apart: list[Beliefs]
    """A model without each of the folds."""
    power: float
    """t."""
    held: Floats
    """(rows, classes): the calibrated probabilities of each row by the model without its fold."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """P(c | what is known) of other rows."""
        return raised(self.beliefs.probabilities(cells, known), self.power)


class OfLeaves(NamedTuple):
    """What the plan's own estimates say: the same of all rows of a leaf."""

    estimated: Floats
    """(states, classes)."""
    held: Floats
    """(rows, classes): of each row by estimates without its fold."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """p̂(c | ℓ) of other rows."""
        found: Floats = self.estimated[leaves]
        return found


class Mean(NamedTuple):
    """The mean of two models."""

    first: Model
    second: Model

    @property
    def held(self) -> Floats:
        """The mean of what is said of each row without its fold."""
        return (self.first.held + self.second.held) / 2

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """The mean of what both say of other rows."""
        models = (self.first, self.second)
        first, second = (model.probabilities(cells, known, leaves) for model in models)
        return (first + second) / 2


def cross_fitted(table: Table, known: Flags, whole: CrossFitted | None = None) -> CrossFitted:
    """A model of what is known in each row, and its like for each fold.

    Models of a small table do for whatever is known: then those of the `whole` are taken.
    """
    folds = range(int(table.fold.max()) + 1)
    if whole is None or table.is_large:
        apart = [beliefs_of(table, table.fold != k, known) for k in folds]
        beliefs = beliefs_of(table, table.weights > 0, known)
    else:
        apart, beliefs = whole.apart, whole.beliefs
    held = np.empty((len(table.labels), table.classes))
    for k in folds:
        here = table.fold == k
        held[here] = apart[k].probabilities(table.cells[here], known[here])
    power = calibrating_power(held, table.labels, table.weights)
    return CrossFitted(beliefs, apart, power, raised(held, power))


def raised(probabilities: Floats, power: float) -> Floats:
    """P^t, so that it sums to 1."""
    powers = probabilities**power
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found


def calibrating_power(probabilities: Floats, labels: Integers, weights: Floats) -> float:
    """The t of P^t under which the labels are most likely."""
    rows = np.arange(len(labels))
    likely = [weights @ np.log(raised(probabilities, t)[rows, labels]) for t in POWERS]
    return float(POWERS[int(np.argmax(likely))])
