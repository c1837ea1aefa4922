"""The common part of Sim-OOS and Seq-OOS: optimism, its options, and incremental plans."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from askwise._support.typing import Integers, RandomSource
from askwise.counting import SPARSE_FROM, Statistics
from askwise.counting.forgetting import forgetting_of
from askwise.errors import OptionError
from askwise.estimation.estimates import Estimates
from askwise.estimation.optimistic import Confidence, optimistic_estimates
from askwise.learners.cases import Case
from askwise.learners.doubling import lengths_after
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.planning.incremental import IncrementalPlanner, cheapest_action
from askwise.policy import Policy
from askwise.policy.acquisition import Acquisition, set_policy_from
from askwise.policy.counting_cases import Pairs
from askwise.problem import Problem
from askwise.states import Lattice


class Optimistic(Strategy):
    """Optimistic estimates × an acquisition × no exploration × doubling.

    It plans with the most favourable rewards and probabilities within the radii. A planner updates
    the plan in its own tables, and cases follow those tables. So the policy of a round is live.
    """

    storages: ClassVar[tuple[str, ...]] = ("auto", "dense", "sparse")
    honours_rules = True

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        confidence: Confidence,
        storage: str = "auto",
    ) -> None:
        if storage not in self.storages:
            known = " or ".join(map(repr, self.storages))
            raise OptionError(f"storage must be {known}, got {storage!r}")
        self.acquisition = acquisition
        self.confidence = confidence
        auto = "sparse" in self.storages and lattice.size >= SPARSE_FROM
        self.is_sparse = auto if storage == "auto" else storage == "sparse"
        self._planner: IncrementalPlanner | None = None

    @property
    def is_live(self) -> bool:
        """Whether there is a planner, whose tables the policy of the round reads."""
        return self._planner is not None

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The policy that is best in the best of the plausible worlds."""
        if lattice is not now.lattice:
            return self.full_plan(now, lattice)
        planner = self._planner_for(now)
        planner.replan(now.t)
        return self.acquisition.live_policy(planner)

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns the same policy, computed from the counters alone."""
        statistics = now.statistics.dense()
        weight = self.acquisition.weight(statistics)
        return self.acquisition.best(lattice, self.estimates(now, statistics, weight, lattice))

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """Returns the best policy at these prices, or the best set beside values on file."""
        if not start:
            return self.full_plan(now, lattice)
        statistics = now.statistics.dense()
        # cases without values on file and with the same ones are fair samples of one more step
        weight = statistics.visits[:, None] + statistics.transitions
        return set_policy_from(lattice, self.estimates(now, statistics, weight, lattice), start)

    def estimates(
        self, now: Progress, statistics: Statistics, weight: Integers, lattice: Lattice
    ) -> Estimates:
        """The most favourable rewards and probabilities within the radii."""
        radii = self.confidence.radii(now.lattice, self.acquisition.name, now.t)
        return optimistic_estimates(statistics, weight, radii, lattice)

    def count(self, now: Progress, case: Case) -> Pairs:
        """Counts the observations of a case, and notifies the planner of the set."""
        pairs = self.acquisition.count(now.statistics, case)
        if self._planner is not None and case.start < now.lattice.contexts:
            self._planner.bought(case.subset, case.start)
        return pairs

    def changed(self, state: int, choice: int) -> None:
        """Notes that a pair was counted for the first time in this round, so its part of the plan
        changes.
        """
        if self._planner is not None:
            self._planner.changed(state, choice)

    def adopt(self, now: Progress, policy: Policy) -> Policy:
        """Lets the planner take over the policy. Its own tables are computed for the next plan."""
        planner = self._planner_for(now)
        self.acquisition.adopt(planner, policy)
        return self.acquisition.live_policy(planner)

    def forget_plan(self) -> None:
        """Drops the plan, so that the next one is computed from the counters alone."""
        self._planner = None

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decides these cases, including rounds and plans, in one compiled loop."""
        if not len(cases):
            return
        now = rounds.now
        current = rounds.policy_of_the_round()
        rounds.part_with_policy()
        planner = self._planner_for(now)
        rounds.rule.to_arrays(rounds.round_counts(), now.round, current, now.statistics)
        control = np.array([now.round, now.statistics.cases, rounds.is_over])
        out, start = (cases.state, cases.action, cases.round), 0
        while start < len(cases):
            now.statistics.make_room(planner.most_new_rows)
            round_counts = rounds.round_counts()
            start = planner.run(cases.values, cases.rewards, start, round_counts, control, out)
        before = now.round
        now.round, now.statistics.cases, over = control.tolist()
        rounds.is_over = bool(over)
        rounds.policy = self.acquisition.live_policy(planner)
        if now.round != before:
            rounds.rule.begin()
        rounds.rule.from_arrays(rounds.round_counts(), now.round, rounds.policy, now.statistics)
        now.opened += len(cases)
        now.lengths = lengths_after(now.lengths, before, now.round, cases.round)

    def _planner_for(self, now: Progress) -> IncrementalPlanner:
        if self._planner is None:
            schedule = self.confidence.schedule(now.lattice, self.acquisition.name)
            is_exact = self.confidence.clock == "exact"
            self._planner = self.acquisition.planner(now.statistics, schedule, is_exact=is_exact)
        return self._planner


class OptimisticInFull(Optimistic):
    """The same strategy with a full plan in every round, for other plans or rounds."""

    storages: ClassVar[tuple[str, ...]] = ("auto", "dense")

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The policy that is best in the best of the plausible worlds."""
        return self.full_plan(now, lattice)

    def adopt(self, now: Progress, policy: Policy) -> Policy:
        """Returns the policy unchanged, because no planner updates it."""
        return policy

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decides these cases, with a compiled loop for each round."""
        rounds.run_round_by_round(cases)


class OptimisticLearner(BaseLearner):
    """An optimistic learner. Its subclasses only choose the acquisition."""

    _acquisition: ClassVar[Acquisition]
    _kind: ClassVar[type[Optimistic]] = Optimistic

    def __init__(
        self,
        problem: Problem,
        *,
        confidence: str = "practical",
        width: float = 1.0,
        delta: float = 0.1,
        clock: str = "doubling",
        cap: str = "corrected",
        storage: str = "auto",
        window: int | None = None,
        detect: bool = False,
        rng: RandomSource = None,
    ) -> None:
        lattice = lattice_of(problem)
        radii = Confidence(confidence, width=width, delta=delta, clock=clock, cap=cap)
        options = {
            "confidence": radii.kind,
            "width": radii.width,
            "delta": radii.delta,
            "clock": radii.clock,
            "cap": radii.cap,
            "storage": storage,
            "window": window,
            "detect": detect,
        }
        kind = self._kind
        if cheapest_action(lattice) is None and not issubclass(kind, OptimisticInFull):
            kind = OptimisticInFull  # an observation may pay because an action requires it
            if storage == "sparse":
                raise OptionError(
                    "storage 'sparse' cannot reckon with what actions cost where the cheapest of "
                    "them requires a look: expected 'auto' or 'dense'"
                )
        strategy = kind(lattice, self._acquisition, radii, storage)
        forgetting = forgetting_of(window, detect=detect, states=lattice.size)
        super().__init__(lattice, strategy, options, rng=rng, forgetting=forgetting)
