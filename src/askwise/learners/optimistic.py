"""What Sim-OOS and Seq-OOS share: optimism, its options, and plans that cost what changed."""

from typing import Any

import numpy as np

from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Memory
from askwise.errors import OptionError
from askwise.estimation.optimistic import Confidence, optimistic_estimates
from askwise.learners.acquisition import set_policy_from
from askwise.learners.base import BaseLearner
from askwise.learners.cases import Case
from askwise.learners.rounds import lengths_after
from askwise.planning.incremental import IncrementalPlanner
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.states import Lattice

SPARSE_FROM = 100_000
"""With so many states it pays to keep rows only for those that are visited."""


class OptimisticLearner(BaseLearner):
    """Plans with the most favourable rewards and probabilities within the radii.

    A planner keeps the plan up to date in tables of its own, and cases follow those tables. So
    before the tables change, cases that are still looking get a copy.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        confidence: str = "practical",
        width: float = 1.0,
        delta: float = 0.1,
        clock: str = "doubling",
        storage: str = "auto",
        window: int | None = None,
        detect: bool = False,
        rng: RandomSource = None,
    ) -> None:
        self.storage = storage
        super().__init__(problem, rng=rng)
        if window is not None or detect:
            self.memory = Memory(window, detect=detect, states=self.lattice.size)
        self.confidence = Confidence(confidence, width=width, delta=delta, clock=clock)
        self._rule.on_first = self._counted_first
        self._planner: IncrementalPlanner | None = None
        self._copy: Policy | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        c = self.confidence
        return {
            "confidence": c.kind,
            "width": c.width,
            "delta": c.delta,
            "clock": c.clock,
            "storage": self.storage,
            "window": None if self.memory is None else self.memory.window,
            "detect": self.memory is not None and self.memory.detect,
        }

    def new_statistics(self) -> Statistics:
        """Dense or sparse, as `storage` says; "auto" goes by the number of states."""
        storages = ("auto", "dense", "sparse") if self.is_incremental else ("auto", "dense")
        if self.storage not in storages:
            known = " or ".join(map(repr, storages))
            raise OptionError(f"storage must be {known}, got {self.storage!r}")
        auto = self.is_incremental and self.lattice.size >= SPARSE_FROM
        return Statistics(
            self.lattice, sparse=auto if self.storage == "auto" else self.storage == "sparse"
        )

    @property
    def is_incremental(self) -> bool:
        """Whether a planner keeps the plan up to date; else every round is planned in full.

        Its compiled loop knows only rounds that end when a count doubles.
        """
        return self.way.is_incremental and self.round_length is None

    def plan(self) -> Policy:
        """The policy that is best in the best of the plausible worlds."""
        if not self.is_incremental:
            return self.full_plan()
        self._part_with_policy()
        self._planner_here().replan(self.t)
        return self.way.live_policy(self._planner_here())

    def full_plan(self, lattice: Lattice | None = None) -> Policy:
        """The same policy, worked out from nothing but the counters, perhaps at other prices."""
        radii = self.confidence.radii(self.lattice, self.way.name, self.t)
        statistics = self.statistics.dense()
        estimates = optimistic_estimates(statistics, self.way.weight(statistics), radii)
        return self.way.policy(lattice or self.lattice, estimates)

    @property
    def policy(self) -> Policy:
        """The policy of the current round. It is frozen; `replan()` makes the next."""
        with self.lock:
            policy = super().policy
            if self._planner is None:
                return policy
            if self._copy is None:
                self._copy = policy.copy()
            return self._copy

    def resume(self, policy: Policy) -> None:
        """Go on with this policy; the planner's own tables are made again for the next."""
        if self.is_incremental:
            self.way.adopt(self._planner_here(), policy)
            policy = self.way.live_policy(self._planner_here())
        super().resume(policy)

    def _forget_plan(self) -> None:
        super()._forget_plan()
        if self._policy is not None:
            self._policy = self.policy  # nobody changes the old tables any more
        self._planner = self._copy = None

    def plan_at(self, lattice: Lattice) -> Policy:
        """What the plan of the round would be at the prices of this lattice."""
        return self.full_plan(lattice)

    def plan_from(self, lattice: Lattice, start: int) -> Policy:
        """The best set when `start` is on file, by optimistic estimates."""
        radii = self.confidence.radii(self.lattice, self.way.name, self.t)
        statistics = self.statistics.dense()
        # both are fair samples of one more look: blind cases, and cases with the like on file
        weight = statistics.visits[:, None] + statistics.transitions
        estimates = optimistic_estimates(statistics, weight, radii)
        return set_policy_from(lattice, estimates, start)

    def acted(self, case: Case) -> None:
        """A case knows all it wanted: count what it saw."""
        super().acted(case)
        if self._planner is not None and case.start < self.lattice.contexts:
            self._planner.bought(case.subset, case.start)

    def _counted_first(self, state: int, choice: int) -> None:
        """A pair was counted for the first time in this round: its part of the plan changes."""
        if self._planner is not None:
            self._planner.changed(state, choice)

    def _run(
        self,
        values: Choices,
        rewards: Floats,
        out_state: Integers,
        out_action: Choices,
        out_round: Integers,
    ) -> None:
        """Decide these cases, rounds and plans included, in one compiled loop."""
        if not self.is_incremental or not len(values):
            super()._run(values, rewards, out_state, out_action, out_round)
            return
        current = self._policy_of_the_round()
        self._part_with_policy()
        planner = self._planner_here()
        self._rule.to_marks(self._marks_here(), self.round, current, self.statistics)
        control = np.array([self.round, self.statistics.cases, self._over])
        out, start = (out_state, out_action, out_round), 0
        while start < len(values):
            self.statistics.make_room(planner.most_new_rows)
            start = planner.run(values, rewards, start, self._marks_here(), control, out)
        before = self.round
        self.round, self.statistics.cases, self._over = control.tolist()
        self._over = bool(self._over)
        self._policy = self.way.live_policy(planner)
        if self.round != before:
            self._rule.begin()
        self._rule.from_marks(self._marks_here(), self.round, self._policy, self.statistics)
        self._opened += len(values)
        self.lengths = lengths_after(self.lengths, before, self.round, out_round)

    def _planner_here(self) -> IncrementalPlanner:
        if self._planner is None:
            schedule = self.confidence.schedule(self.lattice, self.way.name)
            is_exact = self.confidence.clock == "exact"
            self._planner = self.way.planner(self.statistics, schedule, is_exact=is_exact)
        return self._planner

    def _part_with_policy(self) -> None:
        """The tables are about to change: whoever still follows them follows a copy from now on."""
        if self._policy is not None and self._planner is not None:
            for case in self.looking.values():
                if case.follows(self._policy):
                    case.follow(self.policy)
            self._copy = None
