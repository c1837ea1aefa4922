"""The rewards of exploring cases, counted separately."""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.counting import UNIT
from askwise.states import Lattice


class ExploredRewards:
    """N(ψ) and Σr(a, ψ) of cases that drew their set and their action at random.

    Such a case is a fair sample of every part of its set. It counts in every substate of its
    values, multiplied by its weight. Sums are whole numbers, so any order of rewards gives the
    same.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.visits: Integers = np.zeros(lattice.size, np.int64)
        self.sums: Integers = np.zeros((lattice.size, len(lattice.problem.actions)), np.int64)
        """In units of 2⁻³⁰."""

    def tallies(self) -> dict[str, Integers]:
        """The counters by name."""
        return {"explored_visits": self.visits, "explored_sums": self.sums}

    def count(
        self, state: int, action: int, reward: float, before: float | None = None, *, weight: int
    ) -> None:
        """Counts the reward of an exploring case in this state. It replaces an earlier reward."""
        seen = self.lattice.substates(state)
        if self.lattice.action_offsets is not None:  # an observed reward stands for those allowed
            allowed = int(self.lattice.may_act_in(self.lattice.subset_of(state)).sum())
        else:
            allowed = 1
        if before is None:
            self.visits[seen] += weight
        else:
            self.sums[seen, action] -= weight * allowed * round(before / UNIT)
        self.sums[seen, action] += weight * allowed * round(reward / UNIT)

    def gains(self) -> Floats:
        """A β Σr(a, ψ) at [ψ, a]: what a alone would have earned, by importance weights.

        Each action was drawn with a probability of 1/A, so an observed reward stands for A. If
        actions have costs or requirements, the sums have that factor already, because A is the
        number of actions that were allowed. Costs are subtracted, and −∞ is not allowed.
        """
        beta, offsets = self.lattice.problem.reward_value, self.lattice.action_offsets
        actions = self.sums.shape[1] if offsets is None else 1
        gains: Floats = np.asarray(self.sums * (UNIT * actions * beta), np.float64)
        if offsets is not None:
            unlike = np.repeat(offsets, np.diff(self.lattice.layout.offsets), axis=0)
            costs = np.where(unlike == -np.inf, 0.0, beta * unlike)
            gains += self.visits[:, None] * costs
            gains[unlike == -np.inf] = -np.inf
        return gains

    def spent(self) -> Floats:
        """N(ψ) times the cost of observing ψ."""
        spent: Floats = self.visits * self.lattice.state_costs
        return spent

    def by_set(self, by_state: Floats | Integers) -> Floats:
        """The sum over the states of each subset in each context."""
        first = self.lattice.layout.context_offsets[:-1]
        sums: Floats = np.add.reduceat(by_state, first).astype(np.float64)
        return sums
