"""The two ways to buy, as a learner needs them: what to count, what to plan with, what results."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from askwise._kernels.radii import Schedule
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.estimation.cautious import cautious_rewards
from askwise.estimation.estimates import Estimates
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.estimation.optimistic import Plan
from askwise.learners.cases import Case
from askwise.learners.rounds import Marks
from askwise.planning import plan_sequential, plan_set_from, plan_simultaneous
from askwise.planning.cautious import plan_seen_paths, plan_seen_sets
from askwise.planning.incremental import (
    IncrementalPlanner,
    SequentialPlanner,
    SimultaneousPlanner,
)
from askwise.policy import Policy, RowOf, SequentialPolicy, SimultaneousPolicy
from askwise.policy.oracle import best_path, best_set
from askwise.states import Lattice


class WayToBuy(Protocol):
    """What differs between buying a set at once and one after the other."""

    name: Plan
    is_incremental: bool
    """Whether there is a planner that keeps its plan up to date."""

    def count(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """Count what the case saw; returns the (state, choice) pairs that may end a round."""

    def count_part(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """Count what a case saw that was abandoned before it acted, as far as that is fair."""

    def weight(self, statistics: Statistics) -> Integers:
        """The counts that p̂ is proportional to."""

    def policy(self, lattice: Lattice, estimates: Estimates) -> Policy:
        """The best policy under these estimates."""

    def cautious_policy(self, counted: CountedEvidence) -> Policy:
        """The best policy among what was tried, by cautious estimates."""

    def best_policy(self, lattice: Lattice, beliefs: Beliefs) -> Policy:
        """The best policy if what is believed is true; its value is exact then."""

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> IncrementalPlanner:
        """A planner that keeps such a plan up to date."""

    def live_policy(self, planner: Any) -> Policy:
        """Its plan as a policy that reads the planner's own tables: it changes with them."""

    def adopt(self, planner: Any, policy: Any) -> None:
        """Let the planner take a policy over; its next plan comes from the counters alone."""

    def run(
        self, policy: Any, statistics: Statistics, batch: Batch, round: int, marks: Marks
    ) -> tuple[int, bool]:
        """Decide and count cases under the policy until they or the round are over."""


class Batch(NamedTuple):
    """Cases to run through, and where to write what was done in them."""

    values: Choices
    rewards: Floats
    state: Integers
    action: Choices
    start: int


def row_finder(statistics: Statistics) -> RowOf | None:
    """How a policy finds the row of a state in tables beside these counters."""
    return statistics.row if statistics.is_sparse else None


def set_policy_from(lattice: Lattice, estimates: Estimates, start: int) -> SimultaneousPolicy:
    """The best set for a case in which `start` is on file; the weights are by slot."""
    plan = plan_set_from(lattice, estimates, start)
    return SimultaneousPolicy(lattice, plan.sets, estimates.action, plan.values)


