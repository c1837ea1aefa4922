"""What the two strategies of the default learner share: a model, growing rounds, tags.

A case has a tag, one random number, that decides what it tries (`policy/exploration.py`). A round
is as long as a part of all cases before it. A log that the learner begins with is kept by the
model.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.random import random_bits
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.errors import OptionError
from askwise.estimation.complete_records import Log
from askwise.learners.cases import Case
from askwise.learners.rounds import Rounds
from askwise.learners.spending import Spending, spent_on_looks
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy
from askwise.policy.acquisition import Acquisition
from askwise.policy.counting_cases import Pairs
from askwise.policy.mixing import parts_followed
from askwise.problem import Budget
from askwise.states import Lattice

TAG_BITS = 62
"""A tag is a random number of so many bits."""

MOST_LOST = 0.005
"""What trying may cost a case after a log, in units of β, by what is believed."""


class ModelStrategy(Strategy):
    """A model of the population × an acquisition × tries by the tags of cases × growing rounds."""

    doubles = False
    plans_one_world = True
    model_name: str
    """What users call the model."""

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        *,
        explore_budget: float | None = None,
        budget: Budget | None = None,
        explore: float = 1.0,
        forgets: bool = False,
    ) -> None:
        self.lattice = lattice
        self.acquisition = acquisition
        self.explore_budget = explore_budget
        self.spending = None if budget is None else Spending(budget)
        """What cases spent, if there is a budget to spend it within."""
        self.explore = explore
        """The share of the cases that explore; the others follow what is recommended."""
        self.forgets = forgets
        self._log = Log()
        self._length: Integers = np.ones(1, np.int64)

    # --- what a model fills in -------------------------------------------------------------------

    @abstractmethod
    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """The policy of a round that begins when so many cases were opened, and its length."""

    @abstractmethod
    def plan_recommended(self, statistics: Statistics) -> Policy:
        """What is recommended when a round begins, for which `plan_round` was asked already."""

    @abstractmethod
    def run_cases(
        self,
        policy: Policy,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""

    @abstractmethod
    def model_arrays(self) -> dict[str, Floats | Integers]:
        """What the model keeps beside the statistics: where its estimates stand."""

    @abstractmethod
    def model_restored(self) -> None:
        """The arrays of the model were overwritten by saved ones: refuse what cannot be."""

    @abstractmethod
    def settle_anew(self, statistics: Statistics) -> None:
        """Work the estimates out from nothing but what was counted."""

    # --- what is the same for every model --------------------------------------------------------

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The best policy of a world drawn near the mean, and what to try beside it."""
        opened = now.statistics.cases if self.forgets else now.opened
        policy, self._length[0] = self.plan_round(now.statistics, opened, now.rng)
        if self.explore < 1.0:
            best = self.plan_recommended(now.statistics)
            policy = best.mixed(policy, self.explore) if self.explore else best
        return policy

    def round_length(self, now: Progress) -> int:
        """A part of all cases before it; less if the budget is nearly used up."""
        return self._length.item(0)

    def tag(self, now: Progress) -> int:
        """A random number for each case: it decides what the case tries."""
        return random_bits(now.rng, TAG_BITS)

    def count(self, now: Progress, case: Case) -> Pairs:
        """Count what a case saw that acts now, and what it spent."""
        self.count_spent_in(case)
        return super().count(now, case)

    def count_part(self, now: Progress, case: Case) -> Pairs:
        """Of a case that was abandoned what it spent: the model learns from cases that acted."""
        self.count_spent_in(case)
        return []

    def count_spent_in(self, case: Case) -> None:
        """A case spent what its observations cost."""
        if self.spending is not None:
            self.spending.count(spent_on_looks(case))

    def count_spent(self, costs: Floats | float) -> None:
        """Cases spent so much on observations."""
        if self.spending is not None:
            self.spending.count(costs)

    @property
    def target(self) -> float | None:
        """What the plan of the next round may spend on a case; None: as much as pays."""
        return None if self.spending is None else self.spending.target

    @property
    def budget(self) -> float | None:
        """What cases may spend on average; None: as much as pays."""
        return None if self.spending is None else self.spending.per_case

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decide these cases just as `open`, `observe` and `reward` would, one by one."""
        now, start = rounds.now, 0
        while start < len(cases):
            policy = rounds.policy_of_the_round()
            number = min(len(cases) - start, self.round_length(now) - now.lengths[1])
            part = cases.part(start, start + number)
            tags = now.rng.integers(1 << TAG_BITS, size=number)
            now.statistics.cases += number
            self._run_policy(policy, now.statistics, tags, part)
            if self.spending is not None:
                self.count_spent(self.lattice.costs_of(part.state))
            part.round[:] = now.round
            now.count_opened(number)
            start += number

    def _run_policy(
        self, policy: Policy, statistics: Statistics, tags: Integers, cases: Cases
    ) -> None:
        """Decide these cases under a policy; of two that are mixed, each those that follow it."""
        parts = policy.parts
        follows = parts_followed(tags, [share for share, _ in parts])
        for k, (_, part) in enumerate(parts):
            rows = np.flatnonzero(follows == k) if len(parts) > 1 else slice(None)
            cases.state[rows], cases.action[rows] = self.run_cases(
                part, statistics, tags[rows], cases.values[rows], cases.rewards[rows]
            )

    @property
    def log(self) -> Log:
        """The log that it began with: how many cases, and complete records as they are."""
        return self._log

    def follows_log(self, opened: int) -> bool:
        """Whether it still does what the log recommends, when so many cases were opened.

        It does until it has had as many cases of its own. A log that was thin, or one-sided, would
        otherwise keep it from ever finding out.
        """
        return opened < 2 * self._log.cases

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What the model keeps beside the statistics, the length of the round, what was spent."""
        arrays = {**self.model_arrays(), **self.tallies(), "round_length": self._length}
        if self.spending is not None:
            arrays["shadow_price"] = self.spending.shadow_price
            arrays["spent_trying"] = self.spending.trying
        return arrays

    def tallies(self) -> dict[str, Integers]:
        """What was spent, if that matters."""
        return {} if self.spending is None else {"spending": self.spending.tally}

    def restored(self) -> None:
        """The arrays were overwritten by saved ones: refuse what cannot be."""
        super().restored()
        if self._length[0] < 1:
            raise OptionError(f"a round of {self._length[0]} cases")
        spent = [] if self.spending is None else [*self.spending.tally, *self.spending.shadow_price]
        if min(spent, default=0) < 0:
            raise OptionError("what was spent, or its shadow price, is negative")
        self.model_restored()

    @property
    def is_mergeable(self) -> bool:
        """It is: what it keeps beside its tallies follows from what was counted."""
        return True

    def begin_anew(self, now: Progress, cases: int) -> None:
        """So many cases were added: its rounds are a part of all cases before them."""
        now.opened += cases
        self.settle_anew(now.statistics)
