r"""Purchases beyond the plan, and the models that decide there.

A plan uses the bins of at most m columns. At its end the bought columns are known as numbers. A
model of these numbers decides, and more columns may be bought for rows that are still uncertain:

1. Further columns are bought in one order, in steps: after 1, 2, 3, 4, 6, 8, 12, … of them. Each
   step j has a model of the columns that are known by then, P_j(c | the known cells)
   (`order_of_looks.py`).
2. A row continues from step j while its expected loss, u = 1 − max_a Σ_c P_j(c) r(c, a), is above
   θ_j. The thresholds are set from the last step down. Each θ_j maximises the gain on rows that the
   models were not fitted on. A row that continues is valued at its later gain less its later costs.
   Rows continue from a step only if this gains more than `CERTAINTY` standard errors.
3. The reward of a decision is the mean of two estimates. One takes the class of the row, and the
   other the P_j under which the rows are likeliest. Since P_j is calibrated, both agree on average.
   Classes alone vary much with the sample of rows. P_j alone assumes that it is right.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import Fitted, Masks, Mean, Model, OfLeaves, Table
from askwise.integrations.sklearn.order_of_looks import models_of_looks
from askwise.integrations.sklearn.prices import Prices, continued

CERTAINTY = 1.0
SURE = 2.0
"""The standard errors by which another way of buying must gain more to be used."""


class Step(NamedTuple):
    """A number of further columns, with the model that decides after them."""

    looks: int
    model: Model
    spent: Floats
    """The spend of each training row by then, on all its known columns."""


class Chooser(Protocol):
    """The choice of the columns that are bought next."""

    def buy(self, cells: Floats, known: Flags, looks: int) -> Flags:
        """Returns the known columns of rows after a number of further purchases."""


class FurtherLooks(NamedTuple):
    """The columns that are bought after the plan, and the models that decide there."""

    chooser: Chooser
    steps: list[Step]
    thresholds: list[float]
    """θ of each step; no row continues from the last one."""

    def follow(
        self, cells: Floats, known: Flags, leaves: Integers, rewards: Floats
    ) -> tuple[Floats, Integers]:
        """Returns the class probabilities that decide each row, and the step before which each
        column was bought. It is 0 for columns known before, and −1 for columns that were not
        bought.
        """
        found = np.empty((len(cells), len(rewards)))
        bought, going, made = np.where(known, 0, -1), np.arange(len(cells)), 0
        known = known.copy()
        for number, (step, threshold) in enumerate(zip(self.steps, self.thresholds, strict=True)):
            after = self.chooser.buy(cells[going], known[going], step.looks - made)
            bought[going] = np.where(after & ~known[going], number, bought[going])
            known[going], made = after, step.looks
            found[going] = step.model.probabilities(cells[going], known[going], leaves[going])
            going = going[at_stake(found[going], rewards) > threshold]
            if not len(going):
                break
        return found, bought

    def gains(self, table: Table, beta: float, rewards: Floats) -> Floats:
        """Returns the gain of each training row, by models without its fold and by its class."""
        truth = np.eye(table.classes)[table.labels]
        gain = np.zeros(len(table.labels))
        for step, threshold in reversed(list(zip(self.steps, self.thresholds, strict=True))):
            stops = at_stake(step.model.held, rewards) <= threshold
            own = beta * _earned(step.model.held, truth, rewards) - step.spent
            gain = np.where(stops, own, gain)
        return gain


def gains_surely(more: Floats, weights: Floats) -> bool:
    """Whether the mean of `more` is above 0 by more than `SURE` standard errors."""
    mean = np.average(more, weights=weights)
    error = np.sqrt((weights**2) @ (more - mean) ** 2) / weights.sum()
    return bool(mean > SURE * error)


def fit_further_looks(
    table: Table,
    plans: Masks,
    rank: Integers | None,
    of_leaves: OfLeaves,
    whole: Fitted,
    prices: Prices,
    rewards: Floats,
    most: int,
) -> FurtherLooks:
    """Returns the order of columns and the models of all steps. No row continues until thresholds
    are set.

    `rank` has the places of columns in the plans, if prices depend on the order. Rows for which
    nothing further is bought are decided by the candidate that earns most on rows held back. The
    candidates are the plan's estimates, the model of the columns it bought, and the mean of both.
    """
    stake = at_stake(of_leaves.held, rewards)
    order, models = models_of_looks(table, plans, stake, whole, prices, most)
    own = plans.own(table.fold)
    if rank is not None:
        rank = continued(rank, order.columns)
    steps = [
        Step(looks, model, prices.of(order.known_after(own, looks), rank))
        for looks, model in models.items()
    ]
    first = steps[0]
    truth = np.eye(table.classes)[table.labels]
    candidates: list[Model] = [of_leaves, Mean(of_leaves, first.model), first.model]
    earned = [table.weights @ _earned(c.held, truth, rewards) for c in candidates]
    steps[0] = first._replace(model=candidates[int(np.argmax(earned))])
    return FurtherLooks(order, steps, [np.inf] * len(steps))


def with_thresholds(
    further: FurtherLooks, table: Table, beta: float, rewards: Floats
) -> tuple[FurtherLooks, float]:
    """Returns the same steps with the best θ at β, and the mean spend of a row then."""
    last = further.steps[-1]
    likely = _likely_classes(further.steps, table)
    gain = beta * _earned(last.model.held, likely, rewards) - last.spent
    spent, thresholds = last.spent.copy(), [np.inf]
    for step in reversed(further.steps[:-1]):
        stop = beta * _earned(step.model.held, likely, rewards) - step.spent
        stake = at_stake(step.model.held, rewards)
        threshold = _best_threshold(stake, table.weights * (gain - stop))
        goes = stake > threshold
        gain, spent = np.where(goes, gain, stop), np.where(goes, spent, step.spent)
        thresholds.insert(0, threshold)
    return further._replace(thresholds=thresholds), float(np.average(spent, weights=table.weights))


def _best_threshold(stake: Floats, more: Floats) -> float:
    """Returns the θ with the largest total gain; infinity if that is within its error."""
    order = np.argsort(-stake, kind="stable")
    total, squares = np.cumsum(more[order]), np.cumsum(more[order] ** 2)
    ends = np.append(
        np.flatnonzero(np.diff(stake[order])), len(order) - 1
    )  # rows with equal stakes continue together
    place = int(ends[np.argmax(total[ends])])
    if total[place] <= CERTAINTY * np.sqrt(squares[place]):
        return np.inf
    if place + 1 == len(order):
        return -np.inf
    return float((stake[order][place] + stake[order][place + 1]) / 2)


def at_stake(probabilities: Floats, rewards: Floats) -> Floats:
    """Returns u: the expected loss of the best action against the best reward of each class."""
    stake: Floats = probabilities @ rewards.max(axis=1) - (probabilities @ rewards).max(axis=1)
    return stake


def _earned(probabilities: Floats, likely: Floats, rewards: Floats) -> Floats:
    """Returns the expected reward of rows under `likely`, if `probabilities` choose the action."""
    actions = (probabilities @ rewards).argmax(axis=1)
    earned: Floats = (likely @ rewards)[np.arange(len(likely)), actions]
    return earned


def _likely_classes(steps: list[Step], table: Table) -> Floats:
    """Returns the mean of the class of each row and the P_j under which the rows are likeliest."""
    truth = np.eye(table.classes)[table.labels]

    def likelihood(step: Step) -> float:
        own = (step.model.held * truth).sum(axis=1)
        return float(table.weights @ np.log(np.maximum(own, 1e-300)))

    return (truth + max(steps, key=likelihood).model.held) / 2
