"""What a prediction earns in each class, and panels of features."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.errors import OptionError
from askwise.problem import Panel


def rewards_of(matrix: Any, reward_value: float, classes: int) -> tuple[float, Floats]:
    """β, and r(c, a) at [c, a]: what predicting class a earns in class c, in [0, 1].

    Without a matrix of costs M a right prediction earns 1. With one, r = 1 − M/max M and β = max M,
    so that β r is what is not lost, in the currency of the costs.
    """
    if matrix is None:
        return float(reward_value), np.eye(classes)
    try:
        costs: Floats = np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"misclassification_costs must be numbers, got {matrix!r}") from None
    if costs.shape != (classes, classes):
        raise OptionError(
            f"misclassification_costs must have a row and a column for each of the {classes} "
            f"classes, got an array of shape {costs.shape}"
        )
    if not np.isfinite(costs).all() or costs.min() < 0:
        raise OptionError("misclassification_costs must be finite numbers of at least 0")
    if costs.max() == 0:
        raise OptionError(
            "misclassification_costs: every mistake is free, so nothing is worth buying"
        )
    return float(costs.max()), 1 - costs / costs.max()


def weighed_by_stakes(labels: Integers, weights: Floats, rewards: Floats) -> Floats:
    """Records weighed with what is at stake in their class, as many in all as they stand for.

    Where a mistake in one class costs a hundred times more, its few records decide what columns
    and values are good for. Weights w count for (Σ w)² / Σ w² records, as in sampling.
    """
    stakes = rewards.max(axis=1) - rewards.min(axis=1)
    found: Floats = weights * stakes[labels]
    if not found.any():
        return weights
    counted = found.sum() / (found**2 / weights).sum()  # 1 if stakes are equal
    scaled: Floats = found * counted
    return scaled


class Prices(NamedTuple):
    """What columns of a table cost together."""

    costs: Floats
    panels: tuple[tuple[tuple[int, ...], float], ...]
    """The columns of each panel, and its fee."""

    def of(self, bought: Flags) -> Floats:
        """What each row has spent that bought these columns."""
        spent: Floats = bought @ self.costs
        for members, fee in self.panels:
            spent = spent + fee * bought[:, members].any(axis=1)
        return spent


def check_panels(panels: Any, names: Collection[str]) -> tuple[Panel, ...]:
    """The panels, whose members are features."""
    if not isinstance(panels, Iterable):
        raise OptionError(f"panels must be a list of askwise.Panel, got {panels!r}")
    found = tuple(panels)
    for panel in found:
        if not isinstance(panel, Panel):
            raise OptionError(f"panels: expected an askwise.Panel, got {panel!r}")
        if panel.prices is not None:
            raise OptionError(
                "panels: the classifier takes panels with a fee and a list of names, without "
                f"prices of their own, got {panel!r}"
            )
        for name in panel.observations:
            if name not in names:
                known = ", ".join(names)
                raise OptionError(f"panels: unknown feature {name!r}, expected one of: {known}")
    return found


def panels_among(panels: Sequence[Panel], names: Collection[str]) -> list[Panel]:
    """The same panels of fewer features."""
    found = []
    for panel in panels:
        members = [name for name in panel.observations if name in names]
        if members:
            found.append(Panel(observations=members, fee=panel.fee))
    return found
