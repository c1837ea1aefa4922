"""What every learner shares: cases in, rounds, policies out.

A learner is an estimation × a way to buy × a rule for when a round ends. It keeps to one policy
within a round; the statistics are all it learns. A round that is over is replanned when the next
case opens, so a reward that comes at once is in the next plan, as in the paper.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from askwise._support.html import line, lines, title
from askwise._support.random import as_generator
from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Knowledge, Memory
from askwise.errors import OptionError, StatisticsError
from askwise.estimation.beliefs import evidence_of, limits_of
from askwise.estimation.complete_records import Log
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.learners.acquisition import Batch, WayToBuy
from askwise.learners.case_policies import OwnPolicies
from askwise.learners.cases import Case
from askwise.learners.recommending import recommended
from askwise.learners.rounds import Doubling, Marks
from askwise.policy import Policy
from askwise.problem import Problem, Seen
from askwise.states import Lattice
from askwise.states.rows import extended

PRICE_MOVED = 0.01
"""A mean of prices paid that moved by this part makes a new plan."""


class BaseLearner(ABC):
    """Ask with `open`, tell through the case. Safe to use from several threads."""

    name: ClassVar[str]
    """What the registry, the command line and saved files call it."""
    way: WayToBuy
    doubles: ClassVar[bool] = True
    """Whether a round also ends when a count has doubled, not only at its `round_length`."""

    def __init__(self, problem: Problem, *, rng: RandomSource = None) -> None:
        if not isinstance(problem, Problem):
            raise OptionError(f"problem must be a Problem, got {problem!r}")
        self.problem = problem
        self.lattice = Lattice(problem)
        self.statistics = self.new_statistics()
        self.rng = as_generator(rng)
        self.round = 0
        """k, the number of the current round; 0 before the first plan."""
        self.cases: dict[int, Case] = {}
        """The cases whose reward is still to come, or came by default, by their number."""
        self.looking: dict[int, Case] = {}
        """Of those, the ones that have not acted yet."""
        self.lock = threading.RLock()
        self.lengths = (0, 0)
        """How many cases were opened in the previous round, and in this one."""
        self.memory: Memory | None = None
        """What it remembers, if it ever forgets."""
        self._own = OwnPolicies()
        """The policies of this round for cases with prices of their own."""
        self._opened = 0
        self._rule = Doubling()
        self._over = True
        self._policy: Policy | None = None
        self._marks: Marks | None = None

    # --- what an algorithm fills in --------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """The options as given, so that `type(self)(problem, **options)` is its like."""
        return {}

    @abstractmethod
    def plan(self) -> Policy:
        """The policy of a round that begins now; `self.round` is its number."""

    @property
    def round_length(self) -> int | None:
        """The most cases in the current round; None: as many as it takes until a count doubles."""
        return None

    def new_statistics(self) -> Statistics:
        """Counters that are all 0."""
        return Statistics(self.lattice)

    def new_counters(self) -> Statistics:
        """Counters that are all 0, stored as its own."""
        return Statistics(self.lattice, sparse=self.statistics.is_sparse)

    def extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What it keeps beside the statistics, if an algorithm needs any; saved too."""
        return {}

    def restored(self) -> None:
        """The extra arrays were overwritten by saved ones: refuse what cannot be."""
        for name, array in self.extra_arrays().items():
            if not np.isfinite(array).all():
                raise StatisticsError(f"{name} holds what is not a number")

    def draw_tag(self) -> int:
        """What to remember of a case that opens now. It may be drawn: each call, another one."""
        return 0

    @property
    def is_mergeable(self) -> bool:
        """Whether it learns from its statistics and `tallies` alone, which can be added."""
        return not self.extra_arrays()

    # --- the face --------------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The number of the next case, from 1."""
        return self.statistics.cases + 1

    @property
    def policy(self) -> Policy:
        """The policy of the current round. It is frozen; `replan()` makes the next."""
        with self.lock:
            return self._begin_round() if self._policy is None else self._policy

    def plan_at(self, lattice: Lattice) -> Policy:
        """What `plan` would be at the prices of this lattice, which has the same states."""
        own = self.lattice, self.problem
        self.lattice, self.problem = lattice, lattice.problem
        try:
            return self.plan()
        finally:
            self.lattice, self.problem = own

    def plan_from(self, lattice: Lattice, start: int) -> Policy:
        """What to buy at once when `start` is on file; at least what of its set is not known."""
        return self.policy if lattice is self.lattice else self.plan_at(lattice)

    def reprice(self, prices: Mapping[str, float]) -> None:
        """From the next case on observations have these prices: {name: cost}, others stay."""
        with self.lock:
            lattice = self.lattice.priced(prices)
            self._forget_plan()
            self._use(lattice)
            held = [] if self.memory is None else self.memory.held()
            for name in prices:  # what was paid before says nothing of the new price
                for statistics in (self.statistics, *held):
                    statistics.forget_paid(self.lattice.position(name))

    def _use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice, self.problem = lattice, lattice.problem
        self.statistics.lattice = lattice

    def _forget_plan(self) -> None:
        """The next case opens under a plan that is made from nothing but the counters."""
        self._over = True

    @property
    def opened(self) -> int:
        """How many cases it has opened."""
        return self._opened

    def count_anew(self, statistics: Statistics, opened: int) -> None:
        """Go on with these counters, after so many cases; the next plan is made from them alone."""
        self.statistics = statistics
        self._opened = opened
        self._rule.begin()
        self._forget_plan()

    def resume(self, policy: Policy) -> None:
        """Go on with this policy, in a learner that was loaded."""
        self._policy = policy

    def replan(self) -> Policy:
        """End the round and begin the next with a policy from all that is known now."""
        with self.lock:
            self._begin_round()
            return self.policy

    def recommend(self) -> Policy:
        """What to deploy if learning were to stop now; changes nothing.

        `policy` is what the learner does, and it may be trying something out; this is what it has
        learned: the best policy by what can be relied on (`learners/recommending.py`). Its value is
        the gain at the root of its tree. `aw.worth`, `aw.explain` and the service show this one.
        Where there are too many states for records to be believed one by one, its `note` says so.
        """
        policy = recommended(self.way, self.evidence())
        policy.note = limits_of(self.statistics)
        return policy

    def evidence(self) -> Beliefs | CountedEvidence:
        """What is known of the population after all cases so far; changes nothing."""
        with self.lock:
            by_visits = self.way.name == "simultaneous"
            return evidence_of(self.statistics, by_visits=by_visits)

    @property
    def log(self) -> Log:
        """The log that it began with, as far as that is not in the statistics."""
        return Log()

    def keep_log(self, log: Log) -> None:
        """Begin with a log again, in a learner that was loaded."""
        raise StatisticsError(f"{self.name} does not begin with a log")

    def merge(self, other: Statistics | BaseLearner) -> None:
        """Learn from cases that were counted elsewhere; the next case opens under a new plan.

        `other` is `Statistics`, or a learner of the same kind with the same options, which stays as
        it is. Cases that it has open stay its own: a reward that comes later is counted there.
        """
        from askwise.learners.merging import merge

        merge(self, other)

    def merged(self, cases: int) -> None:
        """So many cases were just added to its counters; its lock is held."""
        self._forget_plan()

    def open(
        self,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
    ) -> Case:
        """A new case, under the policy of the round.

        `known` has a value for all that is given. Whatever else it has was on file: it costs
        nothing in this case, and counts towards the most that may be looked at. `prices` are those
        of this case alone: it gets a plan of its own.
        """
        with self.lock:
            start = subset = 0
            if known is not None or self.lattice.has_given:
                start = self.lattice.index({} if known is None else known)
                subset = 0 if start < self.lattice.contexts else self.lattice.subset_of(start)
            own = None if prices is None else self.lattice.priced(prices)
            if self.memory is not None:
                self._end_blocks()
            policy = self._policy_of_the_round()
            if own is not None or subset:
                policy = self.own_policy(policy, own or self.lattice, start, subset)
            number = self._opened + 1
            case = Case(number, policy, self, self.draw_tag(), start, subset)
            self._count_opened(1)
            self.cases[number] = case
            if case.action_index < 0:
                self.looking[number] = case
            return case

    def own_policy(self, policy: Policy, lattice: Lattice, start: int, subset: int) -> Policy:
        """The policy of the round, or one for other prices, or for what is on file."""
        panels = lattice.tariff.panels_of
        filed = tuple(i for i in self.lattice.members(subset) if panels(i))
        is_set = subset > 0 and self.way.name == "simultaneous"
        if not filed and not is_set and lattice is self.lattice:
            return policy
        key = (tuple(lattice.costs.tolist()), filed, start if is_set else 0)

        def plan() -> Policy:
            there = lattice.priced({}, filed) if filed else lattice
            return self.plan_from(there, start) if is_set else self.plan_at(there)

        return self._own.get(key, policy, plan)

    def run(
        self,
        values: Choices,
        rewards: Floats,
        out_state: Integers,
        out_action: Choices,
        out_round: Integers,
    ) -> None:
        """Decide these cases just as `open`, `observe` and `reward` would, one by one.

        `values[t]` is the full state of a case, what is given last, and `rewards[t, a]` what each
        action would earn.
        """
        start = 0
        while start < len(values):
            end = len(values)
            if self.memory is not None:
                self._end_blocks()
                end = min(end, start + self.memory.began + self.memory.length - self._opened)
            part = slice(start, end)
            out = (out_state[part], out_action[part], out_round[part])
            self._run(values[part], rewards[part], *out)
            start = end

    def _end_blocks(self) -> None:
        """Forget what there is to forget, if a block of cases is over."""
        memory = self.memory
        assert memory is not None
        if self._opened - memory.began >= memory.length:
            known = Knowledge(self.statistics, self.tallies())
            if memory.end_block(known, self._opened):
                self._forget_plan()

    def tallies(self) -> dict[str, Integers]:
        """What it counts beside the statistics, as arrays that can be added and taken back."""
        return {}

    def _run(
        self,
        values: Choices,
        rewards: Floats,
        out_state: Integers,
        out_action: Choices,
        out_round: Integers,
    ) -> None:
        marks = self._marks_here()
        batch = Batch(values, rewards, out_state, out_action, 0)
        self._rule.to_marks(marks, self.round, self.policy, self.statistics)
        while batch.start < len(values):
            policy = self._policy_of_the_round()
            if self.round_length is not None:
                room = self.round_length - self.lengths[1]
                batch = batch._replace(values=values[: batch.start + room])
            end, over = self.way.run(policy, self.statistics, batch, self.round, marks)
            self._over = over and self.doubles
            out_round[batch.start : end] = self.round
            self.statistics.cases += end - batch.start
            self._count_opened(end - batch.start)
            batch = batch._replace(start=end)
        self._rule.from_marks(marks, self.round, self.policy, self.statistics)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all there is to one file; `askwise.load` gives a learner that goes on the same."""
        from askwise.learners.saving import write

        with self.lock:
            write(self, path)

    def to_bytes(self) -> bytes:
        """All there is, as what a file of it would hold; `learners.from_bytes` gives it back."""
        from askwise.learners.saving import to_bytes

        with self.lock:
            return to_bytes(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.statistics.cases:,} cases, round {self.round:,}>"

    def _repr_html_(self) -> str:
        known = f"{self.statistics.cases:,} cases", f"round {self.round:,}"
        return (
            title(self.name, *known) + line("it recommends:") + lines(str(self.recommend().tree()))
        )

    def _policy_of_the_round(self) -> Policy:
        full = self.round_length is not None and self.lengths[1] >= self.round_length
        if self._over or full or self._policy is None:
            return self._begin_round()
        return self._policy

    def _begin_round(self) -> Policy:
        self._follow_prices()
        self.round += 1
        try:
            policy = self.plan()
        except BaseException:
            self.round -= 1
            raise
        self._policy = policy
        self._own.clear()
        self._rule.begin()
        self._over = False
        self.lengths = (self.lengths[1], 0)
        return policy

    def _marks_here(self) -> Marks:
        rows = self.statistics.capacity
        if self._marks is None:
            self._marks = Marks(*(np.zeros(rows, np.int64) for _ in range(3)))
        elif len(self._marks.stamp) < rows:
            used = len(self._marks.stamp)
            self._marks = Marks(*(extended(array, used, rows) for array in self._marks))
        return self._marks

    def _count_opened(self, cases: int) -> None:
        self._opened += cases
        self.lengths = (self.lengths[0], self.lengths[1] + cases)

    def _follow_prices(self) -> None:
        """Plan with the mean of what was paid, where that is known."""
        statistics = self.statistics
        if statistics.paid_counts.any():
            means = statistics.mean_paid()
            old = {o.name: o.cost for o in self.problem.observations}
            new = {n: p for n, p in means.items() if abs(p - old[n]) > PRICE_MOVED * max(p, old[n])}
            if new:
                self._forget_plan()
                self._use(self.lattice.priced(new))

    # --- what cases report -----------------------------------------------------------------------

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """A case paid so much: count it."""
        paid = [(self.lattice.position(name), amount) for name, amount in amounts.items()]
        for observation, amount in paid:  # all of it or nothing
            self.statistics.check_paid(observation, amount)
        for observation, amount in paid:
            self.statistics.count_paid(observation, amount)

    def acted(self, case: Case) -> None:
        """A case knows all it wanted: count what it saw."""
        self.looking.pop(case.id, None)
        for pair in self.way.count(self.statistics, case):
            if self.doubles and self._rule.counted(pair, self.statistics):
                self._over = True

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A case got its reward: count it at the state acted in."""
        state, action = case.state_index, case.action_index
        if before is not None:
            if self.memory is None or self.memory.replace_reward(
                case.block, state, action, before, reward
            ):
                self.statistics.replace_reward(state, action, before, reward)
                self._rule.on_first(state, action)
        else:
            if self.memory is not None:
                case.block = self.memory.number
            self.statistics.count_reward(state, action, reward)
            if self.doubles and self._rule.counted((state, action), self.statistics):
                self._over = True
        if not case.is_by_default:
            self.cases.pop(case.id, None)

    def cancelled(self, case: Case) -> None:
        """A case was abandoned: count the looks it took one by one, each a fair sample."""
        if case.action_index < 0:
            for pair in self.way.count_part(self.statistics, case):
                if self.doubles and self._rule.counted(pair, self.statistics):
                    self._over = True
        self.looking.pop(case.id, None)
        self.cases.pop(case.id, None)
