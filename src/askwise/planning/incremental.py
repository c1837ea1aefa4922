"""Plans that cost what changed.

Between two rounds a handful of counters moved, and with t in the radii held at the next power of
two no radius did. A planner keeps its tables beside the counters: it is told what was counted, and
works just that into the plan. When t passes a power of two, it works everything out once. The plan
is the one that `plan_sequential` and `plan_simultaneous` make, to the bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from askwise._typing import Choices, Floats, Integers
from askwise.statistics import UNIT, Statistics

STALE = -1
"""A clock that never is: everything must be worked out."""


class IncrementalPlanner(ABC):
    """What both planners share. `widths[k]` are the widths of the radii while t ≤ 2^k."""

    def __init__(self, statistics: Statistics, widths: Floats) -> None:
        self.statistics = statistics
        self.widths = widths
        self.clock = STALE
        """The k of the plan."""
        self._queued: set[int] = set()
        self._noted = 0
        """The last round of which the compiled loop has queued the subsets."""

    def replan(self, t: int) -> None:
        """The plan of a round that begins with case t."""
        clock = (t - 1).bit_length()
        terms = self._terms(clock)
        if clock == self.clock:
            self._update(terms)
        else:
            self._refresh(terms)
        self.clock = clock
        self._queued.clear()

    def run(
        self,
        values: Choices,
        rewards: Floats,
        marks: tuple[Integers, Integers, Integers],
        control: Integers,
        out: tuple[Integers, Choices, Integers],
    ) -> None:
        """Decide cases in one go; `control` is [round, cases so far, is the round over]."""
        inner = np.array([*control, self.clock, self._noted])
        problem = self.statistics.lattice.problem
        self._kernel()(
            *self._state(),
            self._costs(),
            problem.reward_value,
            UNIT,
            self.widths,
            values,
            rewards,
            *marks,
            inner,
            *out,
        )
        if inner[0] != control[0]:
            self._queued.clear()
        control[:] = inner[:3]
        self.clock, self._noted = inner[3:].tolist()

    @abstractmethod
    def looked(self, path: list[tuple[int, int]], state: int) -> None:
        """A case that took this path to this state was counted."""

    @abstractmethod
    def rewarded(self, state: int) -> None:
        """A reward in this state was counted."""

    @abstractmethod
    def _update(self, terms: Any) -> None: ...

    @abstractmethod
    def _refresh(self, terms: Any) -> None: ...

    @abstractmethod
    def _costs(self) -> Floats: ...

    @abstractmethod
    def _state(self) -> tuple[Any, ...]: ...

    @abstractmethod
    def _kernel(self) -> Any: ...

    def _terms(self, clock: int) -> Any:
        from askwise._kernels.terms import Terms

        beta = self.statistics.lattice.problem.reward_value
        return Terms(self._costs(), beta, UNIT, *self.widths[clock].tolist())


class SequentialPlanner(IncrementalPlanner):
    """Keeps F̂, ĝ and ĥ of every state."""

    def __init__(self, statistics: Statistics, widths: Floats) -> None:
        from askwise._kernels.sequential_updates import Counters, Tables

        super().__init__(statistics, widths)
        lattice = statistics.lattice
        n, m, observations = lattice.size, lattice.m, len(lattice.problem.observations)
        beta = lattice.problem.reward_value
        self._counters = Counters(
            statistics.transitions, statistics.action_counts, statistics.reward_sums
        )
        # What is only reserved, and not written to, costs no memory.
        self.tables = Tables(
            subset=np.repeat(np.arange(lattice.subsets), np.diff(lattice.layout.offsets)),
            value=np.full(n, beta),
            stop=np.full(n, beta),
            following=np.full(n, -1, np.int16),
            action=np.zeros(n, np.int16),
            cache_of=np.full(n, -1, np.int64),
            cache=np.empty((n, observations)),
            cached=np.zeros(1, np.int64),
            queue=np.empty((m + 1, (2 * m + 3) * n), np.int64),
            queued=np.zeros(m + 1, np.int64),
            touched=np.empty(n, np.int64),
            mark=np.zeros(n, np.int64),
            acted=np.empty(n, np.int64),
            is_acted=np.zeros(n, np.int16),
            acted_in=np.zeros(1, np.int64),
        )
        for state in np.flatnonzero(statistics.action_counts.any(axis=1)).tolist():
            self.rewarded(state)  # a planner for counters that are there already

    def looked(self, path: list[tuple[int, int]], state: int) -> None:
        """Each step of the path was counted at the state it began in."""
        before = 0
        for level, (observation, after) in enumerate(path):
            self._push(level, before, observation)
            before = after

    def rewarded(self, state: int) -> None:
        """The state's best action may be another now."""
        lattice = self.statistics.lattice
        level = int(lattice.layout.sizes[self.tables.subset[state]])
        self._push(level, state, len(lattice.problem.observations))

    def _push(self, level: int, state: int, change: int) -> None:
        entry = state * (len(self.statistics.lattice.problem.observations) + 1) + change
        if entry not in self._queued:
            self._queued.add(entry)
            self.tables.queue[level, self.tables.queued[level]] = entry
            self.tables.queued[level] += 1

    def _update(self, terms: Any) -> None:
        from askwise._kernels.sequential_updates import update_plan

        layout, counters, tables = self._state()
        update_plan(layout, counters, tables, terms)

    def _refresh(self, terms: Any) -> None:
        from askwise._kernels.sequential_updates import refresh_plan

        layout, counters, tables = self._state()
        refresh_plan(layout, counters, tables, terms)

    def _costs(self) -> Floats:
        return self.statistics.lattice.costs

    def _state(self) -> tuple[Any, ...]:
        return (self.statistics.lattice.layout, self._counters, self.tables)

    def _kernel(self) -> Any:
        from askwise._kernels.sequential_updates import run_sequential_rounds

        return run_sequential_rounds


