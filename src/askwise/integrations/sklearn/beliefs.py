"""Models of the class of a row in which some columns are known.

The models are scikit-learn's: boosted trees if there are enough rows, and otherwise a logistic
model. They use the numbers of the columns, without bins. Their probabilities are calibrated as
P ∝ P̂^t. The power t maximises the likelihood of rows that the model was not fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.columns import UNSEEN, Columns
from askwise.integrations.sklearn.threads import threads_for

BOOSTED_FROM = 1_000
"""The least number of rows for boosted trees."""
POWERS = np.geomspace(0.25, 2.0, 25)
"""The powers t that are tried."""
RIDGE = 0.05
"""The number that is added to the variances of columns, each of which is 1 or less."""
LEAST = 1e-6
"""The least probability of a class."""
MOST_VALUES = 255
"""The most values of a column that boosted trees can distinguish."""
LEAVES = 15
"""The leaves of a boosted tree. With few columns, larger trees overfit."""


class Table(NamedTuple):
    """Complete records as numbers, each with its fold for cross-validation."""

    columns: Columns
    cells: Floats
    labels: Integers
    weights: Floats
    fold: Integers
    classes: int

    @property
    def is_large(self) -> bool:
        """Whether there are enough rows for boosted trees with missing cells."""
        return bool(self.weights.sum() >= BOOSTED_FROM)


class Beliefs(Protocol):
    """A model of the class of rows in which some columns are known and others are not."""

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """P(c | what is known), a column for each class."""


class Prior(NamedTuple):
    """The model without columns: the frequency of each class."""

    often: Floats

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """Returns the same probabilities for every row."""
        return np.tile(self.often, (len(cells), 1))


class Boosted:
    """Boosted trees of rows in which unknown columns are missing.

    With weights, scikit-learn searches for each of a column's 254 quantiles in Python, which takes
    many times longer than the trees. So equal weights are left out. With unequal weights, columns
    with more values are cut into bins here.
    """

    def __init__(self, table: Table, rows: Flags, known: Flags) -> None:
        cells = np.where(known[rows], table.cells[rows], np.nan)
        self._used = np.flatnonzero(~np.isnan(cells).all(axis=0))
        is_category = np.array([table.columns.categories[k] is not None for k in self._used])
        self._has_codes = bool(is_category.any())
        self._model = HistGradientBoostingClassifier(
            categorical_features=is_category if self._has_codes else None,
            early_stopping=False,
            max_leaf_nodes=LEAVES,
            random_state=0,
        )
        self._classes = table.classes
        weights = table.weights[rows]
        is_weighed = bool((weights != weights[0]).any())
        self._cuts = _many_valued(cells[:, self._used], is_category) if is_weighed else {}
        inputs = self._inputs(cells, known[rows])
        with threads_for(inputs.size):
            self._model.fit(inputs, table.labels[rows], weights if is_weighed else None)

    def probabilities(self, cells: Floats, known: Flags) -> Floats:
        """P(c | what is known), a column for each class."""
        return _of_all_classes(self._model, self._inputs(cells, known), self._classes)

    def _inputs(self, cells: Floats, known: Flags) -> Floats:
        is_there = known & (cells != UNSEEN) if self._has_codes else known
        inputs: Floats = np.where(is_there, cells, np.nan)[:, self._used]
        for place, cuts in self._cuts.items():
            column = inputs[:, place]
            inputs[:, place] = np.where(np.isnan(column), np.nan, np.searchsorted(cuts, column))
        return inputs


def _many_valued(inputs: Floats, is_category: Flags) -> dict[int, Floats]:
    """Returns the cuts of the columns of numbers with more than `MOST_VALUES` values."""
    found = {}
    for place in np.flatnonzero(~is_category).tolist():
        there = inputs[~np.isnan(inputs[:, place]), place]
        if len(np.unique(there)) > MOST_VALUES:
            found[place] = np.unique(np.quantile(there, np.arange(1, MOST_VALUES) / MOST_VALUES))
    return found


class Filled:
    r"""A logistic model of all columns, in which unknown columns have their expected value.

    Let Σ be the covariance of the columns, k the known columns and u the unknown ones. Then

        E(x_u | x_k) = μ_u + Σ_uk Σ_kk⁻¹ (x_k − μ_k).

    One model serves every set of known columns. So a small table is not divided by its purchases.
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
        with threads_for(inputs.size):
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
        """Returns scaled numbers, with 0 or 1 for each category, and which of them are known."""
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
    """Returns the probabilities of a model, and a small one for classes that it never saw."""
    found = np.full((len(inputs), classes), LEAST)
    with threads_for(inputs.size):
        found[:, model.classes_] += model.predict_proba(inputs)
    whole: Floats = found / found.sum(axis=1, keepdims=True)
    return whole


