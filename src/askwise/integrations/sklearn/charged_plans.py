r"""The best sequential policy by the estimates of classes, each look charged for its luck.

With r(a, ψ) = Σ_c p̂(c | ψ) r(c, a) the plan is by advantage, and each look is charged with what
it would seem to be worth if it told nothing (`planning/advantage.py`).

The strength of shrinkage is what would have earned most: rows are put into folds, each fold is
decided by a plan from the others, and the strength whose plans gain most is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.integrations.sklearn.class_estimates import (
    ClassEstimates,
    count_classes,
    estimate_classes,
)
from askwise.planning.advantage import Luck, plan_paths_by_advantage
from askwise.policy import PathTable, Policy
from askwise.states import Lattice

TIE_TOLERANCE = 1e-9
"""Differences, relative to β, that are no differences."""
STRENGTHS = (4.0, 16.0, 64.0)
"""The strengths of shrinkage that are tried."""
FOLDS = 5


class Records(NamedTuple):
    """Complete records of the observations of a lattice."""

    digits: Integers
    """(records, observations)."""
    labels: Integers
    weights: Floats

    def part(self, rows: Integers) -> Records:
        """The records of some rows."""
        return Records(self.digits[rows], self.labels[rows], self.weights[rows])


def policy_of(lattice: Lattice, classes: ClassEstimates, rewards: Floats, charge: float) -> Policy:
    """The charged policy; `rewards` is r(c, a) at [c, a]."""
    from askwise._kernels.planning.advantage import spread_of_actions

    beta = lattice.problem.reward_value
    reward: Floats = classes.probability @ rewards
    actions: Choices = reward.argmax(axis=1).astype(np.int16)
    spread = np.empty_like(reward)
    spread_of_actions(classes.probability, rewards, actions, spread)
    luck = Luck(classes.cases, spread, classes.shrinkage, charge)
    margin = TIE_TOLERANCE * beta
    plan = plan_paths_by_advantage(lattice, classes.weight, reward, margin=margin, luck=luck)
    return Policy(PathTable(lattice, plan.look, actions, plan.values))


class Walks(NamedTuple):
    """What happened to each row of a table."""

    states: Integers
    """The state that it was decided in."""
    spent: Floats


def follow(policy: Policy, digits: Integers) -> Walks:
    """Follow the policy with every row. A look that tells nothing is paid, and is the last one."""
    from askwise._kernels.estimation.class_shrinkage import follow_looks

    lattice, table = policy.lattice, policy.table
    assert isinstance(table, PathTable)
    states = np.empty(len(digits), np.int64)
    follow_looks(lattice.layout, table.look, digits, states)
    spent = lattice.costs_of(states)
    for row in np.flatnonzero(table.look[states] >= 0):
        state = int(states[row])
        spent[row] += lattice.price(state, (int(table.look[state]),))
    return Walks(states, spent)


def best_shrinkage(
    lattice: Lattice, records: Records, counts: Floats, rewards: Floats, charge: float
) -> float:
    """The strength whose plans earn most in rows that they were not made from."""
    fold = folds_of(records.labels)
    beta, gains = lattice.problem.reward_value, np.zeros(len(STRENGTHS))
    for k in range(int(fold.max()) + 1):
        held = records.part(np.flatnonzero(fold == k))
        rest = counts - count_classes(lattice, *held, counts.shape[1])
        rest = np.maximum(rest, 0.0)
        if not rest[0].any():
            continue
        for place, strength in enumerate(STRENGTHS):
            estimates = estimate_classes(lattice, rest, strength)
            policy = policy_of(lattice, estimates, rewards, charge)
            walks = follow(policy, held.digits)
            earned = beta * rewards[held.labels, policy.actions[walks.states]]
            gains[place] += held.weights @ (earned - walks.spent)
    return STRENGTHS[int((gains >= gains.max() - TIE_TOLERANCE * beta).argmax())]


def folds_of(labels: Integers) -> Integers:
    """A fold for each row, the rows of each class spread evenly; always the same for a table."""
    shuffled = np.random.default_rng(0).permutation(len(labels))
    fold = np.empty(len(labels), np.int64)
    fold[np.lexsort((shuffled, labels))] = np.arange(len(labels)) % FOLDS
    return fold
