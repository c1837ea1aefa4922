"""The default: a model of the problem × either way to buy × rounds of a part of the past."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Memory
from askwise.errors import OptionError, StatisticsError
from askwise.estimation.complete_records import CompleteRecords, Log
from askwise.estimation.evidence import Beliefs
from askwise.estimation.joint import MOST_CELLS, count_cells
from askwise.learners.acquisition import Sequential, Simultaneous
from askwise.learners.additive_model import AdditiveMind
from askwise.learners.base import BaseLearner
from askwise.learners.budget import check_budget
from askwise.learners.cases import Case
from askwise.learners.joint_model import JointMind
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.states import Lattice

TAGS = 1 << 62
"""How many tags there are."""


class Mind(Protocol):
    """What a learner believes, and what it does with it. The statistics are not its own."""

    name: str
    log: Log
    """What it began with."""

    def know(self, log: Log) -> None:
        """It begins with a log; complete records are not in the statistics."""

    def start(self, statistics: Statistics) -> None:
        """Let the estimates settle on what a log says."""

    def plan(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """The policy of a round that begins when so many cases were opened, and its length."""

    def plan_at(self, lattice: Lattice, policy: Policy, statistics: Statistics) -> Policy:
        """What the policy of the round would be at the prices of this lattice."""

    def plan_from(self, lattice: Lattice, start: int, policy: Policy) -> Policy:
        """What to buy at once when `start` is on file."""

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""

    def counted(self) -> dict[str, Integers]:
        """What it counts beside the statistics, as arrays that can be added and taken back."""

    def recommend(self, statistics: Statistics) -> Policy:
        """What to deploy if learning were to stop now; changes nothing."""

    def beliefs(self, statistics: Statistics) -> Beliefs:
        """What it believes, for those who want reasons; changes nothing."""

    def acted(self, statistics: Statistics, case: Case) -> None:
        """Count a case that acted, and what it looked at; its reward is counted elsewhere."""

    def run(
        self,
        policy: Policy,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""

    def begin_anew(self, statistics: Statistics) -> None:
        """Work the estimates out from nothing but what was counted."""

    def arrays(self) -> dict[str, Floats | Integers]:
        """What it keeps beside the statistics, to be saved and to be overwritten when loaded."""

    def restored(self) -> None:
        """The arrays were overwritten by saved ones: refuse what cannot be."""


class Learner(BaseLearner):
    """Good without tuning, early and late, for few observations or many of which few matter.

    It keeps a model of what there is to see and to earn, in which a case counts for far more than
    the state it acted in. At the beginning of a round it draws a world from it, near the mean, and
    plans for that world. Now and then it tries something else, more and more seldom: it never stops
    looking for what it may have missed, at a price per case that goes to zero.

    plan: "sequential" or "simultaneous".
    model: "joint" is one model of all combinations of values (`joint_model.py`), of at most
    512; "additive" expects that few observations matter, by themselves and in pairs
    (`additive_model.py`); "auto" is joint if it can be. `model_name` says which it is.
    explore_budget: the most to lose by trying, in the currency of the costs, compared with the best
    action taken blindly. When it is used up, the learner buys only what pays by cautious estimates,
    else nothing, until it has earned the loss back. None: no limit.
    window, detect: forget, for a world that changes; see docs/drift.md.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = Learner(patients.problem, rng=0)
    >>> learner.model_name
    'joint'
    >>> round(float(simulate(learner, patients, steps=5_000, rng=0).gain.mean()), 1)
    79.6
    """

    name = "learner"
    doubles = False

    def __init__(
        self,
        problem: Problem,
        *,
        plan: str = "sequential",
        model: str = "auto",
        explore_budget: float | None = None,
        window: int | None = None,
        detect: bool = False,
        rng: RandomSource = None,
    ) -> None:
        ways = {way.name: way for way in (Sequential(), Simultaneous())}
        if plan not in ways:
            raise OptionError(f"plan must be 'sequential' or 'simultaneous', got {plan!r}")
        if model not in ("auto", "joint", "additive"):
            raise OptionError(f"model must be 'auto', 'joint' or 'additive', got {model!r}")
        self.way = ways[plan]
        self.given_model = model
        self.explore_budget = check_budget(explore_budget)
        super().__init__(problem, rng=rng)
        self.mind: Mind = self._kind(self.lattice, self.way, self.explore_budget)
        if window is not None or detect:
            if explore_budget is not None:
                raise OptionError("explore_budget counts all cases: not with window or detect")
            self.memory = Memory(window, detect=detect, states=self.lattice.size)
        self._length: Integers = np.ones(1, np.int64)

    @property
    def options(self) -> dict[str, Any]:
        """The options as given."""
        return {
            "plan": self.way.name,
            "model": self.given_model,
            "explore_budget": self.explore_budget,
            "window": None if self.memory is None else self.memory.window,
            "detect": self.memory is not None and self.memory.detect,
        }

    @property
    def model_name(self) -> str:
        """Which model it learns with: "joint" or "additive"."""
        return self.mind.name

    def new_statistics(self) -> Statistics:
        """Counters that are all 0, as the model needs them."""
        return Statistics(self.lattice, sparse=self._kind.is_sparse)

    @property
    def _kind(self) -> type[JointMind | AdditiveMind]:
        """The model that was asked for, or that fits."""
        chosen = self.given_model
        if chosen == "auto":
            chosen = "joint" if count_cells(self.problem) <= MOST_CELLS else "additive"
        return JointMind if chosen == "joint" else AdditiveMind

    @property
    def log(self) -> Log:
        """The log that it began with: how many cases, and complete records as they are."""
        return self.mind.log

    def keep_log(self, log: Log) -> None:
        """Begin with a log again, in a learner that was loaded."""
        self.mind.know(log)

    def extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What the model keeps beside the statistics, and the length of the round."""
        return {**self.mind.arrays(), "round_length": self._length}

    def restored(self) -> None:
        """The extra arrays were overwritten by saved ones: refuse what cannot be."""
        super().restored()
        if self._length[0] < 1:
            raise OptionError(f"a round of {self._length[0]} cases")
        self.mind.restored()

    @property
    def is_mergeable(self) -> bool:
        """It is: what it keeps beside its tallies follows from what was counted."""
        return True

    def merge(self, other: Statistics | BaseLearner) -> None:
        """Learn from cases that were counted elsewhere; the next case opens under a new plan.

        `other` is a `Learner` with the same options, which stays as it is, or, with the joint
        model, `Statistics` of cases that each count once. Cases that the other has open stay its
        own: a reward that comes later is counted there.
        """
        if isinstance(other, Statistics) and other.records:
            raise StatisticsError(
                "learner counts each case once, in the state that was acted in, but complete "
                "records count in every state: use seq-oos or sim-oos, or begin with the log, "
                "aw.fit(...).learner()"
            )
        if isinstance(other, Learner) and other.log.records is not None:
            raise StatisticsError(
                "the other learner began with complete records, which are not in its statistics: "
                "merge this one into it"
            )
        super().merge(other)

    def merged(self, cases: int) -> None:
        """So many cases were added: its rounds are a part of all cases before them."""
        super().merged(cases)
        self._opened += cases
        self.mind.begin_anew(self.statistics)

    def draw_tag(self) -> int:
        """A random number for each case: it decides what the case tries. It is drawn anew."""
        return int(self.rng.integers(TAGS))

    @property
    def round_length(self) -> int:
        """A part of all cases before it; less if the budget is nearly used up."""
        return int(self._length[0])

    def plan(self) -> Policy:
        """The best policy of a world drawn near the mean, and what to try beside it."""
        opened = self._opened if self.memory is None else self.statistics.cases
        policy, self._length[0] = self.mind.plan(self.statistics, opened, self.rng)
        return policy

    def plan_at(self, lattice: Lattice) -> Policy:
        """What the policy of the round would be at the prices of this lattice."""
        assert self._policy is not None
        return self.mind.plan_at(lattice, self._policy, self.statistics)

    def plan_from(self, lattice: Lattice, start: int) -> Policy:
        """What to buy at once when `start` is on file."""
        assert self._policy is not None
        return self.mind.plan_from(lattice, start, self._policy)

    def _use(self, lattice: Lattice) -> None:
        super()._use(lattice)
        self.mind.use(lattice)

    def tallies(self) -> dict[str, Integers]:
        """What the model counts beside the statistics."""
        return self.mind.counted()

    def recommend(self) -> Policy:
        """What to deploy if learning were to stop now; changes nothing.

        It is the best policy by what can be relied on: mean rewards less one standard deviation.
        Its value is the gain at the root of its tree.
        """
        with self.lock:
            return self.mind.recommend(self.statistics)

    def begin_with(
        self,
        cases: int,
        statistics: Statistics | None = None,
        records: CompleteRecords | None = None,
    ) -> None:
        """Learn from a log of so many cases, before the first one: its decisions, or its records.

        `fit.learner()` calls it. From its first case on the learner does what the log recommends,
        and explores from there.
        """
        with self.lock:
            if self._opened or self.statistics.cases:
                raise StatisticsError("a learner that has opened cases cannot begin with a log")
            if statistics is not None:
                self.statistics += statistics
            self._count_opened(cases)  # so that its rounds are a part of all cases before them
            self.mind.know(Log(cases, records))
            self.mind.start(self.statistics)
            self._forget_plan()

    def evidence(self) -> Beliefs:
        """What it believes; changes nothing."""
        with self.lock:
            return self.mind.beliefs(self.statistics)

    def acted(self, case: Case) -> None:
        """A case knows all it wanted: count what it saw."""
        self.looking.pop(case.id, None)
        self.mind.acted(self.statistics, case)

    def cancelled(self, case: Case) -> None:
        """A case was abandoned: the model learns from cases that acted only."""
        self.looking.pop(case.id, None)
        self.cases.pop(case.id, None)

    def _run(
        self,
        values: Choices,
        rewards: Floats,
        out_state: Integers,
        out_action: Choices,
        out_round: Integers,
    ) -> None:
        """Decide these cases just as `open`, `observe` and `reward` would, one by one."""
        start = 0
        while start < len(values):
            policy = self._policy_of_the_round()
            cases = min(len(values) - start, self.round_length - self.lengths[1])
            part = slice(start, start + cases)
            tags = self.rng.integers(TAGS, size=cases)
            out_state[part], out_action[part] = self.mind.run(
                policy, self.statistics, tags, values[part], rewards[part]
            )
            out_round[part] = self.round
            self._count_opened(cases)
            start += cases

    def __repr__(self) -> str:
        logged, records = self.mind.log
        own = self.statistics.cases - (logged if records is None else 0)
        cases, rounds = f"{own:,} cases", f"round {self.round:,}"
        if logged:
            kind = "logged decisions" if records is None else "complete records"
            cases = f"{cases} after {logged:,} {kind}"
        return f"<Learner, {self.way.name}, {self.model_name} model: {cases}, {rounds}>"
