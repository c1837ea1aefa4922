"""What has been seen, as whole numbers: the sizes of the paper's sets E.

    N(I)        cases in which all of I was looked at               (simultaneous cases)
    N(ψ)        of those, the cases that agreed with ψ              (simultaneous cases)
                if anything is given, the cases that began in ψ     (sequential cases)
    N(ψ, i, ψ') steps from ψ by looking at i into ψ'                (sequential cases)
    N(a, ψ)     rewards of action a, taken when just ψ was known
    Σr(a, ψ)    their sum

A simultaneous case counts at every substate of what it saw: its set was chosen blindly, so each
part of it is a fair sample. A sequential case chose what to look at from what it had seen, so it
counts along the path it walked and nowhere else. Rewards count at the exact state acted in.

Everything is a sum of whole numbers, rewards included (in units of 2⁻³⁰): any order of arrival and
any merge of shards give the same bits.

The counters of a state are in its row (`states/rows.py`). Dense statistics have a row for every
state, at the state's own index. Sparse ones have rows for the states that were visited: the memory
follows what was seen, whatever the size of the problem.
"""

from __future__ import annotations

import numbers
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from askwise._support.typing import AcquisitionName, Floats, Integers
from askwise.errors import CaseError, StatisticsError, TooLargeError
from askwise.problem import Seen
from askwise.problem.amounts import LARGEST_SUM
from askwise.states import Lattice
from askwise.states.rows import Counters, Rows, extended

PAID_UNIT = 2.0**-20
"""The resolution of a price that was paid."""

MOST_PAID = LARGEST_SUM
"""So that the sum of prices paid fits into 63 bits."""

UNIT = 2.0**-30
"""The resolution of a reward."""

MOST_STATES = 20_000_000
"""Of a problem whose every state has a row."""

FIRST_ROWS = 1024

MOST_WAITING = 4096

MOST_CASES = 2**33 - 1
"""So many rewards of 1 still fit into 63 bits; no counter can exceed the number of cases."""


def check_reward(reward: object) -> float:
    """The reward as a float in [0, 1], or an error that names it."""
    if type(reward) is float and 0.0 <= reward <= 1.0:  # the usual case, fast
        return reward
    if isinstance(reward, numbers.Real) and not isinstance(reward, bool):
        number = float(reward)
        if 0.0 <= number <= 1.0:  # NaN is not
            return number
    hint = "; write 1.0 or 0.0" if isinstance(reward, bool | np.bool_) else ""
    raise CaseError(f"reward must be a number from 0 to 1, got {reward!r}{hint}")


