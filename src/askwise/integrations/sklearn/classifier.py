"""The classifier: fit on complete records, buy one feature after the other when predicting."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from askwise._support.extras import need
from askwise._support.numbers import as_price
from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError
from askwise.integrations.sklearn.class_estimates import (
    ClassEstimates,
    count_classes,
    estimate_classes,
)
from askwise.integrations.sklearn.pruning import policy_of
from askwise.integrations.sklearn.table import choose, digits_of, observations_of, prices_of
from askwise.policy import START, Policy
from askwise.problem import Observation, Problem
from askwise.problem.bins import is_number
from askwise.states import Lattice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The reward values that are tried if none are given, relative to the classifier's own."""

MOST_CELLS = 20_000_000
"""States × classes: what fits into memory whatever `max_states` says."""


class Walks(NamedTuple):
    """What happened to each row of a table."""

    states: Integers
    """The state that it was classified in."""
    spent: Floats


class CostAwareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Buys features one by one, each chosen from what the others showed, while they pay.

    A right prediction is worth `reward_value` in the currency of `costs`. Fitting takes complete
    records, cuts their columns into bins and plans what to buy in every state of what may be known;
    predicting follows the plan, `policy_`, and reads nothing but what it buys.

    costs: the price of each feature: one number, a sequence, or {name: price}. 1 each by default.
    max_observations: the most features bought for one case.
    reward_value: what a right prediction is worth; the higher, the more is bought.
    bins: the most bins of a feature.
    shrinkage: how many records of a state it takes to trust them as much as the states with one
    look less (`integrations/sklearn/class_estimates.py`).
    max_states: the most states that are planned for. The features that add most, in themselves and
    for their price, are taken while their lattice is not larger (`integrations/sklearn/table.py`).

    Missing cells (NaN) are an outcome of their own for features that had some when fitted. For
    others a missing cell tells nothing: it is paid, and the case is classified by what is known.

    >>> from sklearn.datasets import load_breast_cancer
    >>> cells = load_breast_cancer(as_frame=True)
    >>> classifier = CostAwareClassifier(reward_value=10).fit(cells.data, cells.target)
    >>> print(classifier.policy_.tree())
    buy worst perimeter (1)
    ├─ <101.5 → 1
    ├─ 101.5-117.8 → buy worst texture (1)
    │  ├─ <23.3 → 1
    │  ├─ 23.3-29.3 → buy mean concave points (1)
    │  │  ├─ <0.027 or 0.027-0.05 → 1
    │  │  └─ 0.05-0.07951 or >=0.07951 → 0
    │  └─ >=29.3 → 0
    └─ >=117.8 → 0
    >>> round(classifier.cost_, 2)
    1.21
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        max_observations: int = 4,
        reward_value: float = 100.0,
        bins: int = 4,
        shrinkage: float = 8.0,
        max_states: int = 200_000,
    ) -> None:
        self.costs = costs
        self.max_observations = max_observations
        self.reward_value = reward_value
        self.bins = bins
        self.shrinkage = shrinkage
        self.max_states = max_states

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  (scikit-learn's name)
        """Learn what to buy and what to predict from rows in which everything is known."""
        self._check_options()
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(labels)
        classes, places = np.unique(labels, return_inverse=True)
        names = self._names()
        prices = prices_of(self.costs, names)
        made = observations_of(table, places, names, prices, self.bins)
        cut = [(k, o) for k, o in enumerate(made) if o is not None]
        digits = [digits_of(table[:, k], o) for k, o in cut]
        most_states = min(self.max_states, MOST_CELLS // len(classes))
        chosen = choose(digits, places, [o for _, o in cut], self.max_observations, most_states)
        observations = tuple(cut[i][1] for i in chosen)
        # a problem has at least one observation, even if nothing can be told apart
        nothing = Observation(names[0], values=["any"], cost=prices[0])
        problem = Problem(
            observations=observations or [nothing],
            actions=[str(label) for label in classes],
            max_observations=min(self.max_observations, len(observations)),
            reward_value=self.reward_value,
        )
        lattice = Lattice(problem)
        taken = np.array([digits[i] for i in chosen], np.int64).reshape(len(chosen), len(table))
        counts = count_classes(lattice, taken, places, len(classes))
        self._estimates: ClassEstimates = estimate_classes(lattice, counts, float(self.shrinkage))
        self._columns = [cut[i][0] for i in chosen]
        self.classes_ = classes
        self.observations_ = observations
        self.policy_ = policy_of(lattice, self._estimates)
        self.cost_ = float(self._walk(self.policy_, table).spent.mean())
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row, by the features that are bought for it."""
        found = self.predict_proba(X)
        return self.classes_[found.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """How likely each class is, in the order of `classes_`, by what was bought."""
        table = self._table(X)
        found: Floats = self._estimates.probability[self._walk(self.policy_, table).states]
        return found

    def spend(self, X: Any) -> Floats:  # noqa: N803
        """What the features that are bought for each row cost."""
        table = self._table(X)
        return self._walk(self.policy_, table).spent

    def accuracy_against_spend(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        reward_values: Iterable[float] | None = None,
    ) -> list[dict[str, float]]:
        """How often it is right and what it spends if a right prediction is worth so much.

        A row for each reward value, planned anew from what was learned in `fit`: the dictionaries
        have `reward_value`, `accuracy` and `spend`, the mean per case.
        """
        table, labels = self._table(X), np.asarray(y)
        if len(labels) != len(table):
            raise OptionError(f"{len(table)} rows in X, but {len(labels)} labels in y")
        if reward_values is None:
            reward_values = [multiple * self.reward_value for multiple in MULTIPLES]
        rows = []
        for value in reward_values:
            problem = msgspec.structs.replace(self.policy_.problem, reward_value=value)
            policy = policy_of(Lattice(problem), self._estimates)
            walks = self._walk(policy, table)
            guesses = self.classes_[self._estimates.probability[walks.states].argmax(axis=1)]
            rows.append(
                {
                    "reward_value": float(value),
                    "accuracy": float(np.mean(guesses == labels)),
                    "spend": float(walks.spent.mean()),
                }
            )
        return rows

    def plot(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        reward_values: Iterable[float] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw `accuracy_against_spend`; each point says what a right answer is worth there."""
        pyplot = need("matplotlib.pyplot", "report")
        rows = self.accuracy_against_spend(X, y, reward_values=reward_values)
        axes: Axes = pyplot.subplots()[1] if ax is None else ax
        rows = sorted(rows, key=lambda row: row["reward_value"])
        spend, accuracy = ([row[name] for row in rows] for name in ("spend", "accuracy"))
        axes.plot(spend, accuracy, marker="o")
        for row in rows:
            axes.annotate(
                as_price(row["reward_value"]),
                (row["spend"], row["accuracy"]),
                xytext=(4, -10),
                textcoords="offset points",
                fontsize="small",
            )
        axes.set_xlabel("spend per case")
        axes.set_ylabel("accuracy")
        return axes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- how it is done --------------------------------------------------------------------------

    def _table(self, rows: Any) -> Floats:
        check_is_fitted(self)
        table: Floats = validate_data(
            self, rows, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        return table

    def _walk(self, policy: Policy, table: Floats) -> Walks:
        """Follow the policy: all rows in one state buy the same, level by level."""
        digits = [
            digits_of(table[:, column], observation)
            for column, observation in zip(self._columns, self.observations_, strict=True)
        ]
        lattice = policy.lattice
        states: Integers = np.full(len(table), START)
        spent = np.zeros(len(table))
        waiting = {START: np.arange(len(table))}
        while waiting:
            state, rows = waiting.popitem()
            for i in policy.looks(state):
                spent[rows] += lattice.costs[i]
                seen = digits[i][rows]
                for digit, child in enumerate(lattice.children(state, i)):
                    there = rows[seen == digit]
                    if len(there):
                        states[there] = child
                        waiting[child] = there
        return Walks(states, spent)

    def _names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{k}" for k in range(self.n_features_in_)]

    def _check_options(self) -> None:
        for name, least in (("max_observations", 0), ("bins", 2), ("max_states", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            if not whole or value < least:
                raise OptionError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        for name in ("reward_value", "shrinkage"):
            value = getattr(self, name)
            if not is_number(value) or value <= 0:
                raise OptionError(f"{name} must be a finite number above 0, got {value!r}")
