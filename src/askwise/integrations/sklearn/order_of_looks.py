r"""The order in which columns are bought after the plan, and a model for each number of them.

The order is found backwards. A model of all columns is judged on rows that it was not fitted on.
The worth of column i beside all others is the increase of the log loss of these rows when the cells
of i are shuffled among them,

    w_i = Σ_n u_n (log P(c_n | x_n) − log P(c_n | x_n, cell i of another row)) / Σ_n u_n,

where u_n was at stake when the plan ended. Columns are ordered by w_i divided by their price. Then
the last columns are dropped, down to the step before, and a new model of the rest is judged in the
same way. So redundant columns lose their worth one after the other, and not all at once. The models
of a small table accept any column as unknown, so there a column is hidden instead of shuffled.

All rows buy in the same order. Separate orders, by leaf or by the values of a row, choose each
column better. But then few rows know the same columns, and this makes the models worse by more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import (
    CrossFitted,
    Fitted,
    Masks,
    Table,
    cross_fitted,
    fitted_to,
)
from askwise.integrations.sklearn.prices import Prices

SHUFFLED = 400_000
"""The approximate number of rows that are judged with a shuffled column, for all columns."""
AT_ONCE = 4_000_000
"""The most cells of these rows in memory at a time."""
HIDDEN = 100
"""The most columns of a small table that are hidden one by one; more are shuffled."""


class Order(NamedTuple):
    """The columns that are bought after the plan, the best first."""

    columns: list[int]

    def buy(self, cells: Floats, known: Flags, looks: int) -> Flags:
        """Returns the same as `known_after`: the order is the same for all cells."""
        return self.known_after(known, looks)

    def known_after(self, known: Flags, looks: int) -> Flags:
        """Returns the known columns of rows after a number of further purchases."""
        after = known.copy()
        new = ~known[:, self.columns]
        after[:, self.columns] |= new & (new.cumsum(axis=1) <= looks)
        return after


def steps_to(longest: int) -> list[int]:
    """Returns the numbers of further columns after which a row may stop: 0, 1, 2, 3, 4, 6, 8, 12,
    16, 24, … and all.
    """
    found, power = [0, 1], 2
    while power < longest:
        found += [power, 3 * power // 2]
        power *= 2
    return [*(k for k in found if k < longest), longest]


def models_of_looks(
    table: Table, plans: Masks, stake: Floats, whole: Fitted, prices: Prices, most: int
) -> tuple[Order, dict[int, CrossFitted]]:
    """Returns the order, and a model of the known columns for each number of further columns.

    `plans` has the known columns of rows when plans end. `whole` has the models of all columns.
    """
    weight = table.weights * stake
    if not weight.any():
        weight = table.weights
    cost = np.maximum(prices.costs, prices.least)
    own = plans.own(table.fold)

    def ordered(fitted: Fitted, known: Flags, columns: list[int]) -> list[int]:
        worth = worth_of(table, fitted, known, columns, weight[:, None] * ~own[:, columns])
        best = np.argsort(-worth / cost[columns], kind="stable")
        return [columns[i] for i in best if worth[i] > 0]

    new = ~np.asarray(own.all(axis=0) & plans.known.all(axis=0))
    order = Order(ordered(whole, np.ones_like(own), np.flatnonzero(new).tolist())[:most])
    models: dict[int, CrossFitted] = {}
    for looks in reversed(steps_to(len(order.columns))):
        masks = plans.each(partial(order.known_after, looks=looks))
        fitted = whole if masks.is_all or not table.is_large else fitted_to(table, masks)
        models[looks] = cross_fitted(table, fitted, masks)
        first = order.columns[:looks]
        best = ordered(fitted, masks.own(table.fold), first) if looks > 1 else first
        rest = [i for i in first if i not in best]
        order = Order([*best, *rest, *order.columns[looks:]])
    return order, dict(sorted(models.items()))


def worth_of(
    table: Table, fitted: Fitted, known: Flags, columns: Sequence[int], weights: Floats
) -> Floats:
    """Returns w_i of each column i, by models of the known columns. `weights` has u at [n, i]."""
    number = len(columns)
    found = np.zeros(number)
    if not number:
        return found
    rng = np.random.default_rng(0)
    rows = _judged(len(table.labels), number * table.classes, rng)
    shuffled = rng.permutation(rows)
    is_hidden = not table.is_large and number <= HIDDEN
    before = _log_likelihood(table, fitted, rows, known[rows], table.cells[rows])
    size = max(1, AT_ONCE // (len(rows) * table.cells.shape[1]))
    for start in range(0, number, size):
        part = columns[start : start + size]
        many = np.tile(rows, len(part))
        cells, mask = table.cells[many], known[many]
        for k, column in enumerate(part):
            here = slice(k * len(rows), (k + 1) * len(rows))
            if is_hidden:
                mask[here, column] = False
            else:
                cells[here, column] = table.cells[shuffled, column]
        after = _log_likelihood(table, fitted, many, mask, cells)
        lost = before - after.reshape(len(part), -1)
        weight = weights[rows, start : start + size].T
        found[start : start + size] = (weight * lost).sum(axis=1) / weight.sum(axis=1).clip(1e-300)
    return found


def _judged(rows: int, each: int, rng: np.random.Generator) -> Integers:
    """Returns the rows in which columns are shuffled: all, or as many as the limit allows."""
    most = max(SHUFFLED // each, 500)
    found: Integers = np.sort(rng.permutation(rows)[:most])
    return found


def _log_likelihood(
    table: Table, fitted: Fitted, rows: Integers, known: Flags, cells: Floats
) -> Floats:
    said = fitted.held(table, rows, known, cells)
    found: Floats = np.log(said[np.arange(len(rows)), table.labels[rows]])
    return found
