r"""Each further look chosen for each row, by the mixture model of the table (`mixtures.py`).

Without a plan, the next look of a row is the unknown column with the most information for its
price. With what is known of the row given, this is

    worth(i) = (1 − γ) I(C; X_i) + γ I(K; X_i),

where C is the label and K the hidden class. A column such as a context may tell nothing of the
label, but where to look for it. It is informative about the hidden class, since each class has its
label. Several γ are tried, and judged on rows held back. Labels are weighted by their stakes.

The steps, the thresholds and the calibration are those of `further_looks.py`, with a step after
each look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import LEAST, Fitted, Masks, Table, cross_fitted
from askwise.integrations.sklearn.further_looks import FurtherLooks, Step
from askwise.integrations.sklearn.mixtures import Mixture, fit_mixtures
from askwise.integrations.sklearn.prices import Prices

SHARES = (0.0, 0.3, 1.0)
"""The γ that are tried. All are the same with one hidden class a label."""
MOST_LOOKS = 16
MOST_WORK = 3e9
"""The most cells × bins × hidden classes over all looks. Large tables have fewer looks, or none."""


class ByRow(NamedTuple):
    """The choice of the next column of each row."""

    mixture: Mixture
    share: float
    """γ."""
    prices: Prices
    stakes: Floats
    """The weight of each label."""

    def buy(self, cells: Floats, known: Flags, looks: int) -> Flags:
        """Returns the known columns of rows after a number of further purchases."""
        digits, known = self.mixture.bins.digits(cells), known.copy()
        for _ in range(looks):
            columns = self._next(digits, known)
            rows = np.flatnonzero(columns >= 0)
            known[rows, columns[rows]] = True
        return known

    def _next(self, digits: Integers, known: Flags) -> Integers:
        """Returns the next column of each row; −1 if none is informative."""
        from askwise._kernels.planning.mixtures import choose_looks

        mixture = self.mixture
        hidden = mixture.hidden(digits, known) * self.stakes[mixture.labels]
        hidden /= hidden.sum(axis=1, keepdims=True)
        found = np.empty(len(digits), np.int64)
        choose_looks(
            hidden,
            known,
            mixture.labels,
            mixture.cells,
            mixture.bins.outcomes,
            (mixture.cells * mixture.log_cells).sum(axis=1),
            self.share,
            self.prices.of_next(known),
            found,
        )
        return found


def fit_looks_by_row(
    table: Table, prices: Prices, rewards: Floats, most: int
) -> list[FurtherLooks]:
    """Returns the purchases by each γ, at most so many a row. No row continues until thresholds
    are set.
    """
    stakes = np.maximum(rewards.max(axis=1) - rewards.min(axis=1), LEAST)
    fitted = fit_mixtures(table)
    whole = fitted.beliefs
    assert isinstance(whole, Mixture)
    work = len(table.labels) * whole.cells.size
    most = min(most, MOST_LOOKS, table.cells.shape[1], int(MOST_WORK / work))
    if most < 1:
        return []
    is_naive = len(whole.labels) == table.classes
    orders = [ByRow(whole, share, prices, stakes) for share in SHARES]
    return [_steps(table, fitted, order, most) for order in orders[: 1 if is_naive else None]]


def _steps(table: Table, fitted: Fitted, order: ByRow, most: int) -> FurtherLooks:
    """Returns a step after each look, each row judged with purchases chosen without its fold."""
    known = np.zeros(table.cells.shape, bool)
    rank = np.full(known.shape, most + 1)
    steps = []
    for looks in range(most + 1):
        if looks:
            before = known
            known = _bought(table, fitted, order, known)
            rank = np.where(known & ~before, looks, rank)
        masks = Masks(known, [known] * len(fitted.apart))
        model = cross_fitted(table, fitted, masks)
        steps.append(Step(looks, model, order.prices.of(known, rank)))
    return FurtherLooks(order, steps, [np.inf] * len(steps))


def _bought(table: Table, fitted: Fitted, order: ByRow, known: Flags) -> Flags:
    found = known.copy()
    for k, apart in enumerate(fitted.apart):
        here = table.fold == k
        assert isinstance(apart, Mixture)
        found[here] = order._replace(mixture=apart).buy(table.cells[here], known[here], 1)
    return found
