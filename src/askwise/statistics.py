"""What has been seen, as whole numbers: the sizes of the paper's sets E.

    N(I)        cases in which all of I was looked at               (simultaneous cases)
    N(ψ)        of those, the cases that agreed with ψ              (simultaneous cases)
    N(ψ, i, ψ') steps from ψ by looking at i into ψ'                (sequential cases)
    N(a, ψ)     rewards of action a, taken when just ψ was known
    Σr(a, ψ)    their sum

A simultaneous case counts at every substate of what it saw: its set was chosen blindly, so each
part of it is a fair sample. A sequential case chose what to look at from what it had seen, so it
counts along the path it walked and nowhere else. Rewards count at the exact state acted in.

Everything is a sum of whole numbers, rewards included (in units of 2⁻³⁰): any order of arrival and
any merge of shards give the same bits.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence

import numpy as np

from askwise._typing import Floats, Integers
from askwise.errors import CaseError, StatisticsError
from askwise.lattice import Lattice

UNIT = 2.0**-30
"""The resolution of a reward."""

MOST_CASES = 2**33 - 1
"""So many rewards of 1 still fit into 63 bits; no counter can exceed the number of cases."""


def check_reward(reward: object) -> float:
    """The reward as a float in [0, 1], or an error that names it."""
    if isinstance(reward, numbers.Real) and not isinstance(reward, bool):
        number = float(reward)
        if 0.0 <= number <= 1.0:  # NaN is not
            return number
    hint = "; write 1.0 or 0.0" if isinstance(reward, bool | np.bool_) else ""
    raise CaseError(f"reward must be a number from 0 to 1, got {reward!r}{hint}")


class Statistics:
    """The counters of one problem. `a + b` merges two streams of cases exactly."""

    def __init__(self, lattice: Lattice) -> None:
        states, actions = lattice.size, len(lattice.problem.actions)
        self.lattice = lattice
        self.cases = 0
        """Cases whose observations are counted; t − 1 when the next one opens."""
        self.subset_visits: Integers = np.zeros(lattice.subsets, np.int64)
        """N(I)"""
        self.visits: Integers = np.zeros(states, np.int64)
        """N(ψ)"""
        self.transitions: Integers = np.zeros((states, lattice.m), np.int64)
        """N(ψ, i, ψ') at [ψ', slot of i in ψ']: a state has one cell for each of its parents."""
        self.action_counts: Integers = np.zeros((states, actions), np.int64)
        """N(a, ψ) at [ψ, a]"""
        self.reward_sums: Integers = np.zeros((states, actions), np.int64)
        """Σr(a, ψ) at [ψ, a], in units of 2⁻³⁰"""

    # --- counting ------------------------------------------------------------------------------

    def count_set(self, state: int) -> None:
        """A simultaneous case saw `state`."""
        self._count_case()
        self._count_substates(state)

    def count_path(self, path: Sequence[tuple[int, int]]) -> None:
        """A sequential case took these steps: (the observation bought, the state it led to)."""
        self._count_case()
        for observation, state in path:
            self.transitions[state, self.lattice.slot(state, observation)] += 1

    def count_reward(self, state: int, action: int, reward: float) -> None:
        """`action`, taken when just `state` was known, earned `reward`."""
        reward = check_reward(reward)
        if self.action_counts[state, action] >= MOST_CASES:
            raise StatisticsError(f"state {state} has its {MOST_CASES:,} rewards: no more fit")
        self.action_counts[state, action] += 1
        self.reward_sums[state, action] += round(reward / UNIT)

    def steps(self, state: int, observation: int) -> int:
        """N(ψ, i): how often i was bought when ψ was known."""
        children = self.lattice.children(state, observation)
        if not children:
            return 0
        slot = self.lattice.slot(children[0], observation)
        return int(self.transitions[children.start : children.stop : children.step, slot].sum())

    def mean_rewards(self) -> Floats:
        """r̂(a, ψ) at [ψ, a]; 0 where nothing was counted."""
        return self.reward_sums * UNIT / np.maximum(1, self.action_counts)

    def _count_case(self) -> None:
        if self.cases >= MOST_CASES:
            raise StatisticsError(f"{MOST_CASES:,} cases are counted: no more fit")
        self.cases += 1

    def _count_substates(self, state: int) -> None:
        from askwise._kernels.counting import count_set

        count_set(self.lattice.layout, state, self.visits, self.subset_visits)

    # --- whole ---------------------------------------------------------------------------------

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Every array of counters with its name."""
        for name in ("subset_visits", "visits", "transitions", "action_counts", "reward_sums"):
            yield name, getattr(self, name)

    def copy(self) -> Statistics:
        """The same counters, apart from these."""
        return self + Statistics(self.lattice)

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.lattice.problem != other.lattice.problem:
            raise StatisticsError("statistics of two different problems cannot be added")
        total = Statistics(self.lattice)
        total.cases = self.cases + other.cases
        for (name, mine), (_, others) in zip(self.arrays(), other.arrays(), strict=True):
            np.add(mine, others, out=getattr(total, name))
        most = max(total.cases, int(total.action_counts.max()))
        if most > MOST_CASES:
            raise StatisticsError(f"together {most:,} cases: at most {MOST_CASES:,} fit")
        return total

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Statistics)
            and self.lattice.problem == other.lattice.problem
            and self.cases == other.cases
            and all(
                np.array_equal(mine, others)
                for (_, mine), (_, others) in zip(self.arrays(), other.arrays(), strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rewards = int(self.action_counts.sum())
        return f"<Statistics of {self.cases:,} cases and {rewards:,} rewards>"
