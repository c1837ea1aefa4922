r"""The best sequential policy by the estimates of classes, with a charge for each observation.

The plan is by advantage, with rewards r(a, ψ) = Σ_c p̂(c | ψ) r(c, a). The charge of an observation
is the worth that it would seem to have by chance if it were uninformative
(`planning/advantage.py`). There s is the number of records by which an estimate is shrunk. Here the
charge has a small constant instead, `LUCK_RECORDS`. The strength of a set of observations is chosen
from the same records, so in states of few records the charge would be nearly 0 where it is large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.integrations.sklearn.class_estimates import ClassEstimates
from askwise.planning.advantage import Luck, plan_paths_by_advantage
from askwise.policy import PathTable, Policy
from askwise.states import Lattice

TIE_TOLERANCE = 1e-9
"""The largest difference, relative to β, that counts as a tie."""
LUCK_RECORDS = 2.0
"""The s of the charge, whatever the strength of shrinkage is."""
FOLDS = 5


class Records(NamedTuple):
    """Complete records of the observations of a lattice."""

    digits: Integers
    """(records, observations)."""
    labels: Integers
    weights: Floats

    def part(self, rows: Integers) -> Records:
        """Returns the records of some rows."""
        return Records(self.digits[rows], self.labels[rows], self.weights[rows])


def policy_of(
    lattice: Lattice,
    classes: ClassEstimates,
    rewards: Floats,
    charge: float,
    rebate: Floats | None = None,
) -> Policy:
    """Returns the charged policy. `rewards` is r(c, a) at [c, a].

    `rebate` is the reduction of each observation's price after each subset.
    """
    from askwise._kernels.planning.advantage import spread_of_actions

    beta = lattice.problem.reward_value
    reward: Floats = classes.probability @ rewards
    actions: Choices = reward.argmax(axis=1).astype(np.int16)
    spread = np.empty_like(reward)
    spread_of_actions(classes.probability, rewards, actions, spread)
    luck = Luck(classes.cases, spread, np.full(lattice.subsets, LUCK_RECORDS), charge)
    margin = TIE_TOLERANCE * beta
    plan = plan_paths_by_advantage(
        lattice, classes.weight, reward, margin=margin, luck=luck, rebate=rebate
    )
    return Policy(PathTable(lattice, plan.look, actions, plan.values))


class Walks(NamedTuple):
    """The end state and the spend of each row of a table."""

    states: Integers
    """The state in which the row was decided."""
    spent: Floats


def follow(policy: Policy, digits: Integers) -> Walks:
    """Follows the policy with every row.

    An observation without a known outcome is paid for, and it ends the purchases of the row.
    """
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


def folds_of(labels: Integers) -> Integers:
    """Returns a fold for each row, stratified by class, and always the same for a table."""
    shuffled = np.random.default_rng(0).permutation(len(labels))
    fold = np.empty(len(labels), np.int64)
    fold[np.lexsort((shuffled, labels))] = np.arange(len(labels)) % FOLDS
    return fold