class Statistics:
    """The counters of one problem. `a + b` merges two streams of cases exactly."""

    def __init__(self, lattice: Lattice, *, sparse: bool = False) -> None:
        if not sparse and lattice.size > MOST_STATES:
            raise TooLargeError(
                f"{len(lattice.problem.observations)} observations with "
                f"max_observations={lattice.m} make {lattice.size:,} states, more than the "
                f"{MOST_STATES:,} that can be counted one by one: lower max_observations, or the "
                "number of observations or of their values, or count only what is visited, as "
                "SeqOOS and SimOOS do without storage='dense'"
            )
        actions = len(lattice.problem.actions)
        self.lattice = lattice
        self.cases = 0
        """Cases whose observations are counted; t − 1 when the next one opens."""
        self.records = 0
        """Of those, complete records: counted in every state, with the reward of every action."""
        self.is_sparse = sparse
        self.rows = _sparse_rows() if sparse else _dense_rows()
        """Which row is whose."""
        n = FIRST_ROWS if sparse else lattice.size
        self._subset_visits: Integers = np.zeros(lattice.parcels, np.int64)
        self._visits: Integers = np.zeros(n, np.int64)
        self._waiting: list[int] = []
        """States seen by simultaneous cases that wait to be counted together."""
        self._counting = threading.Lock()
        self.transitions: Integers = np.zeros((n, lattice.m), np.int64)
        """N(ψ, i, ψ') at [ψ', slot of i in ψ']: a state has one cell for each of its parents."""
        self.action_counts: Integers = np.zeros((n, actions), np.int64)
        """N(a, ψ) at [ψ, a]"""
        self.reward_sums: Integers = np.zeros((n, actions), np.int64)
        """Σr(a, ψ) at [ψ, a], in units of 2⁻³⁰"""
        self.paid_counts: Integers = np.zeros(lattice.buyable, np.int64)
        """Of each observation, how often it was told what was paid,"""
        self.paid_sums: Integers = np.zeros(lattice.buyable, np.int64)
        """and the sum, in units of 2⁻²⁰"""
        self._counters: Counters | None = None

    @property
    def subset_visits(self) -> Integers:
        """N(I), for each context."""
        self._count_waiting()
        return self._subset_visits

    @property
    def visits(self) -> Integers:
        """N(ψ), by row; of sequential cases, if anything is given, those that began there."""
        self._count_waiting()
        return self._visits

    # --- rows ----------------------------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """The arrays for the kernels. `make_room` replaces them."""
        self._count_waiting()
        if self._counters is None:
            self._counters = Counters(self.rows, *(array for _, array in self._all_arrays()))
        return self._counters

    @property
    def capacity(self) -> int:
        """How many rows there is room for."""
        return len(self._visits)

    @property
    def visited(self) -> int:
        """How many rows are given out; all of them, if dense."""
        return int(self.rows.used[0]) if self.is_sparse else self.capacity

    def row(self, state: int) -> int:
        """The row of a state; 0 if it has none."""
        if not self.is_sparse:
            return state
        from askwise._kernels.states.rows import find

        return int(find(self.rows, state))

    def rows_of(self, states: Integers) -> Integers:
        """The row of each of these states; 0 for those that have none."""
        if not self.is_sparse:
            return states
        from askwise._kernels.states.rows import find_all

        rows = np.empty_like(states)
        find_all(self.rows, states, rows)
        return rows

    def state(self, row: int) -> int:
        """The state of a row."""
        return int(self.rows.states[row]) if self.is_sparse else row

    @property
    def states(self) -> Integers:
        """The state of every row."""
        return self.rows.states[: self.visited] if self.is_sparse else np.arange(self.capacity)

    def give_rows(self, states: Integers) -> None:
        """Give a row to each of these states that has none, if rows are sparse."""
        if self.is_sparse:
            from askwise._kernels.states.rows import insert_all

            self.make_room(len(states))
            insert_all(self.rows, states)

    def make_room(self, more: int) -> None:
        """See to it that so many more states can be given a row."""
        if not self.is_sparse or self.visited + more <= self.capacity:
            return
        used, capacity = self.visited, self.capacity
        capacity = max(2 * capacity, used + more)
        self.rows = _sparse_rows(capacity, self.rows.states[:used])
        self._counters = None
        for name in BY_ROW:
            held = "_visits" if name == "visits" else name
            setattr(self, held, extended(getattr(self, held), used, capacity))

    def dense(self) -> Statistics:
        """The same counters with a row for every state."""
        return Statistics(self.lattice) + self if self.is_sparse else self

    # --- counting ------------------------------------------------------------------------------

    def count_set(self, state: int, subset: int | None = None) -> None:
        """A simultaneous case saw `state`, of the given subset if that is known."""
        self.count_case()
        if not self.is_sparse:  # its substates are counted when somebody asks: most of the time
            self._waiting.append(state)  # it takes to call a kernel is spent on the way there
            if len(self._waiting) >= MOST_WAITING:
                self._count_waiting()
            return
        from askwise._kernels.counting.counting import count_set

        if subset is None:
            subset = self.lattice.subset_of(state)
        self.make_room(1 << int(self.lattice.layout.sizes[subset]))
        count_set(self.lattice.layout, self.counters, subset, state)

    def _count_waiting(self) -> None:
        if not self._waiting:
            return
        from askwise._kernels.counting.counting import count_sets

        with self._counting:
            states = np.array(self._waiting, np.int64)
            arrays = (self._subset_visits, self._visits)
            count_sets(self.lattice.layout, self.rows, *arrays, states)
            del self._waiting[: len(states)]  # others may have been added meanwhile

    def count_path(self, path: Sequence[tuple[int, int]], start: int = 0, subset: int = 0) -> None:
        """A sequential case took these steps: (the observation bought, the state it led to).

        It began in the given state, of that subset: with what is given, or was on file.
        """
        self.count_case()
        self.count_steps(path, start, subset)

    def count_steps(self, path: Sequence[tuple[int, int]], start: int, subset: int) -> None:
        """`count_path` of a case that did not act."""
        if self.is_sparse:
            self.make_room(1 + len(path))
        if self.lattice.contexts > 1 and subset == 0:  # not what somebody put on file
            self.visits[self._own_row(start)] += 1
        steps, transitions, is_dense = self.lattice.steps, self.transitions, not self.is_sparse
        for observation, state in path:
            subset, slot, _, _, _, _ = steps[subset, observation]
            transitions[state if is_dense else self._own_row(state), slot] += 1

    def count_reward(self, state: int, action: int, reward: float) -> None:
        """`action`, taken when just `state` was known, earned `reward`."""
        reward = check_reward(reward)
        if self.is_sparse:
            self.make_room(1)
        row = self._own_row(state)
        if self.action_counts.item(row, action) >= MOST_CASES:
            raise StatisticsError(f"state {state} has its {MOST_CASES:,} rewards: no more fit")
        self.action_counts[row, action] += 1
        self.reward_sums[row, action] += round(reward / UNIT)

    def replace_reward(self, state: int, action: int, before: float, reward: float) -> None:
        """A reward that was counted as `before` was `reward` in truth."""
        self.reward_sums[self.row(state), action] += round(reward / UNIT) - round(before / UNIT)

    def count_paid(self, observation: int, amount: float) -> None:
        """An observation cost so much in a case."""
        units = round(self.check_paid(observation, amount) / PAID_UNIT)
        self.paid_counts[observation] += 1
        self.paid_sums[observation] += units

    def check_paid(self, observation: int, amount: float) -> float:
        """The amount, or an error if the sum of all would not fit any more."""
        if self.paid_sums.item(observation) * PAID_UNIT + amount > MOST_PAID:
            name = self.lattice.observations[observation].name
            raise StatisticsError(
                f"{amount!r} paid for {name!r}: at most {MOST_PAID:,.0f} fit, together"
            )
        return amount

    def forget_paid(self, observation: int) -> None:
        """What was paid for an observation does not matter any more."""
        self.paid_counts[observation] = self.paid_sums[observation] = 0

    def mean_paid(self) -> dict[str, float]:
        """The mean of what was paid for each observation, where that was told."""
        told, names = np.flatnonzero(self.paid_counts), self.lattice.names_of
        means = self.paid_sums[told] * PAID_UNIT / self.paid_counts[told]
        return dict(zip(names(tuple(told.tolist())), means.tolist(), strict=True))

    def frequency(self) -> Floats | None:
        """How often each context came; None if there is one, or no case came."""
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
        """A finished case by its names: what was bought, in this order, then done, then earned.

        What is given stands among what was bought, wherever; None is a look that failed.

        acquisition: "simultaneous", if the set was chosen before any of it was seen; "sequential",
        if each look was chosen from what the looks before had shown.
        """
        lattice = self.lattice
        # names whatever is wrong before anything is counted
        start = lattice.context(lattice.index(observed))
        path, subset, state = [], 0, start
        chosen, reward = lattice.action(action), check_reward(reward)
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
        self.count_reward(state, chosen, reward)

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
        """A case acted; whoever counts its looks elsewhere calls just this."""
        if self.cases >= MOST_CASES:
            raise StatisticsError(f"{MOST_CASES:,} cases are counted: no more fit")
        self.cases += 1

    def _own_row(self, state: int) -> int:
        """The row of a state, a new one if it has none."""
        if not self.is_sparse:
            return state
        from askwise._kernels.states.rows import insert

        return int(insert(self.rows, state))

    # --- whole ---------------------------------------------------------------------------------

    def arrays(self) -> Iterator[tuple[str, Integers]]:
        """Every array of counters with its name, as far as it is used."""
        for name, array in self._all_arrays():
            yield name, array[: self.visited] if name in BY_ROW else array
        yield "paid_counts", self.paid_counts
        yield "paid_sums", self.paid_sums

    def copy(self) -> Statistics:
        """The same counters, apart from these."""
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
        """In place: every state keeps its row."""
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
        for name, theirs in zip(BY_ROW, counted, strict=True):
            getattr(self, name)[rows] += theirs
        return self

    def take_back(self, other: Statistics, *, only_rewards: bool = False) -> None:
        """Forget, in place, a part of what was counted; every state keeps its row.

        With `only_rewards` cases and what they saw stay counted.
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
            if not only_rewards or name in ("action_counts", "reward_sums"):
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

    def _counted(self) -> list[Integers]:
        """The states at which something was counted, in order, and their counters."""
        by_row = [getattr(self, name)[: self.visited] for name in BY_ROW]
        rows = np.flatnonzero(sum(array.reshape(len(array), -1).any(axis=1) for array in by_row))
        states = self.rows.states[rows] if self.is_sparse else rows
        order = np.argsort(states)
        return [self.subset_visits, states[order], *(array[rows[order]] for array in by_row)]

    def _paid(self) -> list[Integers]:
        return [self.paid_counts, self.paid_sums]

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: what was counted, and where."""
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

    def _all_arrays(self) -> Iterator[tuple[str, Integers]]:
        for name in ("subset_visits", *BY_ROW):
            yield name, getattr(self, name)


BY_ROW = ("visits", "transitions", "action_counts", "reward_sums")


def _dense_rows() -> Rows:
    """Row = state."""
    return Rows(*(np.zeros(n, np.int64) for n in (0, 0, 1)))


def _sparse_rows(capacity: int = FIRST_ROWS, states: Integers | None = None) -> Rows:
    """Room for so many rows, given out to these states; at first to the empty one."""
    from askwise._kernels.states.rows import insert_all

    states = np.array([-1, 0]) if states is None else states
    # at most half full: a search seldom takes more than two steps
    table = np.zeros(2 << (capacity - 1).bit_length(), np.int64)
    rows = Rows(table, np.zeros(capacity, np.int64), np.ones(1, np.int64))
    rows.states[0] = -1
    insert_all(rows, states[1:])
    return rows
