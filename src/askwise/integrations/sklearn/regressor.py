r"""The regressor: it gives the answer with the least expected loss, out of a finite set.

The class of a row is the answer b with the least loss for its number y. The cost of answering a in
class b is

    M(b, a) = v · mean of loss(y, a) over the rows of class b,

where v is the cost of a unit of loss. So the regressor is `CostAwareClassifier` with M as
`misclassification_costs`. It buys features that separate answers whose losses differ.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from askwise._support.typing import Floats
from askwise.errors import OptionError
from askwise.integrations.sklearn.classifier import CostAwareClassifier
from askwise.integrations.sklearn.rewards import check_weights
from askwise.problem.bins import is_number

BLIND_LOSS = 100.0
"""The mean cost of the best answer without any feature, unless `loss_value` is given."""

LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "squared": lambda y, answer: (y - answer) ** 2,
    "absolute": lambda y, answer: np.abs(y - answer),
}


class CostAwareRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Answers with a number, by features that it buys one by one while they pay.

    answers: The number of answers, or the answers themselves. A number divides the training rows
    into equal parts, and each answer is the mean of a part, or the median for absolute losses.
    Answers that are best for no row are left out.
    loss: "squared", "absolute", or a function of arrays, (y, answer) → loss of at least 0.
    loss_value: The cost of a unit of loss in the currency of `costs`. By default, the best answer
    without any feature costs 100 on average.

    The other options are those of `CostAwareClassifier`. `classifier_` is the fitted classifier,
    and its `policy_` is a plan over the answers.

    >>> from sklearn.datasets import load_diabetes
    >>> patients = load_diabetes(as_frame=True)
    >>> regressor = CostAwareRegressor(answers=[100, 150, 200], max_observations=2, further_looks=0)
    >>> print(regressor.fit(patients.data, patients.target).policy_.tree(max_depth=1))
    buy s5 (1)
    ├─ <-0.004 → buy bmi (1) … 3 more
    ├─ -0.004 to 0.0245 → buy bmi (1) … 2 more
    └─ >=0.0245 → buy bmi (1) … 2 more
    """

    def __init__(
        self,
        *,
        answers: Any = 10,
        loss: Any = "squared",
        loss_value: float | None = None,
        costs: Any = None,
        panels: Any = (),
        discounts: Any = (),
        max_observations: int = 4,
        further_looks: int | str = "auto",
        max_spend: float | None = None,
        bins: int = 4,
        shrinkage: float | str = "auto",
        luck_charge: float = 1.0,
        categorical_features: Any = "from_dtype",
        max_states: int = 100_000,
    ) -> None:
        self.answers = answers
        self.loss = loss
        self.loss_value = loss_value
        self.costs = costs
        self.panels = panels
        self.discounts = discounts
        self.max_observations = max_observations
        self.further_looks = further_looks
        self.max_spend = max_spend
        self.bins = bins
        self.shrinkage = shrinkage
        self.luck_charge = luck_charge
        self.categorical_features = categorical_features
        self.max_states = max_states

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Learns what to buy and what to answer from rows in which every feature is known."""
        loss = self._loss()
        validate_data(self, X, y, skip_check_array=True)
        numbers_: Floats = column_or_1d(y, warn=True).astype(np.float64)
        assert_all_finite(numbers_, input_name="y")
        weights = _check_sample_weight(
            sample_weight, numbers_, dtype=np.float64, ensure_non_negative=True
        )
        check_weights(weights)
        counted = weights > 0
        answers = self._answers(numbers_[counted], weights[counted])
        lost = _losses(loss, numbers_, answers)
        best = lost.argmin(axis=1)
        used = np.bincount(best, weights, minlength=len(answers)) > 0
        answers, lost = answers[used], lost[:, used]
        best = lost.argmin(axis=1)
        names = _names(answers)
        order = np.argsort(names)  # the order of the classifier's classes
        self.answers_ = answers[order]
        self.classifier_ = CostAwareClassifier(
            misclassification_costs=self._matrix(lost[:, order], weights, names[order], names[best])
            if len(names) > 1
            else None,
            **self._options(),
        ).fit(X, names[best], sample_weight)
        self.policy_, self.cost_ = self.classifier_.policy_, self.classifier_.cost_
        self.observations_ = self.classifier_.observations_
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Returns the answer with the least expected loss for each row, by its bought features."""
        check_is_fitted(self)
        guesses = self.classifier_.predict(X)
        found: Floats = self.answers_[np.searchsorted(self.classifier_.classes_, guesses)]
        return found

    def spend(self, X: Any) -> Floats:  # noqa: N803
        """Returns the cost of the features that are bought for each row."""
        check_is_fitted(self)
        return self.classifier_.spend(X)

    def looks(self, X: Any) -> list[tuple[str, ...]]:  # noqa: N803
        """Returns the features that are bought for each row, in the order of purchase."""
        check_is_fitted(self)
        return self.classifier_.looks(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- how it is done --------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        """The options that are the classifier's."""
        own = ("answers", "loss", "loss_value")
        return {k: v for k, v in self.get_params(deep=False).items() if k not in own}

    def _loss(self) -> Callable[[Floats, Floats], Floats]:
        value = self.loss_value
        if value is not None and (not is_number(value) or value <= 0):
            raise OptionError(f"loss_value must be None or a number above 0, got {value!r}")
        if callable(self.loss):
            found: Callable[[Floats, Floats], Floats] = self.loss
            return found
        if self.loss not in LOSSES:
            raise OptionError(
                f"loss must be 'squared', 'absolute' or a function, got {self.loss!r}"
            )
        return LOSSES[self.loss]

    def _answers(self, y: Floats, weights: Floats) -> Floats:
        """Returns the answers in increasing order: as given, or from equal parts of the rows."""
        given = self.answers
        is_whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        if is_whole and given >= 1:
            return _of_equal_parts(y, weights, int(given), is_median=self.loss == "absolute")
        try:
            found: Floats = np.unique(np.asarray(given, np.float64))
        except (TypeError, ValueError):
            found = np.empty(0)
        if is_whole or np.ndim(given) != 1 or not len(found) or not np.isfinite(found).all():
            raise OptionError(
                "answers must be a whole number of at least 1, or a list of finite numbers, got "
                f"{given!r}"
            )
        return found

    def _matrix(self, lost: Floats, weights: Floats, names: Any, of_row: Any) -> Floats:
        """Returns M(b, a), with both axes in the order of the names."""
        is_in = (names[:, None] == of_row).astype(np.float64) * weights
        mean: Floats = is_in @ lost / is_in.sum(axis=1, keepdims=True)
        blind = float((weights @ lost / weights.sum()).min())
        value = BLIND_LOSS / blind if self.loss_value is None else float(self.loss_value)
        return value * mean


def _names(answers: Floats) -> Any:
    """Returns the answers as distinct texts, with at least 9 digits."""
    for digits in range(9, 18):  # 17 digits tell any two floats apart
        names = np.array([f"{answer:.{digits}g}" for answer in answers])
        if len(set(names.tolist())) == len(names):
            break
    return names


def _losses(loss: Callable[[Floats, Floats], Floats], y: Floats, answers: Floats) -> Floats:
    """Returns the loss of each answer for each row, (rows, answers)."""
    columns = [np.asarray(loss(y, np.full(len(y), a)), np.float64) for a in answers]
    for answer, column in zip(answers, columns, strict=True):
        if column.shape != y.shape or not np.isfinite(column).all() or column.min() < 0:
            raise OptionError(
                "loss must give a finite number of at least 0 for each row; it does not for the "
                f"answer {answer:g}"
            )
    return np.column_stack(columns)


def _of_equal_parts(y: Floats, weights: Floats, parts: int, *, is_median: bool) -> Floats:
    """Returns the mean or the median of each part of the rows. Rows with equal y share a part."""
    values, place = np.unique(y, return_inverse=True)
    often = np.bincount(place, weights)
    middle = (np.cumsum(often) - often / 2) / often.sum()
    part = np.minimum((middle * parts).astype(np.int64), parts - 1)
    found = []
    for k in np.unique(part):
        here = part == k
        if is_median:
            half = np.cumsum(often[here]) >= often[here].sum() / 2
            found.append(float(values[here][int(half.argmax())]))
        else:
            found.append(float(np.average(values[here], weights=often[here])))
    answers: Floats = np.unique(found)
    return answers
