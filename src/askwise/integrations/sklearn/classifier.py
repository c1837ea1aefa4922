"""The classifier: fit on complete records, buy one feature after the other when predicting."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from askwise._support.extras import need
from askwise._support.numbers import as_price
from askwise._support.typing import Floats
from askwise.errors import OptionError
from askwise.integrations.sklearn.beliefs import Table
from askwise.integrations.sklearn.charged_plans import folds_of
from askwise.integrations.sklearn.columns import read_rows, reread_rows
from askwise.integrations.sklearn.deciding import Decided, Learned
from askwise.integrations.sklearn.rewards import (
    Prices,
    check_panels,
    panels_among,
    rewards_of,
    weighed_by_stakes,
)
from askwise.integrations.sklearn.table import choose, digits_of, observations_of, prices_of
from askwise.problem import Observation, Problem
from askwise.problem.bins import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The reward values that are tried if none are given, relative to the classifier's own."""

MOST_CELLS = 20_000_000
"""States × classes: what fits into memory whatever `max_states` says."""


class CostAwareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Buys features one by one, each chosen from what the others showed, while they pay.

    A right prediction is worth `reward_value` in the currency of `costs`. Fitting takes complete
    records, cuts their columns into bins and plans what to buy in every state of what may be known;
    predicting follows the plan, `policy_`, and reads nothing but what it buys.

    costs: the price of each feature: one number, a sequence, or {name: price}. 1 each by default.
    panels: `askwise.Panel`s of features that share a fee, which the first one bought pays.
    misclassification_costs: what predicting each class (columns) costs in each class (rows), in the
    order of `classes_`; then mistakes are paid in the currency of `costs`, and `reward_value` is
    not used. What it costs to act on a prediction is added to its column.
    max_observations: the most features bought for one case by the plan.
    further_looks: the most features bought beyond it, where a model of what was bought is unsure
    (`integrations/sklearn/further_looks.py`). 0 is none: then the plan alone decides. "auto" is as
    many as pay.
    reward_value: what a right prediction is worth; the higher, the more is bought.
    max_spend: the most that is spent on a row on average. Where the reward value would have it buy
    more, a lower one is taken.
    bins: the most bins of a feature.
    shrinkage: how many records of a state it takes to trust them as much as the states with one
    look less (`integrations/sklearn/class_estimates.py`); "auto" takes 4, 16 or 64, what earns most
    in cross-validation.
    luck_charge: a look must seem to be worth so many times more than one that tells nothing would
    seem to be by luck (`planning/advantage.py`).
    categorical_features: "from_dtype" (all columns of a data frame that are not numbers), or a list
    of names, of places, or of whether each column is one.
    max_states: the most states that are planned for. The features that add most, in themselves and
    for their price, are taken while their lattice is not larger (`integrations/sklearn/table.py`).

    Missing cells are an outcome of their own for features that had some when fitted. For others a
    missing cell tells nothing: it is paid, and the case is classified by what is known. The same is
    true of a category that was not there when fitted.

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
        panels: Any = (),
        misclassification_costs: Any = None,
        max_observations: int = 4,
        further_looks: int | str = "auto",
        reward_value: float = 100.0,
        max_spend: float | None = None,
        bins: int = 4,
        shrinkage: float | str = 8.0,
        luck_charge: float = 1.0,
        categorical_features: Any = "from_dtype",
        max_states: int = 100_000,
    ) -> None:
        self.costs = costs
        self.panels = panels
        self.misclassification_costs = misclassification_costs
        self.max_observations = max_observations
        self.further_looks = further_looks
        self.reward_value = reward_value
        self.max_spend = max_spend
        self.bins = bins
        self.shrinkage = shrinkage
        self.luck_charge = luck_charge
        self.categorical_features = categorical_features
        self.max_states = max_states

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Learn what to buy and what to predict from rows in which everything is known.

        A row counts as often as its `sample_weight` says, once by default.
        """
        self._check_options()
        columns, cells, labels = read_rows(self, X, y, self.categorical_features)
        check_classification_targets(labels)
        weights = _check_sample_weight(
            sample_weight, cells, dtype=np.float64, ensure_non_negative=True
        )
        counted = weights > 0
        self.classes_, labels = np.unique(labels[counted], return_inverse=True)
        cells, weights = cells[counted], weights[counted]
        table = Table(columns, cells, labels, weights, folds_of(labels), len(self.classes_))
        self._columns = columns
        self._learned = self._learn(table)
        beta = self._problem.reward_value
        self._decider = self._learned.decider(beta, self.max_spend)
        self.policy_ = self._decider.policy
        self.shrinkage_ = self._learned.shrinkage
        self.cost_ = float(np.average(self._decided(cells).spent, weights=weights))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row, by the features that are bought for it."""
        return self._guesses(self._decided(self._cells(X)).probability)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """How likely each class is, in the order of `classes_`, by what was bought."""
        return self._decided(self._cells(X)).probability

    def spend(self, X: Any) -> Floats:  # noqa: N803
        """What the features that are bought for each row cost."""
        return self._decided(self._cells(X)).spent

    def looks(self, X: Any) -> list[tuple[str, ...]]:  # noqa: N803
        """The features that are bought for each row, in the order in which they are."""
        cells = self._cells(X)
        names = self._columns.names
        bought = self._learned.looks(self._decider, cells)
        return [tuple(names[i] for i in row) for row in bought]

    def accuracy_against_spend(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        reward_values: Iterable[float] | None = None,
    ) -> list[dict[str, float]]:
        """How often it is right and what it spends if a right prediction is worth so much.

        A row for each reward value, planned anew from what was learned in `fit`: the dictionaries
        have `reward_value`, `accuracy` and `spend`, the mean per case. With a matrix of costs the
        reward value is what the dearest mistake costs, and the others in proportion.
        """
        cells, labels = self._cells(X), np.asarray(y)
        if len(labels) != len(cells):
            raise OptionError(f"{len(cells)} rows in X, but {len(labels)} labels in y")
        if reward_values is None:
            own = self.policy_.problem.reward_value
            reward_values = [multiple * own for multiple in MULTIPLES]
        rows = []
        for value in reward_values:
            decided = self._learned.decide(self._learned.decider(float(value)), cells)
            rows.append(
                {
                    "reward_value": float(value),
                    "accuracy": float(np.mean(self._guesses(decided.probability) == labels)),
                    "spend": float(decided.spent.mean()),
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

    def _learn(self, table: Table) -> Learned:
        """Choose the features that are planned for, and learn what they say."""
        names, labels, weights = table.columns.names, table.labels, table.weights
        costs = prices_of(self.costs, names)
        panels = check_panels(self.panels, names)
        beta, rewards = rewards_of(self.misclassification_costs, self.reward_value, table.classes)
        stakes = weighed_by_stakes(labels, weights, rewards)
        made = observations_of(table, stakes, costs, self.bins)
        looks = [(k, look) for k, look in enumerate(made) if look is not None]
        digits = [digits_of(table.cells[:, k], look) for k, look in looks]
        chosen = choose(
            digits,
            labels,
            stakes,
            [look for _, look in looks],
            self.max_observations,
            min(self.max_states, MOST_CELLS // table.classes),
        )
        looks = [looks[i] for i in chosen]
        self.observations_ = tuple(look.observation for _, look in looks)
        # a problem has at least one observation, even if nothing can be told apart
        nothing = Observation(names[0], values=["any"], cost=costs[0])
        self._problem = Problem(
            observations=self.observations_ or [nothing],
            actions=[str(label) for label in self.classes_],
            max_observations=min(self.max_observations, len(chosen)),
            reward_value=beta,
            panels=panels_among(panels, [o.name for o in self.observations_]),
        )
        places = {name: k for k, name in enumerate(names)}
        members = tuple((tuple(places[n] for n in p.observations), p.fee) for p in panels)
        is_auto = isinstance(self.further_looks, str)
        return Learned(
            table,
            looks,
            self._problem,
            Prices(np.array(costs), members),
            rewards,
            shrinkage=self.shrinkage,
            charge=float(self.luck_charge),
            further_looks=len(names) if is_auto else int(self.further_looks),
        )

    def _cells(self, rows: Any) -> Floats:
        check_is_fitted(self)
        return reread_rows(self, self._columns, rows)

    def _decided(self, cells: Floats) -> Decided:
        return self._learned.decide(self._decider, cells)

    def _guesses(self, probability: Floats) -> Any:
        """The class that is expected to earn most."""
        return self.classes_[(probability @ self._learned.rewards).argmax(axis=1)]

    def _check_options(self) -> None:
        for name, least in (("max_observations", 0), ("bins", 2), ("max_states", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            if not whole or value < least:
                raise OptionError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        further: Any = self.further_looks
        whole = isinstance(further, numbers.Integral) and not isinstance(further, bool)
        if further != "auto" and (not whole or further < 0):
            raise OptionError(
                f"further_looks must be 'auto' or a whole number of at least 0, got {further!r}"
            )
        if not is_number(self.reward_value) or self.reward_value <= 0:
            raise OptionError(
                f"reward_value must be a finite number above 0, got {self.reward_value!r}"
            )
        shrinkage: Any = self.shrinkage
        if shrinkage != "auto" and (not is_number(shrinkage) or shrinkage <= 0):
            raise OptionError(
                f"shrinkage must be 'auto' or a finite number above 0, got {shrinkage!r}"
            )
        if not is_number(self.luck_charge) or self.luck_charge < 0:
            raise OptionError(
                f"luck_charge must be a finite number of at least 0, got {self.luck_charge!r}"
            )
        spend = self.max_spend
        if spend is not None and (not is_number(spend) or spend < 0):
            raise OptionError(
                f"max_spend must be None or a finite number of at least 0, got {spend!r}"
            )
