r"""Beyond the plan: models of what was bought, with its numbers as they are, and further looks.

A plan sees bins, and at most m of them. Where it ends, in leaf ℓ, what was bought is there as
numbers, so a model of them decides, and more may be bought where the case is still open:

1. A model of all columns is fitted, and judged on rows that it was not fitted on. What column i
   would add in a leaf is how much the log loss of its rows grows when i is shuffled, drawn to the
   mean of all rows as if `LEAN` rows said that. In each leaf, columns are ordered by that for their
   price: this is the order in which further looks are bought there.
2. They are bought in steps, after 1, 2, 3, 4, 6, 8, 12, … of them. For each step j there is a model
   of what rows know by then, P_j(c | what was bought).
3. A row goes on from step j while what it may still lose, u = 1 − max_a Σ_c P_j(c) r(c, a), is
   above θ_j. From the last step down, θ_j is what would have gained most on rows that the models
   were not fitted on, a row that goes on being worth what it gains later less what that costs. A
   step is gone only if it gains more than luck would: by `CERTAINTY` standard errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import (
    CrossFitted,
    Mean,
    Model,
    OfLeaves,
    Table,
    cross_fitted,
)
from askwise.integrations.sklearn.rewards import Prices

LEAN = 50.0
"""How many rows of all leaves stand behind what a column adds in one of them."""
STEPS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""How many further looks a row has bought when it is asked whether to go on."""
CERTAINTY = 1.0
SHUFFLED = 200
"""The most columns that are shuffled one by one."""


class Order(NamedTuple):
    """The columns that are bought further, the best first."""

    leaves: dict[int, list[int]]
    usual: list[int]
    """The order in leaves that no row came to."""

    def known_after(self, known: Flags, leaves: Integers, looks: int) -> Flags:
        """What rows know after so many further looks."""
        after = known.copy()
        for leaf in np.unique(leaves).tolist():
            rows = np.flatnonzero(leaves == leaf)
            for column in self.leaves.get(leaf, self.usual):
                new = rows[~known[rows, column]]
                new = new[(after[new] & ~known[new]).sum(axis=1) < looks]
                after[new, column] = True
        return after


class Step(NamedTuple):
    """What is known after some further looks, and what it says."""

    looks: int
    model: Model
    spent: Floats
    """What each row to fit on has spent by then, on all it knows."""


class FurtherLooks(NamedTuple):
    """What is bought where the plan ends, and what decides there."""

    order: Order
    steps: list[Step]
    thresholds: list[float]
    """θ of each step; the last one goes nowhere."""

    def follow(
        self, cells: Floats, known: Flags, leaves: Integers, rewards: Floats
    ) -> tuple[Floats, Flags]:
        """The probabilities that each row is decided by, and what it knows then."""
        found = np.empty((len(cells), len(rewards)))
        known, going = known.copy(), np.arange(len(cells))
        began = known.copy()
        for step, threshold in zip(self.steps, self.thresholds, strict=True):
            known[going] = self.order.known_after(began[going], leaves[going], step.looks)
            found[going] = step.model.probabilities(cells[going], known[going], leaves[going])
            going = going[at_stake(found[going], rewards) > threshold]
            if not len(going):
                break
        return found, known


def fit_further_looks(
    table: Table, known: Flags, leaves: Integers, whole: Whole, prices: Prices, most: int
) -> FurtherLooks:
    """The order of looks and the models of all steps; nothing goes on until thresholds are set."""
    order = _order_of(table, known, leaves, whole.added, prices, most)
    longest = max((len(columns) for columns in order.leaves.values()), default=0)
    steps = []
    for looks in [0, *(k for k in STEPS[1:] if k < longest), *([longest] if longest else [])]:
        after = order.known_after(known, leaves, looks)
        model = cross_fitted(table, after, whole.model)
        steps.append(Step(looks, model, prices.of(after)))
    return FurtherLooks(order, steps, [np.inf] * len(steps))


def with_thresholds(
    further: FurtherLooks, table: Table, beta: float, rewards: Floats
) -> tuple[FurtherLooks, float]:
    """The same with the best θ at β, and what a row spends on average then."""
    last = further.steps[-1]
    gain = beta * _earned(last.model.held, table.labels, rewards) - last.spent
    spent, thresholds = last.spent.copy(), [np.inf]
    for step in reversed(further.steps[:-1]):
        stop = beta * _earned(step.model.held, table.labels, rewards) - step.spent
        stake = at_stake(step.model.held, rewards)
        threshold = _best_threshold(stake, table.weights * (gain - stop))
        goes = stake > threshold
        gain, spent = np.where(goes, gain, stop), np.where(goes, spent, step.spent)
        thresholds.insert(0, threshold)
    return further._replace(thresholds=thresholds), float(np.average(spent, weights=table.weights))


