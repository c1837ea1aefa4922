"""The reward of each prediction in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.errors import OptionError
from askwise.integrations.sklearn.labelled import in_order_of
from askwise.problem.bins import is_number

LARGEST_WEIGHTS = 2.0**53
"""The most rows that the weights may sum to: floats count whole rows up to here."""


def rewards_of(matrix: Any, reward_value: float, classes: Sequence[Any]) -> tuple[float, Floats]:
    """Returns β, and r(c, a) at [c, a]: the reward of predicting class a in class c, in [0, 1].

    Without a matrix of costs M a right prediction earns 1. With one, r = 1 − M/max M and β = max M.
    So β r = max M − M is the avoided loss, in the currency of the costs. A frame of costs has the
    classes as its names, in any order.
    """
    number = len(classes)
    if matrix is None:
        return float(reward_value), np.eye(number)
    ordered = in_order_of(classes, matrix)
    try:
        costs: Floats = np.asarray(ordered, np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"misclassification_costs must be numbers, got {matrix!r}") from None
    if costs.shape != (number, number):
        raise OptionError(
            f"misclassification_costs must have a row and a column for each of the {number} "
            f"classes, got an array of shape {costs.shape}"
        )
    if not np.isfinite(costs).all() or costs.min() < 0:
        raise OptionError(
            f"misclassification_costs must be finite numbers of at least 0, got {matrix!r}"
        )
    if costs.max() == 0:
        raise OptionError(
            "misclassification_costs: every mistake is free, so nothing is worth buying: "
            "give at least one a cost above 0"
        )
    return float(costs.max()), 1 - costs / costs.max()


def check_reward_values(values: Any) -> list[float]:
    """Returns the reward values of a curve as floats."""
    listed = np.iterable(values) and not isinstance(values, str)
    found: list[Any] = list(values) if listed else [None]
    if not all(is_number(value) and value > 0 for value in found):
        raise OptionError(
            f"reward_values must be numbers above 0, such as [30, 100], got {values!r}"
        )
    return [float(value) for value in found]


def check_weights(weights: Floats) -> None:
    """Raises an error if the weights of the rows are too large."""
    if not weights.sum() <= LARGEST_WEIGHTS:
        raise OptionError(
            f"sample_weight: the weights sum to {weights.sum():g} rows, expected at most "
            f"{LARGEST_WEIGHTS:g}: a weight is the number of times that a row counts"
        )


def weighed_by_stakes(labels: Integers, weights: Floats, rewards: Floats) -> Floats:
    """Returns the weights of records times the stake of their class, scaled to effective records.

    If a mistake in one class costs a hundred times more, its few records decide which columns and
    values are useful. Weights w count for (Σ w)² / Σ w² effective records, as in sampling.
    """
    stakes = rewards.max(axis=1) - rewards.min(axis=1)
    found: Floats = weights * stakes[labels]
    if not found.any():
        return weights
    counted = found.sum() / (found**2 / weights).sum()  # 1 if stakes are equal
    scaled: Floats = found * counted
    return scaled
