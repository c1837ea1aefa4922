"""`Rounds` runs a strategy: it opens cases, ends rounds and asks for policies.

A learner keeps one policy within a round, and learns only from statistics. After a round the next
plan is made when the next case opens. So an immediate reward is part of the next plan, as in the
paper. Cases report their observations, prices and rewards to `Rounds`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from askwise._support.random import as_generator
from askwise._support.typing import RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Forgetting, Knowledge
from askwise.counting.round_counts import RoundCounts
from askwise.learners.after_log import (
    length_after_log,
    plan_after_log,
    plan_for_case_after_log,
    run_one_by_one,
)
from askwise.learners.case_policies import CasePolicies
from askwise.learners.cases import Case
from askwise.learners.doubling import Doubling
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy
from askwise.policy.acquisition import Batch
from askwise.policy.counting_cases import Pairs
from askwise.problem import Problem, Seen
from askwise.problem.amounts import check_stake
from askwise.states import Lattice
from askwise.states.rows import extended

PRICE_MOVED = 0.01
"""If the mean of prices paid moves by this part, there is a new plan."""


class Rounds:
    """Runs one strategy. A caller must hold its `lock`, except for `open`."""

    def __init__(
        self,
        lattice: Lattice,
        strategy: Strategy,
        *,
        rng: RandomSource = None,
        forgetting: Forgetting | None = None,
    ) -> None:
        statistics = Statistics(lattice, sparse=strategy.is_sparse)
        self.now = Progress(lattice, statistics, as_generator(rng))
        self.strategy = strategy
        self.forgetting = forgetting
        """The blocks of cases that are remembered, if the learner forgets."""
        self.cases: dict[int, Case] = {}
        """The cases without a reward, or with a default one, by number."""
        self.looking: dict[int, Case] = {}
        """Those of them that have not acted yet."""
        self.lock = threading.RLock()
        self.policy: Policy | None = None
        """The policy of the current round. A live policy changes with the next plan."""
        self.is_over = True
        """Whether the next case begins a round."""
        self.rule = Doubling(strategy.changed)
        self.case_policies = CasePolicies()
        """The policies of this round for cases with their own prices."""
        self._copy: Policy | None = None
        self._round_counts: RoundCounts | None = None

    # --- cases -----------------------------------------------------------------------------------

    def open(
        self,
        known: Mapping[str, Seen] | None,
        prices: Mapping[str, float] | None,
        stake: float = 1.0,
    ) -> Case:
        """Opens a case under the policy of the round or, if it needs one, under its own policy."""
        with self.lock:
            now, lattice = self.now, self.now.lattice
            if type(stake) is not float or stake != 1.0:
                stake = check_stake(stake, self.problem.reward_value)
            start = subset = 0
            if known is not None or lattice.has_given:
                start = lattice.index({} if known is None else known)
                subset = 0 if start < lattice.contexts else lattice.subset_of(start)
            own = None if prices is None else lattice.priced(prices)
            if self.forgetting is not None:
                self._end_blocks()
            policy = self.policy_of_the_round()
            if own is not None or subset or stake != 1.0:
                at = (start, subset, stake)
                policy = self.policy_for_case(policy, own or now.lattice, *at)
            number = now.opened + 1
            case = Case(number, policy, self, self.strategy.tag(now), start, subset, stake)
            now.count_opened(1)
            self.cases[number] = case
            if case.action_index < 0:
                self.looking[number] = case
            return case

    def policy_for_case(
        self,
        policy: Policy,
        lattice: Lattice,
        start: int,
        subset: int,
        stake: float = 1.0,
    ) -> Policy:
        """Returns the policy of the round, or one for other prices, a stake or values on file."""
        filed = lattice.tariff.in_panels(self.now.lattice.members(subset))
        is_set = subset > 0 and self.strategy.acquisition.plans_anew_for_files
        if not filed and not is_set and lattice is self.now.lattice and stake == 1.0:
            return policy
        key = (tuple(o.cost for o in lattice.observations), filed, start if is_set else 0)

        def plan() -> Policy:
            there = lattice.priced({}, filed) if filed else lattice
            there = there if stake == 1.0 else there.at_stake(stake)
            if self._follows_log(self._began) and not is_set:
                return plan_for_case_after_log(self.strategy, self.now, there)
            return self.strategy.plan_for_case(self.now, policy, there, start if is_set else 0)

        def exact() -> Policy:
            with self.lock:
                return self.case_policies.get(key, stake, policy, plan)

        if stake != 1.0 and self.strategy.plans_one_world:
            between = self.case_policies.between(key, stake, start, exact)
            if between is not None:
                return between
        return exact()

    def acted(self, case: Case) -> None:
        """Counts the observations of a case that acts."""
        self.looking.pop(case.id, None)
        self._looked(self.strategy.count(self.now, case))

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """Counts the observations of a case in which people act early, as far as they are fair."""
        self.looking.pop(case.id, None)
        self._looked(self.strategy.count_stopped(self.now, case, is_fair=is_fair))

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """Counts an action of people instead of the advice, or instead of their earlier action."""
        overrides = self.now.statistics.overrides
        if before is not None:
            overrides.count(before, -1)
        if now is not None:
            overrides.count(now)

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """Counts observations that people made without being asked."""
        for i in observations:
            self.now.statistics.overrides.count_unasked(i)

    def spent_later(self, case: Case, amount: float) -> None:
        """Counts the cost of observations that people made after the advice."""
        self.strategy.count_spent_later(amount)

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """Counts the reward of a case at the state acted in, or apart."""
        is_overruled = case.is_overruled
        if is_overruled:
            self.now.statistics.overrides.count_reward(case.action_index, reward, before)
        if not is_overruled or not case.is_apart:
            self._count_reward(case, reward, before)
        if not case.is_by_default:
            self.cases.pop(case.id, None)

    def _count_reward(self, case: Case, reward: float, before: float | None) -> None:
        state, action, statistics = case.acted_in, case.action_index, self.now.statistics
        strategy = self.strategy
        if before is None:
            if self.forgetting is not None:
                case.block = self.forgetting.number
            statistics.count_reward(state, action, reward)
            if strategy.doubles and self.rule.counted((state, action), statistics):
                self.is_over = True
        elif self.forgetting is None or self.forgetting.replace_reward(
            case.block, state, action, before, reward
        ):
            statistics.replace_reward(state, action, before, reward)
            strategy.changed(state, action)
        if not case.is_overruled and not case.unasked:  # otherwise the strategy did not choose it
            strategy.count_reward(case, reward, before)

    def cancelled(self, case: Case) -> None:
        """Counts the sequential steps of an abandoned case, because each is a fair sample."""
        if case.action_index < 0:
            self._looked(self.strategy.count_part(self.now, case))
        self.looking.pop(case.id, None)
        self.cases.pop(case.id, None)

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Counts the prices that a case paid."""
        statistics, position = self.now.statistics, self.now.lattice.position
        paid = [(position(name), amount) for name, amount in amounts.items()]
        for observation, amount in paid:  # all of it or nothing
            statistics.check_paid(observation, amount)
        for observation, amount in paid:
            statistics.count_paid(observation, amount)

    def _looked(self, pairs: Pairs) -> None:
        """Ends the round if the count of an observation has doubled."""
        if pairs and self.strategy.doubles:
            for pair in pairs:
                if self.rule.counted(pair, self.now.statistics):
                    self.is_over = True

    # --- rounds ----------------------------------------------------------------------------------

    def policy_of_the_round(self) -> Policy:
        """Returns the policy of a case that opens now, in a new round if the last is over."""
        if self._follows_log(self._began):
            left = self.strategy.log.cases - self._began
            length: int | None = min(left, length_after_log(self.strategy))
        else:
            length = self.strategy.round_length(self.now)
        full = length is not None and self.now.lengths[1] >= length
        if self.is_over or full or self.policy is None:
            return self.begin_round()
        return self.policy

    def begin_round(self) -> Policy:
        """Plans a new round from the current counters."""
        now = self.now
        self._follow_prices()
        self.part_with_policy()
        now.round += 1
        try:
            if self._follows_log(now.opened):
                policy = plan_after_log(self.strategy, now)
            else:
                policy = self.strategy.plan(now, now.lattice)
        except BaseException:
            now.round -= 1
            raise
        self.policy = policy
        self.case_policies.clear()
        self.rule.begin()
        self.is_over = False
        now.lengths = (now.lengths[1], 0)
        return policy

    def _follows_log(self, opened: int) -> bool:
        """Whether the case after so many own cases is one of those that follow a log."""
        return opened < self.strategy.log.cases and not self.strategy.keeps_log

    @property
    def _began(self) -> int:
        """The number of cases that were opened before this round."""
        return self.now.opened - self.now.lengths[1]

    def frozen_policy(self) -> Policy:
        """Returns the policy of the round, in tables that no plan will change."""
        policy = self.begin_round() if self.policy is None else self.policy
        if not self.strategy.is_live:
            return policy
        if self._copy is None:
            self._copy = policy.copy()
        return self._copy

    def part_with_policy(self) -> None:
        """Gives cases that have not acted a copy of the plan, because it is about to change."""
        for case in self.looking.values():
            case.follow_exactly()
        if self.policy is not None and self.strategy.is_live:
            for case in self.looking.values():
                if case.policy is self.policy:
                    case.follow(self.frozen_policy())
            self._copy = None

    def forget_plan(self) -> None:
        """Drops the plan, so that the next case opens under a plan from the counters alone."""
        self.is_over = True
        if self.policy is not None:
            self.policy = self.frozen_policy()
        self.strategy.forget_plan()
        self._copy = None

    def resume(self, policy: Policy) -> Policy:
        """Continues with this policy, in a learner that was loaded."""
        is_own = not self._follows_log(self._began)
        self.policy = self.strategy.adopt(self.now, policy) if is_own else policy
        return self.policy

    def count_anew(self, statistics: Statistics, opened: int) -> None:
        """Continues with these counters, after so many cases. The next plan uses them alone."""
        self.now.statistics = statistics
        self.now.opened = opened
        self.rule.begin()
        self.forget_plan()

    def new_counters(self) -> Statistics:
        """Returns counters that are all 0, with the same storage."""
        return Statistics(self.now.lattice, sparse=self.now.statistics.is_sparse)

    # --- prices ----------------------------------------------------------------------------------

    def reprice(self, prices: Mapping[str, float]) -> None:
        """Sets the prices of observations from the next case on."""
        lattice = self.now.lattice.priced(prices)
        self.forget_plan()
        self._use(lattice)
        held = [] if self.forgetting is None else self.forgetting.held()
        for name in prices:  # earlier payments are no evidence for the new price
            for statistics in (self.now.statistics, *held):
                statistics.forget_paid(lattice.position(name))

    def _follow_prices(self) -> None:
        """Sets prices to the mean of what was paid, where that is known."""
        statistics = self.now.statistics
        if statistics.paid_counts.any():
            means = statistics.mean_paid()
            old = {o.name: o.cost for o in self.problem.observations}
            new = {n: p for n, p in means.items() if abs(p - old[n]) > PRICE_MOVED * max(p, old[n])}
            if new:
                self.forget_plan()
                self._use(self.now.lattice.priced(new))

    def _use(self, lattice: Lattice) -> None:
        self.now.lattice = self.now.statistics.lattice = lattice
        self.strategy.use(lattice)

    @property
    def problem(self) -> Problem:
        """The problem at today's prices."""
        return self.now.lattice.problem

    # --- many cases in one go --------------------------------------------------------------------

    def run(self, cases: Cases) -> None:
        """Decides these cases exactly as `open`, `observe` and `reward` would."""
        start = 0
        while start < len(cases):
            end = len(cases)
            if self.forgetting is not None:
                self._end_blocks()
                block = self.forgetting
                end = min(end, start + block.began + block.length - self.now.opened)
            if self._follows_log(self.now.opened):
                end = min(end, start + self.strategy.log.cases - self.now.opened)
                run_one_by_one(self, cases.part(start, end))
            else:
                self.strategy.run(self, cases.part(start, end))
            start = end

    def run_round_by_round(self, cases: Cases) -> None:
        """Runs a compiled loop for each round, with plans between them."""
        now, round_counts, run = self.now, self.round_counts(), self.strategy.acquisition.run
        batch = Batch(cases.values, cases.rewards, cases.state, cases.action, 0)
        self.rule.to_arrays(round_counts, now.round, self.frozen_policy(), now.statistics)
        while batch.start < len(cases):
            policy = self.policy_of_the_round()
            length = self.strategy.round_length(now)
            if length is not None:
                room = length - now.lengths[1]
                batch = batch._replace(values=cases.values[: batch.start + room])
            end, over = run(policy, now.statistics, batch, now.round, round_counts)
            self.is_over = over and self.strategy.doubles
            cases.round[batch.start : end] = now.round
            now.statistics.cases += end - batch.start
            now.count_opened(end - batch.start)
            batch = batch._replace(start=end)
        self.rule.from_arrays(round_counts, now.round, self.frozen_policy(), now.statistics)

    def round_counts(self) -> RoundCounts:
        """Returns the arrays in which the kernels keep the counts of a round."""
        rows = self.now.statistics.capacity
        if self._round_counts is None:
            self._round_counts = RoundCounts(*(np.zeros(rows, np.int64) for _ in range(3)))
        elif len(self._round_counts.counted_in) < rows:
            used = len(self._round_counts.counted_in)
            self._round_counts = RoundCounts(
                *(extended(array, used, rows) for array in self._round_counts)
            )
        return self._round_counts

    def _end_blocks(self) -> None:
        """Forgets old blocks if a block of cases is over."""
        forgetting, opened = self.forgetting, self.now.opened
        assert forgetting is not None
        if opened - forgetting.began >= forgetting.length:
            known = Knowledge(self.now.statistics, self.strategy.tallies())
            if forgetting.end_block(known, opened):
                self.forget_plan()
