"""What was learned from a table, and the decisions that it leads to at a reward value.

A decider is a plan (`charged_plans.py`) and, where rows are enough to judge them, what is bought
beyond it and the models that decide (`further_looks.py`).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.beliefs import OfLeaves, Table
from askwise.integrations.sklearn.charged_plans import (
    Records,
    best_shrinkage,
    follow,
    policy_of,
)
from askwise.integrations.sklearn.class_estimates import count_classes, estimate_classes
from askwise.integrations.sklearn.further_looks import (
    FurtherLooks,
    Whole,
    fit_further_looks,
    model_of_all,
    with_best_leaves,
    with_thresholds,
)
from askwise.integrations.sklearn.rewards import Prices
from askwise.integrations.sklearn.table import Look, digits_of
from askwise.policy import PathTable, Policy
from askwise.problem import Problem
from askwise.states import Lattice

HALVINGS = 20
"""How often the interval is halved in which the reward value for a budget is."""
LEAST_VALUE = 1e-9
"""The least reward value of a problem: nothing is bought that costs something."""
JUDGED_FROM = 100
"""Rows from which on models of what was bought can be judged on rows that are held back."""


class Decider(NamedTuple):
    """What is bought, and what decides."""

    policy: Policy
    further: FurtherLooks | None


class Decided(NamedTuple):
    """What happened to each row of a table."""

    probability: Floats
    """(rows, classes): what it was decided by."""
    spent: Floats
    leaves: Integers
    """Where in the plan it ended,"""
    known: Flags
    """and the columns that were bought for it then."""


class Learned:
    """What was learned from a table: the same whatever a right decision is worth."""

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
        self._table, self._looks, self._problem = table, looks, problem
        self._prices, self.rewards, self._charge = prices, rewards, charge
        self._further_looks = further_looks if table.weights.sum() >= JUDGED_FROM else 0
        lattice = Lattice(problem)
        self._records = Records(self._digits(table.cells), table.labels, table.weights)
        self._counts = count_classes(lattice, *self._records, table.classes)
        self.shrinkage = (
            best_shrinkage(lattice, self._records, self._counts, rewards, charge)
            if isinstance(shrinkage, str)
            else float(shrinkage)
        )
        self._estimates = estimate_classes(lattice, self._counts, self.shrinkage)

    def decider(self, beta: float, max_spend: float | None = None) -> Decider:
        """The best if a unit of reward is worth β, within what may be spent on a row on average."""
        policy = self._policy_within(beta, max_spend)
        if not self._further_looks:
            return Decider(policy, None)
        known, leaves = self._known_in(policy, self._table.cells)
        table, most = self._table, self._further_looks
        further = fit_further_looks(table, known, leaves, self._whole, self._prices, most)
        of_leaves = OfLeaves(self._estimates.probability, self._held_back(leaves))
        further = with_best_leaves(further, of_leaves, table, self.rewards)
        return Decider(policy, self._thresholds_within(further, beta, max_spend))

    def decide(self, decider: Decider, cells: Floats) -> Decided:
        """Buy for each row and decide."""
        known, leaves = self._known_in(decider.policy, cells)
        if decider.further is None:
            found = self._estimates.probability[leaves]
        else:
            found, known = decider.further.follow(cells, known, leaves, self.rewards)
        return Decided(found, self._prices.of(known), leaves, known)

    def looks(self, decider: Decider, cells: Floats) -> list[list[int]]:
        """The columns that are bought for each row, in the order in which they are."""
        decided = self.decide(decider, cells)
        orders: dict[int, list[int]] = {}
        for leaf in np.unique(decided.leaves).tolist():
            orders[leaf] = self._path(decider.policy, leaf)
            if decider.further is not None:
                order = decider.further.order
                later = order.leaves.get(leaf, order.usual)
                orders[leaf] += [i for i in later if i not in orders[leaf]]
        return [
            [i for i in orders[leaf] if bought[i]]
            for leaf, bought in zip(decided.leaves.tolist(), decided.known, strict=True)
        ]

    # --- how it is done --------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> Whole:
        return model_of_all(self._table)

    def _policy_within(self, beta: float, max_spend: float | None) -> Policy:
        """The plan at β, or at the largest reward value that spends no more than may be spent."""

        def spend(policy: Policy) -> float:
            known, _ = self._known_in(policy, self._table.cells)
            return float(np.average(self._prices.of(known), weights=self._table.weights))

        policy = self._policy_at(beta)
        if max_spend is None or spend(policy) <= max_spend:
            return policy
        low, high = 0.0, beta
        policy = self._policy_at(LEAST_VALUE)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried = self._policy_at(max(middle, LEAST_VALUE))
            if spend(tried) <= max_spend:
                low, policy = middle, tried
            else:
                high = middle
        return policy

    def _thresholds_within(
        self, further: FurtherLooks, beta: float, max_spend: float | None
    ) -> FurtherLooks:
        """When rows go on: as at β, or as if so much less were at stake that it is within."""
        found, spent = with_thresholds(further, self._table, beta, self.rewards)
        if max_spend is None or spent <= max_spend:
            return found
        found, low, high = further, 0.0, 1.0  # at 0 nothing further is bought
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried, spent = with_thresholds(further, self._table, beta * middle, self.rewards)
            if spent <= max_spend:
                low, found = middle, tried
            else:
                high = middle
        return found

    def _policy_at(self, beta: float) -> Policy:
        problem = msgspec.structs.replace(self._problem, reward_value=beta)
        return policy_of(Lattice(problem), self._estimates, self.rewards, self._charge)

    def _digits(self, cells: Floats) -> Integers:
        digits = np.empty((len(cells), len(self._looks)), np.int64)
        for i, (column, look) in enumerate(self._looks):
            digits[:, i] = digits_of(cells[:, column], look)
        return digits

    def _known_in(self, policy: Policy, cells: Floats) -> tuple[Flags, Integers]:
        """The columns that the plan buys for each row, and the state that it ends in."""
        leaves = follow(policy, self._digits(cells)).states
        assert isinstance(policy.table, PathTable)
        columns = [column for column, _ in self._looks]
        known = np.zeros(cells.shape, bool)
        for leaf in np.unique(leaves).tolist():
            bought = [columns[i] for i in policy.lattice.domain(leaf)]
            told_nothing = policy.table.look[leaf]  # a cell that is missing was paid as well
            bought += [columns[told_nothing]] if told_nothing >= 0 else []
            known[np.ix_(leaves == leaf, bought)] = True
        return known, leaves

    def _path(self, policy: Policy, leaf: int) -> list[int]:
        """The columns on the way to a state, and the one that told nothing, if there is one."""
        digits, state = dict(policy.lattice.digits(leaf)), 0
        found = []
        while looks := policy.looks(state):
            found.append(self._looks[looks[0]][0])
            if looks[0] not in digits:
                break
            state = policy.lattice.children(state, looks[0])[digits[looks[0]]]
        return found

    def _held_back(self, leaves: Integers) -> Floats:
        """p̂(c | ℓ) of each row, estimated without its fold."""
        lattice, fold = Lattice(self._problem), self._table.fold
        found = np.empty((len(leaves), self._table.classes))
        for k in range(int(fold.max()) + 1):
            here = np.flatnonzero(fold == k)
            part = count_classes(lattice, *self._records.part(here), self._table.classes)
            rest = np.maximum(self._counts - part, 0.0)
            found[here] = estimate_classes(lattice, rest, self.shrinkage).probability[leaves[here]]
        return found
