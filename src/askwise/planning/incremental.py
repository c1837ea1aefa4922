"""Plans whose cost depends on what changed, not on the size of the problem.

Between two rounds only a few counters change, and no radius does, because t in the radii is rounded
up to the next power of two. A planner keeps its tables beside the counters and updates the plan
with what was counted. When t passes a power of two, it computes everything once. With the exact t
the tables are bounds for some time ahead, and the plan is searched for among them. In both cases it
equals the plan of `plan_sequential` or `plan_simultaneous`, to the bit, wherever the policy can
lead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from askwise._kernels.radii import Schedule
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.counting.round_counts import RoundCounts
from askwise.states import Lattice
from askwise.states.rows import extended


class Cheapest(NamedTuple):
    """The action that is taken where nothing is known."""

    action: int
    top: float
    """The most that it may earn less its cost, in units of β."""


def cheapest_action(lattice: Lattice) -> Cheapest | None:
    """Returns the first of the cheapest actions if it is allowed in every state; else None.

    A state in which no case acted is then worth β less this cost, and nothing else is needed. If a
    cheaper action requires an observation, every plan must be made in full.
    """
    offsets = lattice.action_offsets
    if offsets is None:
        return Cheapest(0, 1.0)
    actions, most = np.unique(offsets.argmax(axis=1)), np.unique(offsets.max(axis=1))
    if len(actions) > 1 or len(most) > 1:
        return None
    return Cheapest(int(actions[0]), 1.0 + float(most[0]))


class IncrementalPlanner(ABC):
    """The common part of both planners: tables by row, which grow with the counters."""

    tables: Any

    def __init__(self, statistics: Statistics, schedule: Schedule, *, is_exact: bool) -> None:
        self.statistics = statistics
        self.schedule = schedule
        self.is_exact = is_exact
        self.horizon = 0
        """The last case for which the tables are valid; 0 if everything must be computed."""
        cheapest = cheapest_action(statistics.lattice)
        assert cheapest is not None
        self._cheapest = cheapest
        self._queued: set[int] = set()
        self._make_tables()

    def replan(self, t: int) -> None:
        """Returns the plan of a round that begins with case t."""
        self._grow()
        plan, _ = self._kernels()
        self.horizon = int(plan(*self._state(), t, self.horizon))
        self._queued.clear()

    def run(
        self,
        values: Choices,
        rewards: Floats,
        start: int,
        round_counts: RoundCounts,
        control: Integers,
        out: tuple[Integers, Choices, Integers],
    ) -> int:
        """Decides cases from `start` on; returns the case to continue with once there is more room.

        `control` is [round, cases so far, whether the round is over].
        """
        self._grow()
        kernel_control = np.array([*control, self.horizon])
        _, run = self._kernels()
        end = int(run(*self._state(), values, rewards, start, *round_counts, kernel_control, *out))
        if kernel_control[0] != control[0]:
            self._queued.clear()
        control[:] = kernel_control[:3]
        self.horizon = int(kernel_control[3])
        return end

    @property
    @abstractmethod
    def values(self) -> Floats:
        """The values of the plan: F̂ by row, or V̂ by subset."""

    @property
    @abstractmethod
    def most_new_rows(self) -> int:
        """The most states that one case can visit for the first time."""

    @abstractmethod
    def changed(self, state: int, choice: int) -> None:
        """Notes that an action in this state was rewarded, or an observation i (−1 − i) bought."""

    @abstractmethod
    def bought(self, subset: int, context: int) -> None:
        """Notes that a case with this subset in that context was counted."""

    @abstractmethod
    def _make_tables(self) -> None: ...

    @abstractmethod
    def _grow(self) -> None: ...

    @abstractmethod
    def _costs(self) -> Floats: ...

    @abstractmethod
    def _kernels(self) -> tuple[Any, Any]:
        """The one that plans, and the one that runs."""

    def _state(self) -> tuple[Any, ...]:
        from askwise._kernels.planning.plan_inputs import Setting

        lattice = self.statistics.lattice
        beta = lattice.problem.reward_value
        setting = Setting(
            self._costs(),
            lattice.tariff,
            lattice.offsets_or_none,
            self._cheapest.top,
            beta,
            UNIT,
            self.schedule,
            self.is_exact,
        )
        return lattice.layout, self.statistics.counters, self.tables, setting

    @property
    def _most(self) -> float:
        """The value of a state in which no case has acted."""
        return self.statistics.lattice.problem.reward_value * self._cheapest.top

    def _is_new(self, change: int) -> bool:
        """Whether a change has not been queued since the last plan."""
        if change in self._queued:
            return False
        self._queued.add(change)
        return True


class SequentialPlanner(IncrementalPlanner):
    """Keeps F̂, ĝ and ĥ of every visited state."""

    @property
    def values(self) -> Floats:
        """F̂(ψ): the value of the best path from each state, by row."""
        values: Floats = self.tables.found if self.is_exact else self.tables.value
        return values

    @property
    def most_new_rows(self) -> int:
        """The states of its path."""
        return self.statistics.lattice.m + 1

    def changed(self, state: int, choice: int) -> None:
        """Notes that the value of an observation in this state, or its best action, may have
        changed.
        """
        statistics = self.statistics
        lattice = statistics.lattice
        observations = lattice.buyable
        change = observations if choice >= 0 else -1 - choice
        entry = statistics.row(state) * (observations + 1) + change
        if self._is_new(entry):
            self._grow()
            tables, level = self.tables, len(lattice.members(lattice.subset_of(state)))
            tables.queue[level, tables.queued.item(level)] = entry
            tables.queued[level] += 1

    def bought(self, subset: int, context: int) -> None:
        """Does nothing, because every purchase is noted separately."""

    def _make_tables(self) -> None:
        from askwise._kernels.planning.sequential_updates import Tables

        lattice = self.statistics.lattice
        n, m, observations = self.statistics.capacity, lattice.m, len(lattice.costs)
        most = self._most
        # What is only reserved, and not written to, costs no memory.
        self.tables = Tables(
            subset=np.full(n, -1),
            value=np.full(n, most),
            stop=np.full(n, most),
            look=np.full(n, -1, np.int16),
            action=np.full(n, self._cheapest.action, np.int16),
            cache_of=np.full(n, -1, np.int64),
            cache=np.empty((n, observations)),
            cached=np.zeros(1, np.int64),
            queue=np.empty((m + 1, (2 * m + 3) * n), np.int64),
            queued=np.zeros(m + 1, np.int64),
            touched=np.empty(n, np.int64),
            mark=np.zeros(n, np.int16),
            acted=np.empty(n, np.int64),
            is_acted=np.zeros(n, np.int16),
            acted_in=np.zeros(1, np.int64),
            values=np.empty((m + 1, lattice.most_outcomes)),
            weights=np.empty((m + 1, lattice.most_outcomes), np.int64),
            search_at=np.empty((3, m + 1), np.int64),
            untried=np.empty((m + 1, observations), np.int16),
            found=np.full(n if self.is_exact else 1, most),
            search=np.zeros(n if self.is_exact else 1, np.int64),
            searches=np.zeros(1, np.int64),
        )
        used = self.statistics.action_counts[: self.statistics.visited]
        for row in np.flatnonzero(used.any(axis=1)).tolist():
            self.changed(self.statistics.state(row), 0)  # a planner for counters that are there

    def _grow(self) -> None:
        """Keep up with the counters."""
        old, n = self.tables, self.statistics.capacity
        used = len(old.value)
        if used == n:
            return
        queue = np.empty((len(old.queued), old.queue.shape[1] // used * n), np.int64)
        for level, entries in enumerate(old.queued.tolist()):
            queue[level, :entries] = old.queue[level, :entries]
        cache = np.empty((n, old.cache.shape[1]))
        cache[: old.cached[0]] = old.cache[: old.cached[0]]
        filled = {
            "subset": -1,
            "value": self._most,
            "stop": self._most,
            "look": -1,
            "action": self._cheapest.action,
            "cache_of": -1,
            "touched": 0,
            "mark": 0,
            "acted": 0,
            "is_acted": 0,
        } | ({"found": self._most, "search": 0} if self.is_exact else {})
        grown = {name: extended(getattr(old, name), used, n, fill) for name, fill in filled.items()}
        self.tables = old._replace(queue=queue, cache=cache, **grown)

    def _costs(self) -> Floats:
        return self.statistics.lattice.costs

    def _kernels(self) -> tuple[Any, Any]:
        from askwise._kernels.learners.sequential_rounds import plan_paths, run_paths

        return plan_paths, run_paths


class SimultaneousPlanner(IncrementalPlanner):
    """Keeps V̂ of every subset and ĥ of every visited state; `tables.best` is Î."""

    @property
    def values(self) -> Floats:
        """V̂(I): the value of buying each subset, by subset and context."""
        values: Floats = self.tables.found if self.is_exact else self.tables.value
        return values

    @property
    def most_new_rows(self) -> int:
        """The substates of what it saw."""
        return 1 << self.statistics.lattice.m

    def changed(self, state: int, choice: int) -> None:
        """Notes that the best action of the state, and so its subset's value, may have changed."""
        self._grow()
        context_subset = (
            int(self.statistics.lattice.layout.context_offsets.searchsorted(state, side="right"))
            - 1
        )
        self.tables.is_rewarded[context_subset] = 1
        self._queue(0, self.tables.rewarded, self.statistics.row(state))
        self._queue(1, self.tables.context_subsets, context_subset)

    def bought(self, subset: int, context: int) -> None:
        """Notes that every part of the subset was counted."""
        lattice = self.statistics.lattice
        change = -1 - subset * lattice.contexts - context
        if change not in self._queued:
            self._queued.add(change)
            for part in lattice.parts(subset):
                self._queue(1, self.tables.context_subsets, lattice.context_subset(part, context))

    def _queue(self, which: int, queue: Integers, entry: int) -> None:
        if self._is_new(2 * entry + which):
            queue[self.tables.queued[which]] = entry
            self.tables.queued[which] += 1

    def _make_tables(self) -> None:
        from askwise._kernels.planning.simultaneous_updates import SetTables

        statistics, lattice = self.statistics, self.statistics.lattice
        n, context_subsets, contexts = (
            statistics.capacity,
            lattice.context_subsets,
            lattice.contexts,
        )
        leaves = 1 << (lattice.subsets - 1).bit_length()
        most = (
            n + 1
            if statistics.is_sparse
            else int(np.diff(lattice.layout.context_offsets).max()) + 1
        )
        self.tables = SetTables(
            stop=np.full(n, self._most),
            action=np.full(n, self._cheapest.action, np.int16),
            value=np.zeros(context_subsets),
            tree=np.zeros((contexts, 2 * leaves), np.int64),
            rewarded=np.empty(2 * n, np.int64),
            context_subsets=np.empty(3 * context_subsets, np.int64),
            queued=np.zeros(2, np.int64),
            is_rewarded=np.zeros(context_subsets, np.int16),
            head=np.zeros(context_subsets if statistics.is_sparse else 0, np.int64),
            tail=np.zeros(n if statistics.is_sparse else 0, np.int64),
            listed=np.ones(1, np.int64),
            rows=np.empty(most, np.int64),
            values=np.empty(most),
            weights=np.empty(most, np.int64),
            best=np.zeros(contexts, np.int64),
            noted=np.zeros(contexts, np.int64),
            refund=self._refunds(),
            waiting=np.empty(2 * leaves.bit_length(), np.int64),
            found=np.zeros(context_subsets if self.is_exact else 1),
        )
        used = statistics.action_counts[: statistics.visited].any(axis=1)
        rewarded = np.searchsorted(
            lattice.layout.context_offsets, statistics.states[used], side="right"
        )
        self.tables.is_rewarded[rewarded - 1] = 1

    def _grow(self) -> None:
        """Keep up with the counters."""
        old, n = self.tables, self.statistics.capacity
        used = len(old.stop)
        if used == n:
            return
        self.tables = old._replace(
            stop=extended(old.stop, used, n, self._most),
            action=extended(old.action, used, n, self._cheapest.action),
            rewarded=extended(old.rewarded, int(old.queued[0]), 2 * n),
            tail=extended(old.tail, used, n),
            refund=extended(old.refund, used, n) if len(old.refund) else old.refund,
            rows=np.empty(n + 1, np.int64),
            values=np.empty(n + 1),
            weights=np.empty(n + 1, np.int64),
        )

    def _refunds(self) -> Floats:
        """The refunds by row; sparse rows get theirs when they are listed."""
        statistics, lattice = self.statistics, self.statistics.lattice
        if not lattice.tariff.has_refunds:
            return np.empty(0)
        return np.zeros(statistics.capacity) if statistics.is_sparse else lattice.refunds.copy()

    def _costs(self) -> Floats:
        return self.statistics.lattice.set_prices

    def _kernels(self) -> tuple[Any, Any]:
        from askwise._kernels.learners.simultaneous_rounds import plan_sets, run_sets

        return plan_sets, run_sets
