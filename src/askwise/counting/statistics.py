"""Counts what was observed and earned, as whole numbers: the sizes of the paper's sets E.

    N(I)        cases in which all of I was observed                (simultaneous cases)
    N(ψ)        of those, the cases that agreed with ψ              (simultaneous cases)
                if anything is given, the cases that began in ψ     (sequential cases)
    N(ψ, i, ψ') steps from ψ by buying i into ψ'                    (sequential cases)
    N(a, ψ)     rewards of action a, taken when exactly ψ was known
    Σr(a, ψ)    their sum
    Σr²(a, ψ)   the sum of their squares

A simultaneous case counts at every substate of its values: its set was chosen before any result was
known, so each part of it is a fair sample. A sequential case chose each observation from earlier
results, so it counts along its own path only. Rewards count at the exact state acted in.

Everything is a sum of whole numbers, rewards included (in units of 2⁻³⁰), so any order of arrival
and any merge of shards give the same bits.

The counters of a state are in its row (`counting/row_counters.py`). Units and limits are in
`counting/units.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from askwise._support.typing import AcquisitionName, Floats, Integers
from askwise.counting.overrides import Overrides
from askwise.counting.row_counters import BY_ROW, RowCounters
from askwise.counting.units import MOST_CASES, MOST_PAID, PAID_UNIT, UNIT, check_reward, units_of
from askwise.errors import StatisticsError
from askwise.problem import Seen
from askwise.states import Lattice


class Statistics(RowCounters):
    """The counters of one problem. `a + b` merges two streams of cases exactly."""

    def __init__(self, lattice: Lattice, *, sparse: bool = False) -> None:
        super().__init__(lattice, sparse=sparse)
        self.cases = 0
        """The number of cases whose observations are counted; t − 1 when the next one opens."""
        self.records = 0
        """The number of complete records among them, counted in every state with all rewards."""
        self.paid_counts: Integers = np.zeros(lattice.buyable, np.int64)
        """For each observation, how often a paid price was reported."""
        self.paid_sums: Integers = np.zeros(lattice.buyable, np.int64)
        """For each observation, the sum of the reported prices, in units of 2⁻²⁰."""
        self.overrides = Overrides(lattice)
        """What people did instead of the advice; no learner uses it."""

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Every array of counters with its name, without unused rows."""
        yield from super().arrays()
        yield "paid_counts", self.paid_counts
        yield "paid_sums", self.paid_sums
        yield from self.overrides.arrays()

    def dense(self) -> Statistics:
        """Returns the same counters with a row for every state."""
        return Statistics(self.lattice) + self if self.is_sparse else self

    # --- counting ------------------------------------------------------------------------------

    def count_set(self, state: int, subset: int | None = None) -> None:
        """Counts a simultaneous case that observed `state`, of that subset if it is known."""
        self.count_case()
        if not self.is_sparse:
            self._count_later(state)
            return
        from askwise._kernels.counting.counting import count_set

        if subset is None:
            subset = self.lattice.subset_of(state)
        self.make_room(1 << int(self.lattice.layout.sizes[subset]))
        count_set(self.lattice.layout, self.counters, subset, state)

    def count_path(self, path: Sequence[tuple[int, int]], start: int = 0, subset: int = 0) -> None:
        """Counts the steps of a sequential case: (the observation bought, the state it led to).

        The case began in the given state, of that subset, with the given values and those on file.
        """
        self.count_case()
        self.count_steps(path, start, subset)

    def count_steps(self, path: Sequence[tuple[int, int]], start: int, subset: int) -> None:
        """Counts the steps of a case that did not act."""
        if self.is_sparse:
            self.make_room(1 + len(path))
        if self.lattice.contexts > 1 and subset == 0:  # nothing was put on file
            self.visits[self._own_row(start)] += 1
        steps, transitions, is_dense = self.lattice.steps, self.transitions, not self.is_sparse
        for observation, state in path:
            subset, slot, _, _, _, _ = steps[subset, observation]
            transitions[state if is_dense else self._own_row(state), slot] += 1

    def count_reward(self, state: int, action: int, reward: float) -> None:
        """Counts the reward, from 0 to 1, of an action taken when exactly `state` was known."""
        reward = check_reward(reward)
        if self.is_sparse:
            self.make_room(1)
        row = self._own_row(state)
        if self.action_counts.item(row, action) >= MOST_CASES:
            raise StatisticsError(f"state {state} has its {MOST_CASES:,} rewards: no more fit")
        self.action_counts[row, action] += 1
        units, graded = units_of(reward)
        self.reward_sums[row, action] += units
        if graded:
            self.graded_sums[row, action] += graded

    def replace_reward(self, state: int, action: int, before: float, reward: float) -> None:
        """Corrects a reward that was counted as `before`."""
        row, was, now = self.row(state), units_of(before), units_of(reward)
        self.reward_sums[row, action] += now[0] - was[0]
        self.graded_sums[row, action] += now[1] - was[1]

    def count_paid(self, observation: int, amount: float) -> None:
        """Counts the price that was paid for an observation."""
        units = round(self.check_paid(observation, amount) / PAID_UNIT)
        self.paid_counts[observation] += 1
        self.paid_sums[observation] += units

    def check_paid(self, observation: int, amount: float) -> float:
        """Returns the amount, or raises an error if the sum would become too large."""
        if self.paid_sums.item(observation) * PAID_UNIT + amount > MOST_PAID:
            name = self.lattice.observations[observation].name
            raise StatisticsError(
                f"{amount!r} paid for {name!r}: at most {MOST_PAID:,.0f} fit, together"
            )
        return amount

    def forget_paid(self, observation: int) -> None:
        """Drops the prices that were paid for an observation."""
        self.paid_counts[observation] = self.paid_sums[observation] = 0

    def mean_paid(self) -> dict[str, float]:
        """The mean price that was paid for each observation, if any was reported."""
        told, names = np.flatnonzero(self.paid_counts), self.lattice.names_of
        means = self.paid_sums[told] * PAID_UNIT / self.paid_counts[told]
        return dict(zip(names(tuple(told.tolist())), means.tolist(), strict=True))

    def frequency(self) -> Floats | None:
        """How often each context occurred; None if there is one context, or no case."""
        contexts = self.lattice.contexts
        if contexts == 1:
            return None
        came: Floats = self.visits[self.rows_of(np.arange(contexts))].astype(np.float64)
        return came / came.sum() if came.any() else None

    def record(
        self,
        observed: Mapping[str, Seen],
        action: str,
        reward: float,
        *,
        acquisition: AcquisitionName,
    ) -> None:
        """Counts a finished case by names: the observations in the order of purchase, the action,
        the reward.

        `observed` also has the given values, at any place; None is an observation that failed. The
        reward is from 0 to 1, or money if the problem has `rewards`.

        acquisition: "simultaneous" if the set was chosen before any result was known, "sequential"
        if each observation was chosen with the earlier results known.
        """
        lattice = self.lattice
        if acquisition not in ("simultaneous", "sequential"):
            raise StatisticsError(
                f'acquisition must be "sequential" or "simultaneous", got {acquisition!r}'
            )
        # names whatever is wrong before anything is counted
        start = lattice.context(lattice.index(observed))
        path, subset, state = [], 0, start
        chosen, share = lattice.action(action), lattice.problem.as_share(reward)
        for name, value in observed.items():
            i = lattice.position(name)
            if i >= lattice.buyable:
                continue
            step = lattice.step(subset, i)
            subset, state = step.subset, step.child(state, lattice.digit(i, value))
            path.append((i, state))
        if acquisition == "simultaneous":
            self.count_set(state)
        else:
            self.count_path(path, start)
        self.count_reward(state, chosen, share)

    def count_of(self, state: int, choice: int) -> int:
        """N(a, ψ) of an action, or N(ψ, i) of an observation, given as −1 − i."""
        if choice < 0:
            return self.steps(state, -1 - choice)
        return self.action_counts.item(self.row(state), choice)

    def steps(self, state: int, observation: int) -> int:
        """N(ψ, i): how often i was bought when ψ was known."""
        step = self.lattice.steps[self.lattice.subset_of(state), observation]
        slot, stride = step.slot, step.stride
        if slot < 0:
            return 0
        first, count = step.child(state, 0), self.transitions.item
        if self.is_sparse:
            return sum(count(self.row(first + x * stride), slot) for x in range(step.radix))
        return sum([count(first + x * stride, slot) for x in range(step.radix)])

    def steps_before(self, states: Integers) -> Integers:
        """N(ψ, i) at [ψ', slot of i in ψ'] of each of these states ψ'."""
        from askwise._kernels.counting.steps import steps_before

        steps = np.zeros((len(states), self.lattice.m), np.int64)
        steps_before(self.lattice.layout, self.counters, states, steps)
        return steps

    def mean_rewards(self) -> Floats:
        """r̂(a, ψ) at [ψ, a]; 0 where nothing was counted."""
        return self.reward_sums * UNIT / np.maximum(1, self.action_counts)

    def count_case(self) -> None:
        """Counts a case that acted. Its observations are counted separately."""
        if self.cases >= MOST_CASES:
            raise StatisticsError(f"{MOST_CASES:,} cases are counted: no more fit")
        self.cases += 1

    # --- whole ---------------------------------------------------------------------------------

    def copy(self) -> Statistics:
        """Returns an independent copy."""
        other = Statistics(self.lattice, sparse=self.is_sparse)
        if self.is_sparse:
            other += self
            return other
        other.cases, other.records = self.cases, self.records
        for (_, mine), (_, theirs) in zip(self.arrays(), other.arrays(), strict=True):
            theirs[...] = mine
        return other

    def __add__(self, other: Statistics) -> Statistics:
        """Stored as the first one is."""
        if not isinstance(other, Statistics):
            return NotImplemented
        total = Statistics(self.lattice, sparse=self.is_sparse)
        total += self
        total += other
        return total

    def __iadd__(self, other: Statistics) -> Statistics:
        """Adds in place; every state keeps its row."""
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.lattice != other.lattice:
            raise StatisticsError("statistics of two different problems cannot be added")
        rewards = int(self.action_counts.max()) + int(other.action_counts.max())
        most = max(self.cases + other.cases, rewards)
        if most > MOST_CASES:
            raise StatisticsError(f"together {most:,} cases: at most {MOST_CASES:,} fit")
        paid = self.paid_sums * PAID_UNIT + other.paid_sums * PAID_UNIT
        if paid.max(initial=0.0) > MOST_PAID:
            name = self.lattice.observations[int(paid.argmax())].name
            raise StatisticsError(
                f"together {paid.max():,.0f} paid for {name!r}: at most {MOST_PAID:,.0f} fit"
            )
        self.cases += other.cases
        self.records += other.records
        subset_visits, states, *counted = other._counted()
        self.give_rows(states)
        rows = self.rows_of(states)
        mine = self.subset_visits
        mine += subset_visits
        self.paid_counts += other.paid_counts
        self.paid_sums += other.paid_sums
        self.overrides += other.overrides
        for name, theirs in zip(BY_ROW, counted, strict=True):
            getattr(self, name)[rows] += theirs
        return self

    def take_back(self, other: Statistics, *, only_rewards: bool = False) -> None:
        """Subtracts a part of the counts in place; every state keeps its row.

        With `only_rewards`, cases and their observations stay counted. What people did is never
        forgotten.
        """
        if self.lattice != other.lattice:
            raise StatisticsError("statistics of two different problems cannot be subtracted")
        subset_visits, states, *counted = other._counted()
        rows, mine = self.rows_of(states), self.subset_visits
        self.paid_counts -= other.paid_counts
        self.paid_sums -= other.paid_sums
        if not only_rewards:
            self.cases -= other.cases
            self.records -= other.records
            mine -= subset_visits
        for name, theirs in zip(BY_ROW, counted, strict=True):
            if not only_rewards or name in ("action_counts", "reward_sums", "graded_sums"):
                getattr(self, name)[rows] -= theirs

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Statistics)
            and self.lattice == other.lattice
            and (self.cases, self.records) == (other.cases, other.records)
            and all(
                np.array_equal(mine, others)
                for mine, others in zip(
                    self._counted() + self._paid(), other._counted() + other._paid(), strict=True
                )
            )
        )

    def _paid(self) -> list[Integers]:
        people = (array for _, array in self.overrides.arrays())
        return [self.paid_counts, self.paid_sums, *people]

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process: the counts and their rows."""
        lattice = self.lattice
        return {
            "lattice": (lattice.problem, lattice.m),
            "sparse": self.is_sparse,
            "cases": self.cases,
            "records": self.records,
            "states": self.states,
            "arrays": dict(self.arrays()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        problem, m = state["lattice"]
        lattice = Lattice(problem, max_observations=m)
        self.__init__(lattice, sparse=state["sparse"])  # type: ignore[misc]
        self.cases, self.records = state["cases"], state["records"]
        self.give_rows(state["states"][1:])
        for name, array in self.arrays():
            array[...] = state["arrays"][name]

    def __repr__(self) -> str:
        if self.records:
            whole = f"{self.records:,} complete records"
            rest = self.cases - self.records
            return f"<Statistics of {whole}{f' and {rest:,} cases' if rest else ''}>"
        rewards = int(self.action_counts.sum())
        return f"<Statistics of {self.cases:,} cases and {rewards:,} rewards>"
