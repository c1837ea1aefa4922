"""The estimates from a table, and the decisions that follow from them at a reward value.

A decider is a plan (`charged_plans.py`). If there are enough rows to judge models, the decider also
has the purchases beyond the plan and the models that decide there (`further_looks.py`). If choosing
every look for each row (`looks_by_row.py`) surely gains more on rows held back, the plan is not
used.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import Fitted, Masks, OfLeaves, Table, fitted_to
from askwise.integrations.sklearn.budgets import HALVINGS, Budget
from askwise.integrations.sklearn.charged_plans import FOLDS, Records, follow, policy_of
from askwise.integrations.sklearn.class_estimates import (
    ClassEstimates,
    count_classes,
    estimate_classes,
)
from askwise.integrations.sklearn.further_looks import (
    FurtherLooks,
    fit_further_looks,
    gains_surely,
    with_thresholds,
)
from askwise.integrations.sklearn.looks_by_row import ByRow, fit_looks_by_row
from askwise.integrations.sklearn.order_of_looks import Order
from askwise.integrations.sklearn.prices import Prices, continued
from askwise.integrations.sklearn.table import Look, digits_of
from askwise.policy import PathTable, Policy
from askwise.problem import Problem
from askwise.states import Lattice

NEVER = 1e15
"""The addition to the price of an observation that is not to be bought."""
JUDGED_FROM = 100
"""The least number of rows with which models can be judged on rows held back."""


class Decider(NamedTuple):
    """The plan, and the purchases and models after it."""

    policy: Policy
    further: FurtherLooks | None

    @property
    def is_by_row(self) -> bool:
        """Whether the mixture model chooses every look for each row, and the plan is not used."""
        return self.further is not None and isinstance(self.further.chooser, ByRow)

    @property
    def later(self) -> list[int]:
        """The order of the columns that are bought after the plan."""
        chooser = None if self.further is None else self.further.chooser
        return chooser.columns if isinstance(chooser, Order) else []


class Decided(NamedTuple):
    """The class probabilities, the spend and the purchases of each row of a table."""

    probability: Floats
    """(rows, classes): the probabilities that decided the row."""
    spent: Floats
    leaves: Integers
    """The state in which the plan ended."""
    known: Flags
    """The columns that were bought for the row, also beyond the plan."""
    step: Integers | None
    """The step of the further looks before which each column was bought, from 0; else −1."""


class Learned:
    """The estimates from a table, which are the same for every reward value."""

    def __init__(
        self,
        table: Table,
        looks: list[tuple[int, Look]],
        problem: Problem,
        prices: Prices,
        rewards: Floats,
        *,
        shrinkage: float | str,
        charge: float,
        further_looks: int,
    ) -> None:
        self._table, self.looks_planned, self.problem = table, looks, problem
        self._prices, self.rewards, self._charge = prices, rewards, charge
        self._further_looks = further_looks if table.weights.sum() >= JUDGED_FROM else 0
        self._made: tuple[Integers, FurtherLooks] | None = None
        lattice = Lattice(problem)
        self._records = Records(self._digits(table.cells), table.labels, table.weights)
        self._counts = count_classes(lattice, *self._records, table.classes)
        self._shrinkage = None if isinstance(shrinkage, str) else float(shrinkage)
        self._estimates = estimate_classes(lattice, self._counts, self._shrinkage)

    def decider(self, beta: float, max_spend: float | None = None) -> Decider:
        """Returns the best decider at a reward value of β, within a mean spend of a row."""
        policy = self._policy_within(beta, max_spend)
        if not self._further_looks:
            return Decider(policy, None)
        further = self._further_after(policy)
        best = self._thresholds_within(policy, further, beta, max_spend)
        weights = self._table.weights
        planned = best.gains(self._table, beta, self.rewards)
        most = float(weights @ planned)
        for by_row in self._by_row:
            tried = self._thresholds_within(policy, by_row, beta, max_spend)
            gains = tried.gains(self._table, beta, self.rewards)
            if weights @ gains > most and gains_surely(gains - planned, weights):
                best, most = tried, float(weights @ gains)
        return Decider(policy, best)

    def expected_gain(self, beta: float) -> float:
        """Returns F(∅), the gain of a row that the charged plan at β expects."""
        table = self._policy_at(beta).table
        assert isinstance(table, PathTable)
        return float(table.values[0])

    def decide(self, decider: Decider, cells: Floats) -> Decided:
        """Buys columns for each row, and returns the decisions."""
        if decider.is_by_row:
            known, leaves = np.zeros(cells.shape, bool), np.zeros(len(cells), np.int64)
        else:
            known, leaves = self._known_in(decider.policy, cells)
        if decider.further is None:
            found, step = self._estimates.probability[leaves], None
        else:
            found, step = decider.further.follow(cells, known, leaves, self.rewards)
            known = step >= 0
        if decider.is_by_row:
            spent = self._prices.of(known, step)
        else:
            spent = self._spent(decider.policy, known, leaves, decider.later)
        return Decided(found, spent, leaves, known, step)

    def mean_spend(self, decider: Decider) -> float:
        """Returns the mean spend of the training rows."""
        spent = self.decide(decider, self._table.cells).spent
        return float(np.average(spent, weights=self._table.weights))

    def looks(self, decider: Decider, cells: Floats) -> list[list[int]]:
        """Returns the columns that are bought for each row, in the order of purchase."""
        decided = self.decide(decider, cells)
        if decider.is_by_row:
            assert decided.step is not None
            order = np.argsort(decided.step, axis=1, kind="stable")
            return [
                row[-number:].tolist() if number else []
                for row, number in zip(order, decided.known.sum(axis=1), strict=True)
            ]
        orders = self._paths(decider.policy, decided.leaves)
        for leaf in orders:
            orders[leaf] += [i for i in decider.later if i not in orders[leaf]]
        return [
            [i for i in orders[leaf] if bought[i]]
            for leaf, bought in zip(decided.leaves.tolist(), decided.known, strict=True)
        ]

    # --- how it is done --------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> Fitted:
        every = np.ones(self._table.cells.shape, bool)
        return fitted_to(self._table, Masks(every, [every] * FOLDS))

    @cached_property
    def _by_row(self) -> list[FurtherLooks]:
        """The purchases by the mixture model instead of the plan, for any reward value."""
        most = (self.problem.max_observations or 0) + self._further_looks
        return fit_looks_by_row(self._table, self._prices, self.rewards, most)

    def _further_after(self, policy: Policy) -> FurtherLooks:
        """Returns the purchases after a plan. They are fitted once for each plan, at any reward
        value.
        """
        known, leaves = self._known_in(policy, self._table.cells)
        if self._made is None or not np.array_equal(self._made[0], leaves):
            held, apart, rank = self._held_back(policy.problem.reward_value)
            made = fit_further_looks(
                self._table,
                Masks(known, apart),
                rank,
                OfLeaves(self._estimates.probability, held),
                self._whole,
                self._prices,
                self.rewards,
                self._further_looks,
            )
            self._made = leaves, made
        return self._made[1]

    def _policy_within(self, beta: float, max_spend: float | None) -> Policy:
        """Returns the plan at β, or the best one within the budget (`budgets.py`)."""

        def spend(policy: Policy) -> float:
            known, leaves = self._known_in(policy, self._table.cells)
            spent = self._spent(policy, known, leaves, [])
            return float(np.average(spent, weights=self._table.weights))

        policy = self._policy_at(beta)
        if max_spend is None or spend(policy) <= max_spend:
            return policy
        budget = Budget(self._records, self._estimates, self.rewards, self._policy_at, spend)
        return budget.best_within(beta, max_spend)

    def _thresholds_within(
        self, policy: Policy, further: FurtherLooks, beta: float, max_spend: float | None
    ) -> FurtherLooks:
        """Returns the thresholds at β, or at the largest part of β within the budget.

        Both the training rows and rows held back are within it: the plans without a fold may buy
        less than the plan of all rows.
        """

        def within(part: float) -> FurtherLooks | None:
            tried, held = with_thresholds(further, self._table, beta * part, self.rewards)
            if max_spend is None:
                return tried
            if held > max_spend or self.mean_spend(Decider(policy, tried)) > max_spend:
                return None
            return tried

        if (found := within(1.0)) is not None:
            return found
        found, low, high = further, 0.0, 1.0  # at 0 nothing further is bought
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if (tried := within(middle)) is not None:
                low, found = middle, tried
            else:
                high = middle
        return found

    def _policy_at(self, beta: float, allowed: Flags | None = None) -> Policy:
        return self._policy_by(self._lattice_at(beta), self._estimates, allowed)

    def _policy_by(
        self, lattice: Lattice, estimates: ClassEstimates, allowed: Flags | None = None
    ) -> Policy:
        rebate = self._prices.rebates(lattice, [column for column, _ in self.looks_planned])
        if allowed is not None:
            none = np.zeros((lattice.subsets, lattice.buyable))
            rebate = (none if rebate is None else rebate) - np.where(allowed, 0.0, NEVER)
        return policy_of(lattice, estimates, self.rewards, self._charge, rebate)

    def _spent(self, policy: Policy, known: Flags, leaves: Integers, later: list[int]) -> Floats:
        """Returns the spend of each row, which depends on the order of purchase."""
        if not self._prices.groups:
            return self._prices.of(known)
        rank = self._prices.ranks(leaves, self._paths(policy, leaves))
        return self._prices.of(known, continued(rank, later))

    def _paths(self, policy: Policy, leaves: Integers) -> dict[int, list[int]]:
        """Returns the columns on the path to each of these states, in the order of purchase."""
        return {leaf: self._path(policy, leaf) for leaf in np.unique(leaves).tolist()}

    def _digits(self, cells: Floats) -> Integers:
        digits = np.empty((len(cells), len(self.looks_planned)), np.int64)
        for i, (column, look) in enumerate(self.looks_planned):
            digits[:, i] = digits_of(cells[:, column], look)
        return digits

    def _known_in(self, policy: Policy, cells: Floats) -> tuple[Flags, Integers]:
        """Returns the columns that the plan buys for each row, and the state in which it ends."""
        leaves = follow(policy, self._digits(cells)).states
        assert isinstance(policy.table, PathTable)
        columns = [column for column, _ in self.looks_planned]
        known = np.zeros(cells.shape, bool)
        for leaf in np.unique(leaves).tolist():
            bought = [columns[i] for i in policy.lattice.domain(leaf)]
            told_nothing = policy.table.look[leaf]  # a missing cell was paid for as well
            bought += [columns[told_nothing]] if told_nothing >= 0 else []
            known[np.ix_(leaves == leaf, bought)] = True
        return known, leaves

    def _path(self, policy: Policy, leaf: int) -> list[int]:
        """Returns the columns on the path to a state, with one without a known outcome, if any."""
        digits, state = dict(policy.lattice.digits(leaf)), 0
        found = []
        while looks := policy.looks(state):
            found.append(self.looks_planned[looks[0]][0])
            if looks[0] not in digits:
                break
            state = policy.lattice.children(state, looks[0])[digits[looks[0]]]
        return found

    def _held_back(self, beta: float) -> tuple[Floats, list[Flags], Integers | None]:
        """Returns p̂(c | ℓ) of each row, and what is bought, planned and estimated without its fold.

        The last result has the places of columns in these plans, if prices depend on the order.

        The plan of all rows is fitted to these rows, so its leaves separate them better than they
        would separate new rows.
        """
        lattice, fold = self._lattice_at(beta), self._table.fold
        found = np.empty((len(fold), self._table.classes))
        bought = []
        rank = np.zeros(self._table.cells.shape, np.int64) if self._prices.groups else None
        for k in range(FOLDS):
            here = np.flatnonzero(fold == k)
            held = self._records.part(here)
            part = count_classes(lattice, *held, self._table.classes)
            rest = np.maximum(self._counts - part, 0.0)
            estimates = estimate_classes(lattice, rest, self._shrinkage)
            policy = self._policy_by(lattice, estimates)
            known, leaves = self._known_in(policy, self._table.cells)
            found[here] = estimates.probability[leaves[here]]
            bought.append(known)
            if rank is not None:
                own = leaves[here]
                rank[here] = self._prices.ranks(own, self._paths(policy, own))
        return found, bought, rank

    def _lattice_at(self, beta: float) -> Lattice:
        return Lattice(msgspec.structs.replace(self.problem, reward_value=beta))