class Simultaneous:
    """A set at once."""

    name: Plan = "simultaneous"
    is_incremental = True

    def count(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """N(ψ) of all substates. Looks end no round."""
        if case.start < case.lattice.contexts:
            statistics.count_set(case.state_index, case.subset)
        else:
            # somebody chose what to put on file: only what came after is a fair sample
            path = case.lattice.path(case.start, case.state_index)
            statistics.count_path(path, case.start, case.lattice.subset_of(case.start))
        return []

    def count_part(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """Nothing: whether the rest of the set was seen may depend on what the part showed."""
        return []

    def weight(self, statistics: Statistics) -> Integers:
        """N(ψ)."""
        return statistics.visits

    def policy(self, lattice: Lattice, estimates: Estimates) -> SimultaneousPolicy:
        """The best set."""
        plan = plan_simultaneous(lattice, estimates)
        return SimultaneousPolicy(lattice, plan.sets, estimates.action, plan.values)

    def cautious_policy(self, counted: CountedEvidence) -> SimultaneousPolicy:
        """The best of the sets that were bought."""
        statistics = counted.statistics
        known = cautious_rewards(statistics, by_visits=counted.by_visits)
        plan = plan_seen_sets(statistics, known)
        tables = (plan.sets, known.action, plan.values)
        views = (row_finder(statistics), statistics.frequency())
        return SimultaneousPolicy(statistics.lattice, *tables, *views).rests_on(lambda: counted)

    def best_policy(self, lattice: Lattice, beliefs: Beliefs) -> SimultaneousPolicy:
        """The best set."""
        return best_set(lattice, beliefs)

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> SimultaneousPlanner:
        """A planner of sets."""
        return SimultaneousPlanner(statistics, schedule, is_exact=is_exact)

    def live_policy(self, planner: SimultaneousPlanner) -> SimultaneousPolicy:
        """The set Î, with the planner's actions."""
        statistics, tables = planner.statistics, planner.tables
        views = (tables.best.copy(), tables.action.view(), planner.values.view())
        row_of, frequency = row_finder(statistics), statistics.frequency()
        return SimultaneousPolicy(statistics.lattice, *views, row_of, frequency)

    def adopt(self, planner: SimultaneousPlanner, policy: SimultaneousPolicy) -> None:
        """Copy the tables."""
        planner.tables.best[:] = policy.sets
        planner.tables.action[: len(policy.actions)] = policy.actions
        planner.values[:] = policy.values

    def run(
        self,
        policy: SimultaneousPolicy,
        statistics: Statistics,
        batch: Batch,
        round: int,
        marks: Marks,
    ) -> tuple[int, bool]:
        """The kernel for sets."""
        from askwise._kernels.learners.runs import run_simultaneous

        return run_simultaneous(
            statistics.lattice.layout,
            policy.sets,
            policy.actions,
            batch.values,
            batch.rewards,
            batch.start,
            UNIT,
            statistics.counters,
            round,
            *marks,
            batch.state,
            batch.action,
        )


class Sequential:
    """One after the other."""

    name: Plan = "sequential"
    is_incremental = True

    def count(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """N(ψ, i, ψ') along the path."""
        start = case.start
        subset = 0 if start < case.lattice.contexts else case.lattice.subset_of(start)
        statistics.count_path(case.path, start, subset)
        return self._pairs(case)

    def _pairs(self, case: Case) -> list[tuple[int, int]]:
        pairs, state = [], case.start
        for observation, child in case.path:
            pairs.append((state, -1 - observation))
            state = child
        return pairs

    def count_part(self, statistics: Statistics, case: Case) -> list[tuple[int, int]]:
        """N(ψ, i, ψ') of the steps that were taken: each was drawn before the case ended."""
        lattice = case.lattice
        subset = 0 if case.start < lattice.contexts else lattice.subset_of(case.start)
        statistics.count_steps(case.path, case.start, subset)
        return self._pairs(case)

    def weight(self, statistics: Statistics) -> Integers:
        """N(ψ, i, ψ')."""
        return statistics.transitions

    def policy(self, lattice: Lattice, estimates: Estimates) -> SequentialPolicy:
        """The best next look in every state."""
        plan = plan_sequential(lattice, estimates)
        return SequentialPolicy(lattice, plan.next, estimates.action, plan.values)

    def cautious_policy(self, counted: CountedEvidence) -> SequentialPolicy:
        """The best of the looks that were taken, in every state."""
        statistics = counted.statistics
        known = cautious_rewards(statistics, by_visits=counted.by_visits)
        plan = plan_seen_paths(statistics, known)
        tables = (plan.next, known.action, plan.values)
        views = (row_finder(statistics), statistics.frequency())
        return SequentialPolicy(statistics.lattice, *tables, *views).rests_on(lambda: counted)

    def best_policy(self, lattice: Lattice, beliefs: Beliefs) -> SequentialPolicy:
        """The best next look in every state."""
        return best_path(lattice, beliefs)

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> SequentialPlanner:
        """A planner of paths."""
        return SequentialPlanner(statistics, schedule, is_exact=is_exact)

    def live_policy(self, planner: SequentialPlanner) -> SequentialPolicy:
        """The planner's next looks and actions."""
        tables, statistics = planner.tables, planner.statistics
        views = (tables.following.view(), tables.action.view(), planner.values.view())
        row_of, frequency = row_finder(statistics), statistics.frequency()
        return SequentialPolicy(statistics.lattice, *views, row_of, frequency)

    def adopt(self, planner: SequentialPlanner, policy: SequentialPolicy) -> None:
        """Copy the tables."""
        rows = len(policy.actions)
        planner.tables.following[:rows] = policy.following
        planner.tables.action[:rows] = policy.actions
        planner.values[:rows] = policy.values

    def run(
        self,
        policy: SequentialPolicy,
        statistics: Statistics,
        batch: Batch,
        round: int,
        marks: Marks,
    ) -> tuple[int, bool]:
        """The kernel for paths."""
        from askwise._kernels.learners.runs import run_sequential

        return run_sequential(
            statistics.lattice.layout,
            policy.following,
            policy.actions,
            batch.values,
            batch.rewards,
            batch.start,
            UNIT,
            statistics.counters,
            round,
            *marks,
            batch.state,
            batch.action,
        )
