"""What drives a strategy: cases in, rounds, policies out.

A learner keeps to one policy within a round; the statistics are all it learns. A round that is over
is replanned when the next case opens, so a reward that comes at once is in the next plan, as in the
paper. Cases report to `Rounds` what was seen, paid and earned in them.
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
"""A mean of prices paid that moved by this part makes a new plan."""


class Rounds:
    """One strategy at work. Whoever calls it holds its `lock`, but for `open`."""

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
        """What is remembered in which blocks, if it ever forgets."""
        self.cases: dict[int, Case] = {}
        """The cases whose reward is still to come, or came by default, by their number."""
        self.looking: dict[int, Case] = {}
        """Of those, the ones that have not acted yet."""
        self.lock = threading.RLock()
        self.policy: Policy | None = None
        """That of the current round; a live one changes with the next plan."""
        self.is_over = True
        """Whether the next case begins a round."""
        self.rule = Doubling(strategy.changed)
        self.case_policies = CasePolicies()
        """The policies of this round for cases with prices of their own."""
        self._copy: Policy | None = None
        self._round_counts: RoundCounts | None = None

    # --- cases -----------------------------------------------------------------------------------

    def open(
        self,
        known: Mapping[str, Seen] | None,
        prices: Mapping[str, float] | None,
        stake: float = 1.0,
    ) -> Case:
        """A new case, under the policy of the round or, where it needs one, a policy of its own."""
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
        """The policy of the round, or one for other prices, a stake, or for what is on file."""
        in_panel = lattice.tariff.is_in_panel
        filed = tuple(i for i in self.now.lattice.members(subset) if in_panel(i))
        is_set = subset > 0 and self.strategy.acquisition.plans_anew_for_files
        if not filed and not is_set and lattice is self.now.lattice and stake == 1.0:
            return policy
        key = (tuple(o.cost for o in lattice.observations), filed, start if is_set else 0)

        def plan() -> Policy:
            there = lattice.priced({}, filed) if filed else lattice
            there = there if stake == 1.0 else there.at_stake(stake)
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
        """A case knows all it wanted: count what it saw."""
        self.looking.pop(case.id, None)
        self._looked(self.strategy.count(self.now, case))

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """People act in a case that still looks: count what it saw, as far as that is fair."""
        self.looking.pop(case.id, None)
        self._looked(self.strategy.count_stopped(self.now, case, is_fair=is_fair))

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """People did an action in place of what was advised, or of what they said before."""
        overrides = self.now.statistics.overrides
        if before is not None:
            overrides.count(before, -1)
        if now is not None:
            overrides.count(now)

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """People looked at these without being asked."""
        for i in observations:
            self.now.statistics.overrides.count_unasked(i)

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A case got its reward: count it at the state acted in, or apart."""
        if case.is_overruled:
            self.now.statistics.overrides.count_reward(case.action_index, reward, before)
        if not case.is_apart:
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
        if not case.is_overruled and not case.unasked:  # else it is not what the strategy did
            strategy.count_reward(case, reward, before)

    def cancelled(self, case: Case) -> None:
        """A case was abandoned: count the looks it took one by one, each a fair sample."""
        if case.action_index < 0:
            self._looked(self.strategy.count_part(self.now, case))
        self.looking.pop(case.id, None)
        self.cases.pop(case.id, None)

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """A case paid so much: count it."""
        statistics, position = self.now.statistics, self.now.lattice.position
        paid = [(position(name), amount) for name, amount in amounts.items()]
        for observation, amount in paid:  # all of it or nothing
            statistics.check_paid(observation, amount)
        for observation, amount in paid:
            statistics.count_paid(observation, amount)

    def _looked(self, pairs: Pairs) -> None:
        """End the round if the count of a look has doubled."""
        if pairs and self.strategy.doubles:
            for pair in pairs:
                if self.rule.counted(pair, self.now.statistics):
                    self.is_over = True

    # --- rounds ----------------------------------------------------------------------------------

    def policy_of_the_round(self) -> Policy:
        """What a case follows that opens now; a round that is over gives way to the next."""
        length = self.strategy.round_length(self.now)
        full = length is not None and self.now.lengths[1] >= length
        if self.is_over or full or self.policy is None:
            return self.begin_round()
        return self.policy

    def begin_round(self) -> Policy:
        """Plan, from all that is known now."""
        now = self.now
        self._follow_prices()
        self.part_with_policy()
        now.round += 1
        try:
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

    def frozen_policy(self) -> Policy:
        """The policy of the round, in tables that no plan will change."""
        policy = self.begin_round() if self.policy is None else self.policy
        if not self.strategy.is_live:
            return policy
        if self._copy is None:
            self._copy = policy.copy()
        return self._copy

    def part_with_policy(self) -> None:
        """The plan is about to change: cases that still look get what they need of this one."""
        for case in self.looking.values():
            case.follow_exactly()
        if self.policy is not None and self.strategy.is_live:
            for case in self.looking.values():
                if case.follows(self.policy):
                    case.follow(self.frozen_policy())
            self._copy = None

    def forget_plan(self) -> None:
        """The next case opens under a plan that is made from nothing but the counters."""
        self.is_over = True
        if self.policy is not None:
            self.policy = self.frozen_policy()
        self.strategy.forget_plan()
        self._copy = None

    def resume(self, policy: Policy) -> Policy:
        """Go on with this policy, in a learner that was loaded."""
        self.policy = self.strategy.adopt(self.now, policy)
        return self.policy

    def count_anew(self, statistics: Statistics, opened: int) -> None:
        """Go on with these counters, after so many cases; the next plan is made from them alone."""
        self.now.statistics = statistics
        self.now.opened = opened
        self.rule.begin()
        self.forget_plan()

    def new_counters(self) -> Statistics:
        """Counters that are all 0, stored as its own."""
        return Statistics(self.now.lattice, sparse=self.now.statistics.is_sparse)

    # --- prices ----------------------------------------------------------------------------------

    def reprice(self, prices: Mapping[str, float]) -> None:
        """From the next case on observations have these prices."""
        lattice = self.now.lattice.priced(prices)
        self.forget_plan()
        self._use(lattice)
        held = [] if self.forgetting is None else self.forgetting.held()
        for name in prices:  # what was paid before says nothing of the new price
            for statistics in (self.now.statistics, *held):
                statistics.forget_paid(lattice.position(name))

    def _follow_prices(self) -> None:
        """Plan with the mean of what was paid, where that is known."""
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
        """Decide these cases just as `open`, `observe` and `reward` would, one by one."""
        start = 0
        while start < len(cases):
            end = len(cases)
            if self.forgetting is not None:
                self._end_blocks()
                block = self.forgetting
                end = min(end, start + block.began + block.length - self.now.opened)
            self.strategy.run(self, cases.part(start, end))
            start = end

    def run_round_by_round(self, cases: Cases) -> None:
        """A compiled loop for each round; plans between them."""
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
        """The arrays in which the kernels keep the counts of a round, long enough."""
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
        """Forget what there is to forget, if a block of cases is over."""
        forgetting, opened = self.forgetting, self.now.opened
        assert forgetting is not None
        if opened - forgetting.began >= forgetting.length:
            known = Knowledge(self.now.statistics, self.strategy.tallies())
            if forgetting.end_block(known, opened):
                self.forget_plan()