def with_best_leaves(
    further: FurtherLooks, of_leaves: OfLeaves, table: Table, rewards: Floats
) -> FurtherLooks:
    """The same; where nothing further is bought, rows are decided by what earns most held back.

    That is what the plan estimates, the model of what it bought, or the mean of both.
    """
    first = further.steps[0]
    candidates: list[Model] = [of_leaves, Mean(of_leaves, first.model), first.model]
    earned = [table.weights @ _earned(c.held, table.labels, rewards) for c in candidates]
    best = candidates[int(np.argmax(earned))]
    return further._replace(steps=[first._replace(model=best), *further.steps[1:]])


def _best_threshold(stake: Floats, more: Floats) -> float:
    """The θ above which going on gains most in all, if it is more than luck would give."""
    order = np.argsort(-stake, kind="stable")
    total, squares = np.cumsum(more[order]), np.cumsum(more[order] ** 2)
    ends = np.append(np.flatnonzero(np.diff(stake[order])), len(order) - 1)  # equals go together
    place = int(ends[np.argmax(total[ends])])
    if total[place] <= CERTAINTY * np.sqrt(squares[place]):
        return np.inf
    if place + 1 == len(order):
        return -np.inf
    return float((stake[order][place] + stake[order][place + 1]) / 2)


def at_stake(probabilities: Floats, rewards: Floats) -> Floats:
    """u: what may be lost by the action that is expected to earn most, of what can be earned."""
    stake: Floats = probabilities @ rewards.max(axis=1) - (probabilities @ rewards).max(axis=1)
    return stake


def _earned(probabilities: Floats, labels: Integers, rewards: Floats) -> Floats:
    """What each row earns by the action that is expected to earn most."""
    earned: Floats = rewards[labels, (probabilities @ rewards).argmax(axis=1)]
    return earned


class Whole(NamedTuple):
    """What all columns together say."""

    model: CrossFitted
    added: Floats
    """(rows, columns): how much the log loss of a row grows when a column is shuffled."""


def model_of_all(table: Table) -> Whole:
    """A model of all columns, and what each of them adds to it in each row."""
    rows, columns = table.cells.shape
    every = np.ones((rows, columns), bool)
    model = cross_fitted(table, every)
    shuffled = np.random.default_rng(0).permutation(rows)
    place = np.arange(rows), table.labels
    before = np.log(model.held[place])
    added = np.zeros((rows, columns))
    tried = range(columns) if columns <= SHUFFLED else _likely_columns(table)
    for column in tried:
        cells = table.cells.copy()
        cells[:, column] = table.cells[shuffled, column]
        said = np.empty_like(model.held)
        for k, beliefs in enumerate(model.apart):
            here = table.fold == k
            said[here] = beliefs.probabilities(cells[here], every[here])
        added[:, column] = before - np.log((said**model.power)[place])
        added[:, column] += np.log((said**model.power).sum(axis=1))
    return Whole(model, added)


def _likely_columns(table: Table) -> list[int]:
    """Of very many columns, those whose means differ most between classes."""
    cells = np.nan_to_num(table.cells, nan=0.0)
    means = [cells[table.labels == c].mean(axis=0) for c in np.unique(table.labels)]
    between = np.var(means, axis=0) / np.maximum(cells.var(axis=0), 1e-24)
    best: list[int] = np.argsort(-between, kind="stable")[:SHUFFLED].tolist()
    return best


def _order_of(
    table: Table, known: Flags, leaves: Integers, added: Floats, prices: Prices, most: int
) -> Order:
    """The columns that add something, by what they add in a leaf for their price."""
    dearest = float(prices.costs.max())
    cost = np.maximum(prices.costs, 1e-9 * dearest if dearest > 0 else 1.0)
    mean = np.average(added, axis=0, weights=table.weights)

    def ordered(worth: Floats) -> list[int]:
        best = np.argsort(-worth / cost, kind="stable")
        return [int(i) for i in best if worth[i] > 0]

    found = {}
    for leaf in np.unique(leaves).tolist():
        rows = np.flatnonzero(leaves == leaf)
        weight = table.weights[rows]
        worth = (weight @ added[rows] + LEAN * mean) / (weight.sum() + LEAN)
        is_new: Flags = ~np.all(known[rows], axis=0)
        found[leaf] = [i for i in ordered(worth) if is_new[i]][:most]
    return Order(found, ordered(mean)[:most])
