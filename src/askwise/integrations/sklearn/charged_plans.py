r"""The best sequential policy by the estimates of classes, each look charged for its branches.

A plan picks the best of many looks, and in each of their outcomes the best of several actions, so
it picks lucky ones too. With r(a, ψ) = Σ_c p̂(c | ψ) r(c, a) the plan is by advantage
(`planning/advantage.py`), less what a look that tells nothing seems to be worth:

    Q(ψ, i) = β r*(ψ) + Σ p(ψ' | ψ, i) (F(ψ') − c) − max_a Σ p(ψ' | ψ, i) β r(a, ψ')
              − τ β σ(ψ) (K − 1) / n(ψ),

K being the outcomes of i that were seen in ψ, and σ(ψ) the standard deviation of what one record
earns by the best blind action. Why so: if a look tells nothing, what an action earns in an outcome
of n_x records is off by about σ/√n_x. Weighed with n_x/n, an outcome in which that turns the
choice adds about σ √n_x / n, and it is turned only where actions are within that of each other,
which for K outcomes leaves about σ/n for each degree of freedom that the look has.

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
from askwise.planning.advantage import plan_paths_by_advantage
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
        """Some of them."""
        return Records(self.digits[rows], self.labels[rows], self.weights[rows])


def policy_of(lattice: Lattice, classes: ClassEstimates, rewards: Floats, charge: float) -> Policy:
    """The charged policy; `rewards` is r(c, a) at [c, a], `charge` is τ."""
    beta = lattice.problem.reward_value
    reward: Floats = classes.probability @ rewards
    actions: Choices = reward.argmax(axis=1).astype(np.int16)
    best = reward[np.arange(len(reward)), actions]
    squares = np.einsum("sc,cs->s", classes.probability, rewards[:, actions] ** 2)
    deviation = np.sqrt(np.maximum(squares - best**2, 0.0))
    plan = plan_paths_by_advantage(
        lattice,
        classes.weight,
        reward,
        cases=classes.cases,
        charge=charge * beta * deviation / np.maximum(classes.cases, 1e-300),
        margin=TIE_TOLERANCE * beta,
    )
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
    fold = folds_of(records.labels, records.digits)
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


def folds_of(labels: Integers, rows: Floats | Integers) -> Integers:
    """A fold for each row, classes spread evenly; equal rows with equal labels are in one fold.

    Nothing is random, and a row counts as often as it weighs: one that weighs two is two.
    """
    whole = np.column_stack([labels, rows])
    _, first, place = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    shuffled = np.random.default_rng(0).permutation(len(first))
    order = np.lexsort((shuffled, labels[first]))
    fold = np.empty(len(first), np.int64)
    fold[order] = np.arange(len(first)) % FOLDS
    return fold[place.ravel()]
