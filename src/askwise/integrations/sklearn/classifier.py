"""The classifier: fit on complete records, buy one feature after the other when predicting."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from askwise._support.extras import need
from askwise._support.numbers import as_price
from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError
from askwise.integrations.sklearn.charged_plans import (
    Records,
    Walks,
    best_shrinkage,
    follow,
    policy_of,
)
from askwise.integrations.sklearn.class_estimates import (
    ClassEstimates,
    count_classes,
    estimate_classes,
)
from askwise.integrations.sklearn.columns import read_rows, reread_rows
from askwise.integrations.sklearn.rewards import check_panels, panels_among, rewards_of
from askwise.integrations.sklearn.table import choose, digits_of, observations_of, prices_of
from askwise.policy import Policy
from askwise.problem import Observation, Problem
from askwise.problem.bins import is_number
from askwise.states import Lattice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The reward values that are tried if none are given, relative to the classifier's own."""

SPEND_STEPS = 20
"""How often the interval is halved in which the reward value for `max_spend` is."""

LEAST_VALUE = 1e-9
"""The least reward value of a problem: nothing is bought that costs something."""

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
    max_observations: the most features bought for one case.
    reward_value: what a right prediction is worth; the higher, the more is bought.
    max_spend: the most that is spent on a row on average. Where the reward value would have it buy
    more, a lower one is taken.
    bins: the most bins of a feature.
    shrinkage: how many records of a state it takes to trust them as much as the states with one
    look less (`integrations/sklearn/class_estimates.py`); "auto" takes what earns most in
    cross-validation.
    branch_charge: how much a look is charged for its branches, so that it does not pick lucky ones
    (`integrations/sklearn/charged_plans.py`).
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
    >>> round(classifier.cost_, 2)
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        panels: Any = (),
        misclassification_costs: Any = None,
        max_observations: int = 4,
        reward_value: float = 100.0,
        max_spend: float | None = None,
        bins: int = 4,
        shrinkage: float | str = "auto",
        branch_charge: float = 1.0,
        categorical_features: Any = "from_dtype",
        max_states: int = 200_000,
    ) -> None:
        self.costs = costs
        self.panels = panels
        self.misclassification_costs = misclassification_costs
        self.max_observations = max_observations
        self.reward_value = reward_value
        self.max_spend = max_spend
        self.bins = bins
        self.shrinkage = shrinkage
        self.branch_charge = branch_charge
        self.categorical_features = categorical_features
        self.max_states = max_states

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Learn what to buy and what to predict from rows in which everything is known.

        A row counts as often as its `sample_weight` says, once by default.
        """
        self._check_options()
        self._table_columns, table, labels = read_rows(self, X, y, self.categorical_features)
        check_classification_targets(labels)
        weights = _check_sample_weight(
            sample_weight, table, dtype=np.float64, ensure_non_negative=True
        )
        counted = weights > 0
        if not counted.any():
            raise OptionError("sample_weight: no row has a weight above 0")
        table, labels, weights = table[counted], labels[counted], weights[counted]
        self.classes_, places = np.unique(labels, return_inverse=True)
        beta, self._rewards = rewards_of(
            self.misclassification_costs, self.reward_value, len(self.classes_)
        )
        self._learn(table, places, weights, beta)
        self.policy_ = self._plan(table, weights, beta)
        self.cost_ = float(np.average(self._walk(self.policy_, table).spent, weights=weights))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The class of each row, by the features that are bought for it."""
        states = self._walk(self.policy_, self._table(X)).states
        return self.classes_[self.policy_.actions[states]]

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
        have `reward_value`, `accuracy` and `spend`, the mean per case. With a matrix of costs the
        reward value is what the dearest mistake costs, and the others in proportion.
        """
        table, labels = self._table(X), np.asarray(y)
        if len(labels) != len(table):
            raise OptionError(f"{len(table)} rows in X, but {len(labels)} labels in y")
        if reward_values is None:
            own = self.policy_.problem.reward_value
            reward_values = [multiple * own for multiple in MULTIPLES]
        rows = []
        for value in reward_values:
            policy = self._policy_at(float(value))
            walks = self._walk(policy, table)
            guesses = self.classes_[policy.actions[walks.states]]
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

    def _learn(self, table: Floats, labels: Integers, weights: Floats, beta: float) -> None:
        """Choose the features that are planned for, and estimate the classes in every state."""
        names = self._table_columns.names
        prices = prices_of(self.costs, names)
        panels = check_panels(self.panels, names)
        made = observations_of(table, labels, weights, self._table_columns, prices, self.bins)
        looks = [(k, look) for k, look in enumerate(made) if look is not None]
        digits = [digits_of(table[:, k], look) for k, look in looks]
        most_states = min(self.max_states, MOST_CELLS // len(self.classes_))
        among = [look for _, look in looks]
        chosen = choose(digits, labels, weights, among, self.max_observations, most_states)
        self._looks = [looks[i] for i in chosen]
        self.observations_ = tuple(look.observation for _, look in self._looks)
        # a problem has at least one observation, even if nothing can be told apart
        nothing = Observation(names[0], values=["any"], cost=prices[0])
        self._problem = Problem(
            observations=self.observations_ or [nothing],
            actions=[str(label) for label in self.classes_],
            max_observations=min(self.max_observations, len(chosen)),
            reward_value=beta,
            panels=panels_among(panels, [o.name for o in self.observations_]),
        )
        lattice = Lattice(self._problem)
        taken = np.array([digits[i] for i in chosen], np.int64).reshape(len(chosen), len(table)).T
        records = Records(np.ascontiguousarray(taken), labels, weights)
        counts = count_classes(lattice, *records, len(self.classes_))
        self.shrinkage_ = (
            best_shrinkage(lattice, records, counts, self._rewards, self.branch_charge)
            if isinstance(self.shrinkage, str)
            else float(self.shrinkage)
        )
        self._estimates: ClassEstimates = estimate_classes(lattice, counts, self.shrinkage_)

    def _plan(self, table: Floats, weights: Floats, beta: float) -> Policy:
        """The policy at β, or at the largest reward value that spends no more than may be spent."""

        def spend(policy: Policy) -> float:
            return float(np.average(self._walk(policy, table).spent, weights=weights))

        policy = self._policy_at(beta)
        if self.max_spend is None or spend(policy) <= self.max_spend:
            return policy
        low, high = 0.0, beta
        policy = self._policy_at(LEAST_VALUE)
        for _ in range(SPEND_STEPS):
            middle = (low + high) / 2
            tried = self._policy_at(max(middle, LEAST_VALUE))
            if spend(tried) <= self.max_spend:
                low, policy = middle, tried
            else:
                high = middle
        return policy

    def _policy_at(self, beta: float) -> Policy:
        """The best policy if a unit of reward is worth β."""
        problem = msgspec.structs.replace(self._problem, reward_value=beta)
        return policy_of(Lattice(problem), self._estimates, self._rewards, self.branch_charge)

    def _table(self, rows: Any) -> Floats:
        check_is_fitted(self)
        return reread_rows(self, self._table_columns, rows)

    def _walk(self, policy: Policy, table: Floats) -> Walks:
        """Follow the policy with every row."""
        digits = np.empty((len(table), len(self._looks)), np.int64)
        for i, (column, look) in enumerate(self._looks):
            digits[:, i] = digits_of(table[:, column], look)
        return follow(policy, digits)

    def _check_options(self) -> None:
        for name, least in (("max_observations", 0), ("bins", 2), ("max_states", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            if not whole or value < least:
                raise OptionError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        if not is_number(self.reward_value) or self.reward_value <= 0:
            raise OptionError(
                f"reward_value must be a finite number above 0, got {self.reward_value!r}"
            )
        if self.shrinkage != "auto" and (not is_number(self.shrinkage) or self.shrinkage <= 0):
            raise OptionError(
                f"shrinkage must be 'auto' or a finite number above 0, got {self.shrinkage!r}"
            )
        if not is_number(self.branch_charge) or self.branch_charge < 0:
            raise OptionError(
                f"branch_charge must be a finite number of at least 0, got {self.branch_charge!r}"
            )
        spend = self.max_spend
        if spend is not None and (not is_number(spend) or spend < 0):
            raise OptionError(
                f"max_spend must be None or a finite number of at least 0, got {spend!r}"
            )