def beliefs_of(table: Table, rows: Flags, known: Flags) -> Beliefs:
    """Fits a model to some rows, by the columns that are known in each."""
    counts = np.bincount(table.labels[rows], table.weights[rows], minlength=table.classes)
    there = known[rows] & ~np.isnan(table.cells[rows])
    if (counts > 0).sum() < 2 or not there.any():
        return Prior((counts + 1.0 / table.classes) / (counts.sum() + 1.0))
    if table.is_large:
        return Boosted(table, rows, known)
    return Filled(table, rows)


class Model(Protocol):
    """A cross-fitted model of classes, for the training rows and for other rows."""

    @property
    def held(self) -> Floats:
        """(rows, classes): the probabilities of training rows, by the model without their fold."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """Returns the probabilities of other rows, (rows, classes)."""


class Masks(NamedTuple):
    """The known columns of rows, by a plan made with all rows and by plans made without a fold.

    A plan is fitted to its own training rows: the state in which it ends for such a row depends on
    the class of the row. So each row is judged with the columns that it would know under the plan
    made without it.
    """

    known: Flags
    apart: list[Flags]
    """(rows, columns) by the plan without each of the folds."""

    def own(self, fold: Integers) -> Flags:
        """Returns the known columns of each row, by the plan without its fold."""
        found = np.empty_like(self.known)
        for k, known in enumerate(self.apart):
            found[fold == k] = known[fold == k]
        return found

    def each(self, change: Callable[[Flags], Flags]) -> Masks:
        """Returns masks to which the same change was applied for each plan."""
        return Masks(change(self.known), [change(known) for known in self.apart])

    @property
    def is_all(self) -> bool:
        """Whether all columns are known in all rows."""
        return all(bool(known.all()) for known in (self.known, *self.apart))


class Fitted(NamedTuple):
    """A model of all rows, and a model without each of the folds."""

    beliefs: Beliefs
    apart: list[Beliefs]

    def held(self, table: Table, rows: Integers, known: Flags, cells: Floats) -> Floats:
        """Returns the probabilities of rows by the models without their fold."""
        found = np.empty((len(rows), table.classes))
        for k, beliefs in enumerate(self.apart):
            here = table.fold[rows] == k
            if here.any():
                found[here] = beliefs.probabilities(cells[here], known[here])
        return found


class CrossFitted(NamedTuple):
    """A model that is calibrated for the columns that are known.

    The models without a fold are not kept: they only give `held`, and are five times as large.
    """

    beliefs: Beliefs
    power: float
    """t."""
    held: Floats
    """(rows, classes): the calibrated probabilities of each row by the model without its fold."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """Returns P(c | the known cells) of other rows."""
        return raised(self.beliefs.probabilities(cells, known), self.power)


class OfLeaves(NamedTuple):
    """The plan's own estimates, which are the same for all rows of a leaf."""

    estimated: Floats
    """(states, classes)."""
    held: Floats
    """(rows, classes): the probabilities of each row, by estimates without its fold."""

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """Returns p̂(c | ℓ) of other rows."""
        found: Floats = self.estimated[leaves]
        return found


class Mean(NamedTuple):
    """The mean of two models."""

    first: Model
    second: Model

    @property
    def held(self) -> Floats:
        """The mean probabilities of each training row, by the models without its fold."""
        return (self.first.held + self.second.held) / 2

    def probabilities(self, cells: Floats, known: Flags, leaves: Integers) -> Floats:
        """Returns the mean probabilities of other rows."""
        models = (self.first, self.second)
        first, second = (model.probabilities(cells, known, leaves) for model in models)
        return (first + second) / 2


def fitted_to(table: Table, masks: Masks) -> Fitted:
    """Fits a model to the known columns of each row, and one without each fold."""
    apart = [beliefs_of(table, table.fold != k, known) for k, known in enumerate(masks.apart)]
    return Fitted(beliefs_of(table, table.weights > 0, masks.known), apart)


def cross_fitted(table: Table, fitted: Fitted, masks: Masks) -> CrossFitted:
    """Calibrates models for rows with the known columns of the masks."""
    own = masks.own(table.fold)
    held = fitted.held(table, np.arange(len(own)), own, table.cells)
    power = calibrating_power(held, table.labels, table.weights)
    return CrossFitted(fitted.beliefs, power, raised(held, power))


def raised(probabilities: Floats, power: float) -> Floats:
    """Returns P^t, normalised to a sum of 1."""
    powers = probabilities**power
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found


def calibrating_power(probabilities: Floats, labels: Integers, weights: Floats) -> float:
    """Returns the t under which the labels are likeliest by P^t."""
    rows = np.arange(len(labels))
    likely = [weights @ np.log(raised(probabilities, t)[rows, labels]) for t in POWERS]
    return float(POWERS[int(np.argmax(likely))])