class SimultaneousPlanner(IncrementalPlanner):
    """Keeps V̂ of every subset and ĥ of every state; `tables.tree[1]` is Î."""

    def __init__(self, statistics: Statistics, widths: Floats) -> None:
        from askwise._kernels.simultaneous_updates import SetCounters, SetTables

        super().__init__(statistics, widths)
        lattice = statistics.lattice
        n, subsets = lattice.size, lattice.subsets
        leaves = 1 << (subsets - 1).bit_length()
        self._counters = SetCounters(
            statistics.visits,
            statistics.subset_visits,
            statistics.action_counts,
            statistics.reward_sums,
        )
        self.tables = SetTables(
            stop=np.full(n, lattice.problem.reward_value),
            action=np.zeros(n, np.int16),
            value=np.zeros(subsets),
            tree=np.zeros(2 * leaves, np.int64),
            states=np.empty(2 * n, np.int64),
            subsets=np.empty(3 * subsets, np.int64),
            queued=np.zeros(2, np.int64),
        )

    def looked(self, path: list[tuple[int, int]], state: int) -> None:
        """Every part of what was bought was counted."""
        lattice = self.statistics.lattice
        for part in {lattice.subset_of(substate) for substate in lattice.substates(state)}:
            self._push(1, self.tables.subsets, part)

    def rewarded(self, state: int) -> None:
        """The state's best action may be another now, and so the value of its subset."""
        self._push(0, self.tables.states, state)
        self._push(1, self.tables.subsets, self.statistics.lattice.subset_of(state))

    def _push(self, which: int, queue: Integers, entry: int) -> None:
        key = 2 * entry + which
        if key not in self._queued:
            self._queued.add(key)
            queue[self.tables.queued[which]] = entry
            self.tables.queued[which] += 1

    def _update(self, terms: Any) -> None:
        from askwise._kernels.simultaneous_updates import update_sets

        update_sets(self.statistics.lattice.layout.offsets, self._counters, self.tables, terms)

    def _refresh(self, terms: Any) -> None:
        from askwise._kernels.simultaneous_updates import refresh_sets

        refresh_sets(self.statistics.lattice.layout.offsets, self._counters, self.tables, terms)

    def _costs(self) -> Floats:
        return self.statistics.lattice.subset_costs

    def _state(self) -> tuple[Any, ...]:
        return (self.statistics.lattice.layout, self._counters, self.tables)

    def _kernel(self) -> Any:
        from askwise._kernels.simultaneous_updates import run_simultaneous_rounds

        return run_simultaneous_rounds
