r"""The best plan within a mean spend of a row.

The plan of a reward value β maximises β r − c. Over all β these are the plans on the upper hull of
reward against spend, and their spend changes in jumps. A plan that is not on the hull may be the
best one within a budget B. So these plans are compared, if the plan at β spends more than B:

1. the plan of the largest reward value that spends at most B,
2. plans for subsets of the columns, in which the others cannot be bought. The subsets grow by the
   column that adds most within the budget, or by two columns if none adds anything alone,
3. parts of all these plans and of the plan of all columns. Purchases that earn least for their
   price are left out, one after the other, as long as the spend is above B. The last one left out
   is the one whose loss is least among those that are large enough.

A purchase is left out at a state ψ with all that follows it. It earns w Σ_n (r_n(ℓ_n) − r_n(ψ)) of
the rows n in ψ, where ℓ_n is the end of row n and r_n(ψ) is the reward of the action that is best
in ψ by all rows but n:

    p̂₋ₙ(c | ψ) ∝ (n(ψ) + s) p̂(c | ψ) − w_n [c = c_n].

The plan with the highest mean r_n(ℓ_n) is taken. Of equal plans it is the one that spends least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Flags, Floats, Integers
from askwise.integrations.sklearn.charged_plans import Records
from askwise.integrations.sklearn.class_estimates import ClassEstimates
from askwise.policy import PathTable, Policy
from askwise.states import Lattice

HALVINGS = 20
"""The number of bisection steps in the search for the reward value of a budget."""
LEAST_VALUE = 1e-9
"""The least reward value of a problem, at which only free observations are bought."""
MOST_TRIED = 60
"""The most plans for subsets of columns."""
ROUNDING = 1e-9
"""The largest difference of spend or reward, relative to the budget or to 1, that is rounding."""


class Planned(NamedTuple):
    """A plan with its mean reward and its mean spend."""

    reward: float
    spend: float
    policy: Policy


class Budget(NamedTuple):
    """What the search needs to know."""

    records: Records
    estimates: ClassEstimates
    rewards: Floats
    plan: Callable[[float, Flags | None], Policy]
    """The plan at a reward value. Only the flagged observations can be bought in it."""
    spend: Callable[[Policy], float]
    """The mean spend of a row."""

    def best_within(self, beta: float, most: float) -> Policy:
        """Returns the plan at β, or the best one that was found within the budget."""
        first = self.plan(beta, None)
        if self.spend(first) <= most:
            return first
        most = most * (1 + ROUNDING)
        of_hull, above = self._at_jump(beta, most)
        found = [self._planned(of_hull)]
        for policy in (above, first):
            found += self._parts(policy, most)
        found.append(self._best_of_subsets(beta, most, first.lattice.buyable))
        return min(found, key=lambda one: (-round(one.reward / ROUNDING), one.spend)).policy

    def _at_jump(self, beta: float, most: float) -> tuple[Policy, Policy]:
        """Returns the plans on both sides of the budget that are best at some reward value."""
        low, high = 0.0, beta
        within, above = self.plan(LEAST_VALUE, None), self.plan(beta, None)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            tried = self.plan(max(middle, LEAST_VALUE), None)
            if self.spend(tried) <= most:
                low, within = middle, tried
            else:
                high, above = middle, tried
        return within, above

    def _best_of_subsets(self, beta: float, most: float, columns: int) -> Planned:
        """Returns the best plan of subsets that grow by the column that adds most."""
        allowed = np.zeros(columns, bool)
        best, tried = self._planned(self.plan(LEAST_VALUE, allowed)), 0
        while not allowed.all():
            for size in (1, 2):  # two columns may be informative only together
                grown = []
                for more in combinations(np.flatnonzero(~allowed).tolist(), size):
                    tried += 1
                    if tried > MOST_TRIED:
                        return best
                    subset = allowed.copy()
                    subset[list(more)] = True
                    parts = self._parts(self.plan(beta, subset), most)
                    grown += [(one.reward, -one.spend, more, one) for one in parts]
                *_, more, one = max(grown, key=lambda row: row[:3], default=(None, None, (), best))
                if one.reward > best.reward + ROUNDING:
                    best = one
                    allowed[list(more)] = True
                    break
            else:
                return best
        return best

    def _planned(self, policy: Policy) -> Planned:
        walk = Walk.of(policy, self)
        reward = np.average(walk.reward[:, -1], weights=self.records.weights)
        return Planned(float(reward), self.spend(policy), policy)

    def _parts(self, policy: Policy, most: float) -> Iterator[Planned]:
        """Returns parts of a plan that are within the budget."""
        whole = self._planned(policy)
        if whole.spend <= most:
            yield whole
            return
        for stops in Walk.of(policy, self).parts(whole.spend - most, self.records.weights):
            part = self._planned(without(policy, stops))
            if part.spend <= most:
                yield part


class Walk(NamedTuple):
    """The states of each row on its way through a plan, with what it earns and has spent there."""

    states: Integers
    """(rows, m + 1): a row that has ended stays in its last state."""
    reward: Floats
    spent: Floats

    @classmethod
    def of(cls, policy: Policy, budget: Budget) -> Walk:
        """Follows the plan with all rows."""
        lattice, (digits, labels, weights) = policy.lattice, budget.records
        assert isinstance(policy.table, PathTable)
        states = np.zeros((len(labels), lattice.m + 1), np.int64)
        for depth in range(lattice.m):
            now = states[:, depth]
            states[:, depth + 1] = now
            for state in np.unique(now).tolist():
                i = int(policy.table.look[state])
                if i >= 0:
                    rows = np.flatnonzero((now == state) & (digits[:, i] >= 0))
                    children = np.array(lattice.children(state, i))
                    states[rows, depth + 1] = children[digits[rows, i]]
        reward = np.empty(states.shape)
        for depth in range(states.shape[1]):
            parts = states[:, depth], labels, weights
            reward[:, depth] = earned_apart(lattice, budget.estimates, budget.rewards, *parts)
        spent = lattice.costs_of(states.ravel()).reshape(states.shape)
        return cls(states, reward, spent)

    def parts(self, excess: float, weights: Floats) -> Iterator[Integers]:
        """Returns sets of states at which to stop so that this much less is spent, or about it."""
        end = np.full(len(weights), self.states.shape[1] - 1)
        rows, share = np.arange(len(weights)), weights / weights.sum()
        stops: list[int] = []
        while excess > 0:
            nodes, lost, saved = [], [], []
            for depth in range(self.states.shape[1] - 1):
                goes = np.flatnonzero(self.spent[rows, end] > self.spent[:, depth])
                goes = goes[end[goes] > depth]
                here, place = np.unique(self.states[goes, depth], return_inverse=True)
                less = self.reward[goes, end[goes]] - self.reward[goes, depth]
                cheaper = self.spent[goes, end[goes]] - self.spent[goes, depth]
                lost.append(np.bincount(place, share[goes] * less, minlength=len(here)))
                saved.append(np.bincount(place, share[goes] * cheaper, minlength=len(here)))
                nodes.append(np.column_stack([np.full(len(here), depth), here]))
            every, loss, saving = (np.concatenate(part) for part in (nodes, lost, saved))
            if not len(every):
                return
            enough = np.flatnonzero(saving >= excess - ROUNDING)
            if len(enough):
                last = enough[np.argmin(loss[enough])]
                yield np.array([*stops, every[last, 1]])
            weakest = int(np.argmin(loss / saving))
            depth, state = every[weakest].tolist()
            end[self.states[:, depth] == state] = np.minimum(
                end[self.states[:, depth] == state], depth
            )
            stops.append(state)
            excess -= float(saving[weakest])
        yield np.array(stops)


def without(policy: Policy, stops: Integers) -> Policy:
    """Returns the plan that buys nothing more in some states."""
    table = policy.table
    assert isinstance(table, PathTable)
    look = table.look.copy()
    look[stops] = -1
    return Policy(PathTable(policy.lattice, look, table.actions, table.values))


def earned_apart(
    lattice: Lattice,
    estimates: ClassEstimates,
    rewards: Floats,
    states: Integers,
    labels: Integers,
    weights: Floats,
) -> Floats:
    """Returns r_n(ψ) of each row in its state, by the estimates of the other rows."""
    subset = np.searchsorted(lattice.layout.offsets, states, side="right") - 1
    number = estimates.cases[states] + estimates.strength[subset]
    counts = estimates.probability[states] * number[:, None]
    rows = np.arange(len(states))
    counts[rows, labels] = np.maximum(counts[rows, labels] - weights, 0.0)
    found: Floats = rewards[labels, (counts @ rewards).argmax(axis=1)]
    return found
