r"""Beyond the plan: models of what was bought, with its numbers as they are, and further looks.

A plan sees bins, and at most m of them. Where it ends, in leaf ℓ, what was bought is there as
numbers, so a model of them decides, and more may be bought where the case is still open:

1. A model of all columns is fitted, and judged on rows that it was not fitted on. What column i
   would add in a leaf is how much the log loss of its rows grows when i is shuffled, drawn to the
   mean of all rows as if `LEAN` rows said that. In each leaf, columns are ordered by that for their
   price: this is the order in which further looks are bought there.
2. They are bought in steps, after 1, 2, 3, 4, 6, 8, 12, … of them. For each step j there is a model
   of what rows know by then: P_j(c | what was bought).
3. A row goes on from step j while what it may still lose, u = β (1 − max_a Σ_c P_j(c) r(c, a)), is
   above θ_j. From the last step down, θ_j is what would have gained most on rows that the models
   were not fitted on, a row that goes on being worth what it gains later less what that costs.

Nothing is bought beyond the plan where no θ gains more than stopping does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.columns import UNSEEN, Columns

LEAN = 50.0
"""How many rows of all leaves stand behind what a column adds in one of them."""
STEPS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
BOOSTED_FROM = 1_000
"""Rows from which on models are boosted trees; fewer are not enough for them."""
FOLDS = 5
LEAST = 1e-6


class Beliefs:
    """A classifier of rows in which some columns are known, the others are not."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._model: Any = None

    def fit(
        self, table: Floats, known: Flags, labels: Integers, weights: Floats, classes: int
    ) -> Beliefs:
        """Learn from rows with the columns that are known in each."""
        there = known & ~np.isnan(table)
        self._used = np.flatnonzero(there.any(axis=0))
        """A column that no row knows has nothing to be learned from."""
        counts = np.bincount(labels, weights, minlength=classes)
        self._prior = (counts + 1.0 / classes) / (counts.sum() + 1.0)
        self._found = np.flatnonzero(counts)
        if len(self._found) < 2 or not len(self._used):
            return self
        seen = np.where(there, table, 0.0)[:, self._used]
        number = there[:, self._used].sum(axis=0)
        self._middle = seen.sum(axis=0) / number
        off = np.where(there[:, self._used], seen - self._middle, 0.0)
        self._spread = np.sqrt(np.maximum((off**2).sum(axis=0) / number, 1e-24))
        if len(labels) >= BOOSTED_FROM:
            is_category = [self._columns.categories[k] is not None for k in self._used]
            self._model = HistGradientBoostingClassifier(
                categorical_features=is_category if any(is_category) else None,
                early_stopping=False,
                random_state=0,
            )
        else:
            self._model = LogisticRegression(max_iter=300)
        self._model.fit(self._inputs(table, known), labels, sample_weight=weights)
        return self

    def probabilities(self, table: Floats, known: Flags) -> Floats:
        """P(c | what is known) of each row, a column for each class."""
        if self._model is None:
            return np.tile(self._prior, (len(table), 1))
        found = np.full((len(table), len(self._prior)), LEAST)
        found[:, self._found] += self._model.predict_proba(self._inputs(table, known))
        return found / found.sum(axis=1, keepdims=True)

    def _inputs(self, table: Floats, known: Flags) -> Floats:
        """What the model takes: boosting takes holes, a logistic model the mean in their place."""
        is_there = (known & ~np.isnan(table))[:, self._used]
        cells = table[:, self._used]
        if isinstance(self._model, HistGradientBoostingClassifier):
            return np.where(is_there & (cells != UNSEEN), cells, np.nan)
        parts: list[Floats] = []
        for j, k in enumerate(self._used.tolist()):
            categories = self._columns.categories[k]
            here, column = is_there[:, [j]], cells[:, [j]]
            if categories is None:
                parts.append(np.where(here, (column - self._middle[j]) / self._spread[j], 0.0))
            else:
                parts.append(here & (column == np.arange(len(categories))))
        return np.hstack(parts).astype(np.float64)


class Step(NamedTuple):
    """A model of what is known after so many further looks, and when a row goes on from it."""

    looks: int
    beliefs: Beliefs
    threshold: float
    """θ: what may still be lost above which more is bought."""


class FurtherLooks(NamedTuple):
    """What is bought where the plan ends, and what decides there."""

    order: dict[int, list[int]]
    """The columns that are bought further, by leaf."""
    steps: list[Step]
    usual: list[int]
    """The order in leaves that no row came to."""

    def walk(self, table: Floats, known: Flags, leaves: Integers, beta: float, rewards: Floats, price: Any):
        """The probabilities each row ends with, and what its further looks cost; updates `known`."""
        raise NotImplementedError
