"""Compares a policy with what was done in each row of a log.

A row of logged decisions is a sequence of steps: each observation in its order, then the action. A
set that was chosen at once is one step. If every observation is known anyway, the action is the
only step. The policy agrees with a step if it would have taken it in the state reached so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName, Floats, Integers
from askwise.logs.counting import Decisions
from askwise.policy import Policy
from askwise.states import Lattice


class Agreement(NamedTuple):
    """The steps of each row with which the policy agrees. Steps are columns."""

    steps: Integers
    """The number of steps that were taken."""
    agreed: Integers
    """and with how many of them, from the first on, the policy agrees."""
    states: Integers
    """The state before each step, as far as the policy agrees, and where it first does not."""
    prices: Floats
    """What each step costs, as far as the policy agrees; acting costs nothing."""
    spent: Floats
    """The policy's spend if everything is known; else the spend of the steps that agree."""

    def at(self, rows: Integers) -> Agreement:
        """Returns the part for some of the rows."""
        return Agreement(
            self.steps[rows],
            self.agreed[rows],
            self.states[rows],
            self.prices[rows],
            self.spent[rows],
        )


class _RowAgreement(NamedTuple):
    steps: int
    agreed: int
    states: tuple[int, ...]
    prices: tuple[float, ...]
    spent: float


def agreement_of(
    policy: Policy, decisions: Decisions, acquisition: AcquisitionName | None
) -> Agreement:
    """Compares the policy with each row; `acquisition` is None if every row is complete."""
    keyed = np.column_stack([decisions.digits, decisions.actions, decisions.orders])
    _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    agreement = []
    for row in first.tolist():
        digits, action = decisions.digits[row].tolist(), int(decisions.actions[row])
        if acquisition is None:
            agreement.append(_agree_known(policy, digits, action))
        elif acquisition == "simultaneous":
            agreement.append(_agree_set(policy, digits, action))
        else:
            order = decisions.distinct[int(decisions.orders[row])]
            agreement.append(_agree_order(policy, digits, action, order))
    width = max(found.steps for found in agreement)
    states = np.zeros((len(agreement), width), np.int64)
    prices = np.zeros((len(agreement), width))
    for k, found in enumerate(agreement):
        states[k, : len(found.states)] = found.states
        prices[k, : len(found.prices)] = found.prices
    steps = np.array([found.steps for found in agreement], np.int64)
    agreed = np.array([found.agreed for found in agreement], np.int64)
    spent = np.array([found.spent for found in agreement], np.float64)
    return Agreement(steps, agreed, states, prices, spent).at(inverse)


def _begin(lattice: Lattice, digits: list[int]) -> int:
    """The state in which a row began: what is given."""
    return lattice.index_of({i: digits[i] for i in range(lattice.buyable, len(digits))})


def _child(lattice: Lattice, state: int, i: int, digit: int) -> int:
    return lattice.step(lattice.subset_of(state), i).child(state, digit)


def _agree_known(policy: Policy, digits: list[int], action: int) -> _RowAgreement:
    """The policy looks at what it wants."""
    lattice, state = policy.lattice, _begin(policy.lattice, digits)
    while looks := policy.looks(state):
        state = _child(lattice, state, looks[0], digits[looks[0]])
    agreed = int(policy.act(state) == action)
    return _RowAgreement(1, agreed, (state,), (0.0,), lattice.spent(state))


def _agree_set(policy: Policy, digits: list[int], action: int) -> _RowAgreement:
    """The policy must buy exactly the observations of the row, and take the same action."""
    lattice, start = policy.lattice, _begin(policy.lattice, digits)
    state, seen = start, set()
    while looks := policy.looks(state):
        if digits[looks[0]] < 0:
            return _RowAgreement(2, 0, (start,), (), 0.0)
        seen.add(looks[0])
        state = _child(lattice, state, looks[0], digits[looks[0]])
    if len(seen) < sum(digit >= 0 for digit in digits[: lattice.buyable]):
        return _RowAgreement(2, 0, (start,), (), 0.0)
    agreed, spent = 1 + (policy.act(state) == action), lattice.spent(state)
    return _RowAgreement(2, agreed, (start, state), (spent, 0.0), spent)


def _agree_order(
    policy: Policy, digits: list[int], action: int, order: tuple[int, ...]
) -> _RowAgreement:
    """The policy must buy the same observations in the same order, and take the same action.

    A policy that buys a set buys it in the order of declaration.
    """
    lattice, state = policy.lattice, _begin(policy.lattice, digits)
    prices: list[float] = []
    states, steps = [state], len(order) + 1
    for i in order:
        if policy.looks(state)[:1] != (i,):
            return _RowAgreement(steps, len(prices), tuple(states), tuple(prices), 0.0)
        child = _child(lattice, state, i, digits[i])
        prices.append(lattice.spent(child) - lattice.spent(state))
        state = child
        states.append(state)
    acts = not policy.looks(state) and policy.act(state) == action
    return _RowAgreement(
        steps, steps if acts else steps - 1, tuple(states), (*prices, 0.0), lattice.spent(state)
    )
