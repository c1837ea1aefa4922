"""An acquisition is a way to buy: a set at once (simultaneous), or one after the other
(sequential).

It defines what may be counted of a case, which planner finds the best policy, and which compiled
loop follows it. There are two, in `ACQUISITIONS` by their names.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from askwise._kernels.radii import Schedule
from askwise._support.typing import AcquisitionName, Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.counting.round_counts import RoundCounts
from askwise.errors import OptionError
from askwise.estimation.cautious import cautious_rewards
from askwise.estimation.estimates import Estimates
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs, CountedEvidence
from askwise.planning import plan_sequential, plan_set_from, plan_simultaneous
from askwise.planning.cautious import plan_seen_paths, plan_seen_sets
from askwise.planning.incremental import (
    IncrementalPlanner,
    SequentialPlanner,
    SimultaneousPlanner,
)
from askwise.planning.trees import follow_sets
from askwise.policy.counting_cases import CasePath, Pairs, count_asked, count_looks
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.policy.oracle import best_path, best_set
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, RowOf, SetTable
from askwise.states import Lattice


class Batch(NamedTuple):
    """A batch has the cases to run, and arrays for the results."""

    values: Choices
    rewards: Floats
    state: Integers
    action: Choices
    start: int


class Acquisition(Protocol):
    """The difference between buying a set at once and one observation after the other."""

    name: AcquisitionName
    plans_anew_for_files: bool
    """Whether a case with values on file needs its own plan."""

    def count(self, statistics: Statistics, case: CasePath) -> Pairs:
        """Counts the observations of the case. Returns the pairs that may end a round."""

    def count_part(self, statistics: Statistics, case: CasePath) -> Pairs:
        """Counts the observations of a case that was abandoned before it acted, as far as they are
        fair.
        """

    def weight(self, statistics: Statistics) -> Integers:
        """The counts that p̂ is proportional to."""

    def best(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Policy:
        """Returns the best policy by these estimates. The first choice wins, unless a later one is
        better by more than a margin.
        """

    def best_by_counters(self, counted: CountedEvidence) -> Policy:
        """Returns the best policy among what was tried, by cautious estimates."""

    def best_by_beliefs(self, lattice: Lattice, beliefs: Beliefs) -> Policy:
        """Returns the best policy if the beliefs are true. Its value is then exact."""

    def buying_nothing(self, lattice: Lattice, actions: Choices) -> Policy:
        """Returns the policy that acts without buying."""

    def path_plan(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Choices:
        """Returns the best policy as single purchases g(ψ). A state has one weight."""

    def exploration(
        self,
        policy: Policy,
        priceless: Lattice,
        wide: Estimates,
        came: tuple[Floats, Floats],
        curiosity: float,
        action_probability: Floats,
    ) -> PathExploration | SetExploration:
        """Returns the exploration that buys and acts as is best in another world.

        Where the policy would act, prices do not count, and the most informative observation is
        bought. `came` has the number n of cases that came to each state and to each context. A case
        explores with the probability curiosity / √(1 + n).
        """

    def no_exploration(self, lattice: Lattice) -> PathExploration | SetExploration:
        """Returns an exploration with all probabilities 0."""

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> IncrementalPlanner:
        """Returns a planner that updates an optimistic plan."""

    def live_policy(self, planner: Any) -> Policy:
        """Returns the plan as a policy that reads the planner's own tables, so that it changes with
        them.
        """

    def adopt(self, planner: Any, policy: Policy) -> None:
        """Lets the planner take over a policy. Its next plan comes from the counters alone."""

    def run(
        self, policy: Policy, statistics: Statistics, batch: Batch, round: int, counts: RoundCounts
    ) -> tuple[int, bool]:
        """Decides and counts cases under the policy until they or the round are over."""


def tie_margin(lattice: Lattice) -> float:
    """Values that are closer than this are ties, so that rounding does not decide."""
    return TIE_TOLERANCE * lattice.problem.reward_value


def acquisition_of(name: object) -> Acquisition:
    """Returns the acquisition of that name, or raises an error that lists the names."""
    if isinstance(name, str) and name in ACQUISITIONS:
        return ACQUISITIONS[name]
    known = " or ".join(map(repr, ACQUISITIONS))
    raise OptionError(f"acquisition must be {known}, got {name!r}")


def row_finder(statistics: Statistics) -> RowOf | None:
    """Returns how a policy finds the row of a state in tables beside these counters."""
    return statistics.row if statistics.is_sparse else None


def set_policy_from(
    lattice: Lattice, estimates: Estimates, start: int, *, margin: float = 0.0
) -> Policy:
    """Returns the best set for a case in which `start` is on file. The weights are by slot."""
    plan = plan_set_from(lattice, estimates, start, margin=margin)
    return Policy(SetTable(lattice, plan.sets, estimates.action, plan.values))


class Simultaneous:
    """The case buys a set at once."""

    name: AcquisitionName = "simultaneous"
    plans_anew_for_files = True

    def count(self, statistics: Statistics, case: CasePath) -> Pairs:
        """N(ψ) of all substates. Observations end no round."""
        if case.unasked:
            count_asked(statistics, case)
        elif case.start < case.lattice.contexts:
            statistics.count_set(case.state_index, case.subset)
        else:
            # others chose what is on file: only what came after is a fair sample
            path = case.lattice.path(case.start, case.state_index)
            statistics.count_path(path, case.start, case.lattice.subset_of(case.start))
        return []

    def count_part(self, statistics: Statistics, case: CasePath) -> Pairs:
        """Counts nothing, because the rest of the set may be missing for what the first part
        showed.
        """
        return []

    def weight(self, statistics: Statistics) -> Integers:
        """N(ψ), the simultaneous cases that agreed with a state."""
        return statistics.visits

    def best(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Policy:
        """Returns the best set of every context."""
        plan = plan_simultaneous(lattice, estimates, margin=margin)
        return Policy(SetTable(lattice, plan.sets, estimates.action, plan.values))

    def best_by_counters(self, counted: CountedEvidence) -> Policy:
        """Returns the best of the sets that were bought."""
        statistics = counted.statistics
        known = cautious_rewards(statistics, counted.acquisition)
        plan = plan_seen_sets(statistics, known)
        arrays = (plan.sets, known.action, plan.values)
        table = SetTable(statistics.lattice, *arrays, row_finder(statistics))
        return Policy(table, frequency=statistics.frequency()).rests_on(lambda: counted)

    def best_by_beliefs(self, lattice: Lattice, beliefs: Beliefs) -> Policy:
        """Returns the best set of every context."""
        return best_set(lattice, beliefs)

    def buying_nothing(self, lattice: Lattice, actions: Choices) -> Policy:
        """Returns the policy that buys the empty set."""
        return Policy(SetTable(lattice, 0, actions, np.zeros(lattice.context_subsets)))

    def path_plan(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Choices:
        """Returns the members of the best set in order, for all their values."""
        return follow_sets(lattice, plan_simultaneous(lattice, estimates, margin=margin).sets)

    def exploration(
        self,
        policy: Policy,
        priceless: Lattice,
        wide: Estimates,
        came: tuple[Floats, Floats],
        curiosity: float,
        action_probability: Floats,
    ) -> SetExploration:
        """Returns the best set of each context, or the most informative one where the policy buys
        nothing.
        """
        table = policy.table
        assert isinstance(table, SetTable)
        probability = np.minimum(1.0, curiosity / np.sqrt(1 + came[1]))
        dear, free = (plan_simultaneous(at, wide).sets for at in (policy.lattice, priceless))
        sets = np.where((table.sets > 0) & (dear != table.sets), dear, free)
        return SetExploration(sets, probability, wide.action, action_probability)

    def no_exploration(self, lattice: Lattice) -> SetExploration:
        """Returns an exploration with all probabilities 0."""
        return SetExploration.none(lattice)

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> SimultaneousPlanner:
        """Returns a planner of sets."""
        return SimultaneousPlanner(statistics, schedule, is_exact=is_exact)

    def live_policy(self, planner: SimultaneousPlanner) -> Policy:
        """Returns the set Î, with the planner's actions."""
        statistics, tables = planner.statistics, planner.tables
        views = (tables.best.copy(), tables.action.view(), planner.values.view())
        table = SetTable(statistics.lattice, *views, row_finder(statistics))
        return Policy(table, frequency=statistics.frequency())

    def adopt(self, planner: SimultaneousPlanner, policy: Policy) -> None:
        """Copies the policy's tables into the planner's."""
        table = policy.table
        assert isinstance(table, SetTable)
        planner.tables.best[:] = table.sets
        planner.tables.action[: len(table.actions)] = table.actions
        planner.values[:] = table.values

    def run(
        self, policy: Policy, statistics: Statistics, batch: Batch, round: int, counts: RoundCounts
    ) -> tuple[int, bool]:
        """Runs the kernel for sets."""
        from askwise._kernels.learners.runs import run_simultaneous

        table = policy.table
        assert isinstance(table, SetTable)
        return run_simultaneous(
            statistics.lattice.layout,
            table.sets,
            table.actions,
            batch.values,
            batch.rewards,
            batch.start,
            UNIT,
            statistics.counters,
            round,
            *counts,
            batch.state,
            batch.action,
        )


