"""The classifier: it is fitted on complete records, and buys features when it predicts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
)

from askwise._support.extras import need
from askwise._support.numbers import as_price
from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError
from askwise.integrations.sklearn.beliefs import Table
from askwise.integrations.sklearn.charged_plans import folds_of
from askwise.integrations.sklearn.columns import read_rows, reread_rows, with_rare_as_one
from askwise.integrations.sklearn.deciding import Decided, Learned
from askwise.integrations.sklearn.prices import (
    Prices,
    check_discounts,
    check_panels,
    panels_among,
)
from askwise.integrations.sklearn.rewards import (
    check_reward_values,
    check_weights,
    rewards_of,
    weighed_by_stakes,
)
from askwise.integrations.sklearn.table import (
    choose,
    depth_with_room,
    digits_of,
    observations_of,
    prices_of,
)
from askwise.logs.off_policy import check_confidence
from askwise.policy.scores import Outcomes, Score, score_of
from askwise.problem import Observation, Problem
from askwise.problem.bins import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The reward values that are tried if none are given, relative to the classifier's own."""

MOST_CELLS = 20_000_000
"""The most states × classes that fit into memory, whatever `max_states` is."""


class CostAwareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Buys features one by one while they pay, and chooses each by the values of the others.

    A right prediction is worth `reward_value` in the currency of `costs`. Fitting takes complete
    records, cuts their columns into bins, and plans the next purchase for every state of knowledge.
    Predicting follows the plan, `policy_`, and reads only the cells that it buys.

    costs: The price of each feature: one number, a sequence, or {name: price}, also as a pandas
    Series with the names as its index. 1 each by default.
    panels: `askwise.Panel`s of features that share a fee, which the first one bought pays.
    discounts: Groups of features, each a {name: price}. Once one of a group was bought, every other
    one has that price instead of its cost. `policy_` shows prices without discounts. `spend` and
    all figures of the classifier include them.
    misclassification_costs: The cost of predicting each class (columns) in each class (rows), in
    the order of `classes_`, in the currency of `costs`. A pandas DataFrame names the classes in its
    index and its columns, in any order. `reward_value` is then not used. If acting on a prediction
    costs something, add it to the column of that prediction.
    max_observations: The most features that the plan buys for one case. If all informative features
    have room within `max_states` only in a plan of fewer purchases, but at least three, that plan
    is made, too. The one that expects the higher gain is used.
    further_looks: The most features that are bought beyond the plan, while a model of the bought
    features is uncertain (`integrations/sklearn/further_looks.py`). With 0 the plan alone decides.
    "auto" buys as many as pay. If a mixture model that chooses every look by the row surely gains
    more on rows held back, the plan is not used, and `follows_plan_` is false
    (`integrations/sklearn/looks_by_row.py`).
    reward_value: The worth of a right prediction. With a higher value more is bought.
    max_spend: The highest mean spend of a row. If the plan for `reward_value` spends more, the best
    plan that is found within the budget is used (`integrations/sklearn/budgets.py`).
    bins: The most bins of a feature.
    shrinkage: The number of records for which the states with one feature less count in the
    estimate of a state (`integrations/sklearn/class_estimates.py`). "auto" chooses for each set of
    features the number under which its records are likeliest.
    luck_charge: The charge of a feature, as a multiple of the worth that an uninformative feature
    would seem to have by chance (`planning/advantage.py`).
    categorical_features: "from_dtype" (all columns of a data frame that are neither numbers nor
    dates, or have pandas' type `category`), or a list of names, of places, or of a boolean for each
    column. Categories of fewer than 8 rows share one outcome, "any other", except the four most
    frequent of a column.
    max_states: The most states of a plan. Features are taken in the order of what they add, alone
    and for their price, while their lattice is not larger (`integrations/sklearn/table.py`).

    If a feature had missing cells in the training rows, "missing" is one of its outcomes. A missing
    cell of any other feature is paid for, and the case is classified by its other features. A
    category that was not in the training rows counts as "any other". In a column without that
    outcome it is treated like a missing cell.

    >>> from sklearn.datasets import load_breast_cancer
    >>> cells = load_breast_cancer(as_frame=True)
    >>> classifier = CostAwareClassifier(reward_value=10).fit(cells.data, cells.target)
    >>> print(classifier.policy_.tree())
    buy worst area (1)
    ├─ <690 → 1
    ├─ 690-875 → buy worst concave points (1)
    │  ├─ <0.1458 → 1
    │  └─ >=0.1458 → 0
    └─ >=875 → 0
    >>> round(classifier.cost_, 2)
    1.17
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        panels: Any = (),
        discounts: Any = (),
        misclassification_costs: Any = None,
        max_observations: int = 4,
        further_looks: int | str = "auto",
        reward_value: float = 100.0,
        max_spend: float | None = None,
        bins: int = 4,
        shrinkage: float | str = "auto",
        luck_charge: float = 1.0,
        categorical_features: Any = "from_dtype",
        max_states: int = 100_000,
    ) -> None:
        self.costs = costs
        self.panels = panels
        self.discounts = discounts
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
        """Learns what to buy and what to predict from rows in which every feature is known.

        The `sample_weight` of a row is the number of times that it counts, 1 by default.
        """
        self._check_options()
        columns, cells, labels = read_rows(self, X, y, self.categorical_features)
        check_classification_targets(labels)
        weights = _check_sample_weight(
            sample_weight, cells, dtype=np.float64, ensure_non_negative=True
        )
        check_weights(weights)
        counted = weights > 0
        self.classes_, labels = np.unique(labels[counted], return_inverse=True)
        weights = weights[counted]
        columns, cells = with_rare_as_one(columns, cells[counted], weights)
        table = Table(columns, cells, labels, weights, folds_of(labels), len(self.classes_))
        self._columns = columns
        self._learned = self._learn(table)
        beta = self._problem.reward_value
        self._decider = self._learned.decider(beta, self.max_spend)
        self.policy_ = self._decider.policy
        self.follows_plan_ = not self._decider.is_by_row
        self.cost_ = float(np.average(self._decided(cells).spent, weights=weights))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Returns the class of each row, by the features that are bought for it."""
        return self._guesses(self._decided(self._cells(X)).probability)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Returns the probability of each class, in the order of `classes_`, by the bought
        features.
        """
        return self._decided(self._cells(X)).probability

    def spend(self, X: Any) -> Floats:  # noqa: N803
        """Returns the cost of the features that are bought for each row."""
        return self._decided(self._cells(X)).spent

    def looks(self, X: Any) -> list[tuple[str, ...]]:  # noqa: N803
        """Returns the features that are bought for each row, in the order of purchase."""
        cells = self._cells(X)
        names = self._columns.names
        bought = self._learned.looks(self._decider, cells)
        return [tuple(names[i] for i in row) for row in bought]

    def evaluate(self, X: Any, y: Any, *, confidence: float = 0.95) -> Score:  # noqa: N803
        """Estimates the gain, the reward and the spend on rows that were not used to fit.

        The result has intervals. The reward is the share of right predictions. With a matrix of
        costs M the reward is 1 − M/max M, and the gain is max M − M − the spend.
        """
        check_confidence(confidence)
        cells, labels = self._read_again(X, y)
        decided = self._decided(cells)
        reward = self._learned.rewards[labels, self._chosen(decided.probability)]
        looks = decided.known.sum(axis=1).astype(np.float64)
        ones = np.ones(len(cells))
        found = Outcomes(ones, reward, reward**2, decided.spent, looks, ones)
        return score_of(self._problem, found, confidence)

    def accuracy_against_spend(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        reward_values: Iterable[float] | None = None,
    ) -> list[dict[str, float]]:
        """Returns the accuracy and the mean spend of a case at each of several reward values.

        The result has a dictionary with `reward_value`, `accuracy` and `spend` for each reward
        value. Each is planned anew from the estimates of `fit`, within `max_spend` if it is given.
        With a matrix of costs the reward value is the cost of the dearest mistake, and the other
        mistakes cost in proportion.
        """
        cells, labels = self._read_again(X, y)
        if reward_values is None:
            own = self.policy_.problem.reward_value
            reward_values = [multiple * own for multiple in MULTIPLES]
        rows = []
        for value in check_reward_values(reward_values):
            decider = self._learned.decider(value, self.max_spend)
            decided = self._learned.decide(decider, cells)
            rows.append(
                {
                    "reward_value": value,
                    "accuracy": float(np.mean(self._chosen(decided.probability) == labels)),
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
        """Draws `accuracy_against_spend`, with the reward value at each point."""
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
        """Chooses the features of the plan, and estimates the classes in their states."""
        names, labels, weights = table.columns.names, table.labels, table.weights
        costs = prices_of(self.costs, names)
        panels = check_panels(self.panels, names)
        groups = check_discounts(self.discounts, names, costs)
        beta, rewards = rewards_of(
            self.misclassification_costs, self.reward_value, self.classes_.tolist()
        )
        stakes = weighed_by_stakes(labels, weights, rewards)
        room = min(self.max_states, MOST_CELLS // table.classes)
        made = observations_of(table, stakes, costs, self.bins)
        looks = [(k, look) for k, look in enumerate(made) if look is not None]
        digits = [digits_of(table.cells[:, k], look) for k, look in looks]
        told = digits, labels, stakes, [look for _, look in looks]
        places = {name: k for k, name in enumerate(names)}
        members = tuple((tuple(places[n] for n in p.observations), p.fee) for p in panels)
        prices = Prices(np.array(costs), members, groups)
        is_auto = isinstance(self.further_looks, str)

        def learned(depth: int) -> Learned:
            columns = [looks[i] for i in choose(*told, depth, room)]
            observations = [look.observation for _, look in columns]
            # a problem has at least one observation, even if every column has one value only
            nothing = Observation(names[0], values=["any"], cost=costs[0])
            problem = Problem(
                observations=observations or [nothing],
                actions=[str(label) for label in self.classes_],
                max_observations=min(depth, len(columns)),
                reward_value=beta,
                panels=panels_among(panels, [o.name for o in observations]),
            )
            return Learned(
                table,
                columns,
                problem,
                prices,
                rewards,
                shrinkage=self.shrinkage,
                charge=float(self.luck_charge),
                further_looks=len(names) if is_auto else int(self.further_looks),
            )

        depths = {depth_with_room(*told, self.max_observations, room), self.max_observations}
        both = [learned(depth) for depth in sorted(depths)]
        best = both[0] if len(both) == 1 else max(both, key=lambda one: one.expected_gain(beta))
        self.observations_ = tuple(look.observation for _, look in best.looks_planned)
        self._problem = best.problem
        return best

    def _cells(self, rows: Any) -> Floats:
        check_is_fitted(self)
        return reread_rows(self, self._columns, rows)

    def _decided(self, cells: Floats) -> Decided:
        return self._learned.decide(self._decider, cells)

    def _read_again(self, rows: Any, y: Any) -> tuple[Floats, Integers]:
        """Returns rows that were not used to fit, and the place of the class of each of them."""
        check_is_fitted(self)
        labels = column_or_1d(y).tolist()
        if not labels:
            raise OptionError("y is empty, expected the label of at least one row")
        cells = self._cells(rows)
        if len(labels) != len(cells):
            raise OptionError(f"{len(cells)} rows in X, but {len(labels)} labels in y")
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        for label in labels:
            if label not in places:
                known = ", ".join(map(repr, places))
                raise OptionError(
                    f"y: {label!r} is not a class of the training rows, expected one of: {known}"
                )
        return cells, np.array([places[label] for label in labels], np.int64)

    def _guesses(self, probability: Floats) -> Any:
        return self.classes_[self._chosen(probability)]

    def _chosen(self, probability: Floats) -> Integers:
        """Returns the place of the class with the highest expected reward."""
        chosen: Integers = (probability @ self._learned.rewards).argmax(axis=1)
        return chosen

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