class Sequential:
    """The case buys one observation after the other."""

    name: AcquisitionName = "sequential"
    plans_anew_for_files = False

    def count(self, statistics: Statistics, case: CasePath) -> Pairs:
        """N(ψ, i, ψ') along the path."""
        statistics.count_case()
        return self.count_part(statistics, case)

    def count_part(self, statistics: Statistics, case: CasePath) -> Pairs:
        """N(ψ, i, ψ') of the steps that were taken. Each was drawn before the case ended."""
        return count_looks(statistics, case)

    def weight(self, statistics: Statistics) -> Integers:
        """N(ψ, i, ψ'), the steps that led to a state."""
        return statistics.transitions

    def best(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Policy:
        """Returns the best next observation in every state."""
        plan = plan_sequential(lattice, estimates, margin=margin)
        return Policy(PathTable(lattice, plan.look, estimates.action, plan.values))

    def best_by_counters(self, counted: CountedEvidence) -> Policy:
        """Returns the best of the observations that were bought, in every state."""
        statistics = counted.statistics
        known = cautious_rewards(statistics, counted.acquisition)
        plan = plan_seen_paths(statistics, known)
        arrays = (plan.look, known.action, plan.values)
        table = PathTable(statistics.lattice, *arrays, row_finder(statistics))
        return Policy(table, frequency=statistics.frequency()).rests_on(lambda: counted)

    def best_by_beliefs(self, lattice: Lattice, beliefs: Beliefs) -> Policy:
        """Returns the best next observation in every state."""
        return best_path(lattice, beliefs)

    def buying_nothing(self, lattice: Lattice, actions: Choices) -> Policy:
        """Returns the policy that buys nothing in any state."""
        nothing = np.full(lattice.size, -1, np.int16)
        return Policy(PathTable(lattice, nothing, actions, np.zeros(lattice.size)))

    def path_plan(self, lattice: Lattice, estimates: Estimates, *, margin: float = 0.0) -> Choices:
        """Returns the best next observation in every state."""
        weight: Floats = np.repeat(np.asarray(estimates.weight)[:, None], lattice.m, axis=1)
        return plan_sequential(lattice, estimates._replace(weight=weight), margin=margin).look

    def exploration(
        self,
        policy: Policy,
        priceless: Lattice,
        wide: Estimates,
        came: tuple[Floats, Floats],
        curiosity: float,
        action_probability: Floats,
    ) -> PathExploration:
        """Returns the best next observation of each state, or the most informative one where the
        policy acts.
        """
        table, lattice = policy.table, policy.lattice
        assert isinstance(table, PathTable)
        states, contexts = came
        states[: lattice.contexts] = contexts
        probability = np.minimum(1.0, curiosity / np.sqrt(1 + states))
        full = lattice.layout.offsets[lattice.layout.levels[lattice.m]]
        probability[full:] = 0.0
        dear, free = (plan_sequential(at, wide).look for at in (lattice, priceless))
        looks = np.where(table.look >= 0, dear, free).astype(np.int64)
        return PathExploration(looks, probability, wide.action, action_probability)

    def no_exploration(self, lattice: Lattice) -> PathExploration:
        """Returns an exploration with all probabilities 0."""
        return PathExploration.none(lattice)

    def planner(
        self, statistics: Statistics, schedule: Schedule, *, is_exact: bool
    ) -> SequentialPlanner:
        """Returns a planner of paths."""
        return SequentialPlanner(statistics, schedule, is_exact=is_exact)

    def live_policy(self, planner: SequentialPlanner) -> Policy:
        """Returns the planner's next observations and actions."""
        tables, statistics = planner.tables, planner.statistics
        views = (tables.look.view(), tables.action.view(), planner.values.view())
        table = PathTable(statistics.lattice, *views, row_finder(statistics))
        return Policy(table, frequency=statistics.frequency())

    def adopt(self, planner: SequentialPlanner, policy: Policy) -> None:
        """Copies the policy's tables into the planner's."""
        table = policy.table
        assert isinstance(table, PathTable)
        rows = len(table.actions)
        planner.tables.look[:rows] = table.look
        planner.tables.action[:rows] = table.actions
        planner.values[:rows] = table.values

    def run(
        self, policy: Policy, statistics: Statistics, batch: Batch, round: int, counts: RoundCounts
    ) -> tuple[int, bool]:
        """Runs the kernel for paths."""
        from askwise._kernels.learners.runs import run_sequential

        table = policy.table
        assert isinstance(table, PathTable)
        return run_sequential(
            statistics.lattice.layout,
            table.look,
            table.actions,
            batch.values,
            batch.rewards,
            batch.start,
            UNIT,
            statistics.counters,
            round,
            *counts,
            batch.state,
            batch.action,
        )


ACQUISITIONS: dict[str, Acquisition] = {a.name: a for a in (Sequential(), Simultaneous())}
