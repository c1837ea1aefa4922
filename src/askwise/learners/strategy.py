"""A strategy is an estimation × an acquisition × an exploration × a rule for when a round ends.

A strategy plans a policy when a round begins, and is notified of what was counted. It keeps only
its current estimates (`arrays`). The counters, the numbers of cases and rounds, and the random
generator are in `Progress`, which `rounds.py` owns. Six methods make an algorithm: `plan` and, if
the defaults do not fit, `plan_for_case`, `round_length`, `count`, `run` and `evidence`. The others
are for strategies that keep more than counters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.errors import StatisticsError
from askwise.estimation.beliefs import evidence_of, limits_of
from askwise.estimation.complete_records import Log
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.policy import Policy
from askwise.policy.acquisition import Acquisition
from askwise.policy.counting_cases import Pairs
from askwise.policy.recommending import recommended
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.learners.cases import Case
    from askwise.learners.rounds import Rounds


@dataclass(slots=True)
class Progress:
    """The progress of a learner: its counters, its rounds and its generator."""

    lattice: Lattice
    """The states at the current prices."""
    statistics: Statistics
    rng: np.random.Generator
    round: int = 0
    """k, the number of the current round; 0 before the first plan."""
    opened: int = 0
    """The number of cases that were opened."""
    lengths: tuple[int, int] = (0, 0)
    """The number of cases that were opened in the previous round, and in this one."""

    @property
    def t(self) -> int:
        """The number of the next case, from 1."""
        return self.statistics.cases + 1

    def count_opened(self, cases: int) -> None:
        """Counts more cases that were opened in this round."""
        self.opened += cases
        self.lengths = (self.lengths[0], self.lengths[1] + cases)


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases to decide in one loop, with arrays for the results."""

    values: Choices
    """values[t]: the full state of a case, given observations last."""
    rewards: Floats
    """rewards[t, a]: what each action would earn."""
    state: Integers
    action: Choices
    round: Integers

    def part(self, start: int, end: int) -> Cases:
        """Returns the cases from `start` up to, not including, `end`."""
        s = slice(start, end)
        return Cases(self.values[s], self.rewards[s], self.state[s], self.action[s], self.round[s])

    def __len__(self) -> int:
        return len(self.values)


class Strategy(ABC):
    """The interface that an algorithm implements."""

    acquisition: Acquisition
    doubles: bool = True
    """Whether a round also ends when a count has doubled, not only at its `round_length`."""
    plans_one_world: bool = False
    """Whether all plans for single cases of a round use the same rewards and probabilities. The
    gain of a policy is then linear in prices and stakes.
    """
    is_sparse: bool = False
    """Whether the counters have rows for visited states only."""
    honours_rules: bool = False
    """Whether it supports costs of actions, and requirements of actions and observations."""
    why_no_requirements: str = ""
    """Why it supports costs of actions only; empty if it supports requirements too."""

    keeps_log: bool = False
    """Whether its own plans follow a log; else `after_log.py` does that for it."""
    _log: Log = Log()

    # --- the six that make an algorithm ----------------------------------------------------------

    @abstractmethod
    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns the policy of a round that begins now, at the prices of this lattice."""

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """Returns the policy of one case with its own prices or stake, or with values on file.

        `policy` is that of the round, and `start` is the known state. Values on file are not bought
        again.
        """
        return policy if lattice is now.lattice else self.plan(now, lattice)

    def round_length(self, now: Progress) -> int | None:
        """The most cases in the current round; None if only the doubling rule ends it."""
        return None

    def count(self, now: Progress, case: Case) -> Pairs:
        """Counts the observations of a case that acts now. Returns their (state, choice) pairs."""
        return self.acquisition.count(now.statistics, case)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decides these cases exactly as `open`, `observe` and `reward` would."""
        rounds.run_round_by_round(cases)

    def evidence(self, now: Progress) -> Beliefs | CountedEvidence:
        """Returns the evidence about the population after all cases so far. Nothing changes."""
        return evidence_of(now.statistics, self.acquisition.name, self.log)

    # --- what it recommends ----------------------------------------------------------------------

    def recommend(self, now: Progress, stake: float = 1.0) -> Policy:
        """Returns the best policy by cautious estimates, for a stake. Nothing changes."""
        policy = recommended(self.acquisition, self.evidence(now).at_stake(stake))
        policy.note = limits_of(now.statistics)
        return policy

    # --- for strategies that keep more than counters ---------------------------------------------

    def tag(self, now: Progress) -> int:
        """Returns the tag of a case that opens now. It may be random, and differ in each call."""
        return 0

    def count_part(self, now: Progress, case: Case) -> Pairs:
        """Counts the observations of a case that was abandoned before it acted, as far as they are
        fair.
        """
        return self.acquisition.count_part(now.statistics, case)

    def count_stopped(self, now: Progress, case: Case, *, is_fair: bool) -> Pairs:
        """Counts the observations of a case in which people act, which is fair if they knew no
        more.

        The rest of a set may be missing because of the values of the first part.
        """
        is_whole = is_fair and self.acquisition.name == "sequential"
        return self.count(now, case) if is_whole else self.count_part(now, case)

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """Notes the reward of a case, which is counted already. It replaces an earlier reward."""

    def count_spent_later(self, amount: float) -> None:
        """Notes what people spent on observations in a case whose spend is counted already."""

    def changed(self, state: int, choice: int) -> None:
        """Notes that a pair was counted for the first time in this round."""

    def adopt(self, now: Progress, policy: Policy) -> Policy:
        """Returns the policy of the round in a loaded learner, as the strategy keeps it."""
        return policy

    def forget_plan(self) -> None:
        """Drops the plan, so that the next one is made from the counters alone."""

    def use(self, lattice: Lattice) -> None:
        """Uses the same states at other prices."""

    @property
    def is_live(self) -> bool:
        """Whether the tables of the policy of the round change when the next one is planned."""
        return False

    @property
    def log(self) -> Log:
        """The log that it began with: the number of cases, and records that are not counted."""
        return self._log

    def begin_with(self, log: Log) -> None:
        """Begins with a log. Its complete records are in the statistics, unless `log` has them."""
        if log.records is not None:
            raise StatisticsError("this learner keeps no complete records beside its statistics")
        self._log = log

    def count_stakes(self, stakes: Integers) -> None:
        """Counts the stakes of a log's cases by kind, if it plans for all stakes together."""

    def settle(self, now: Progress) -> None:
        """Fits the estimates to a log, which is counted already."""

    # --- what is saved, added and taken back -----------------------------------------------------

    def tallies(self) -> dict[str, Integers]:
        """The counts beside the statistics, as arrays that can be added and subtracted."""
        return {}

    @property
    def learns_from_tallies(self) -> bool:
        """Whether its tallies are evidence for the population, beside the statistics."""
        return bool(self.tallies())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays that it keeps beside the statistics, to be saved and restored."""
        return {}

    def restored(self) -> None:
        """Checks the arrays after saved ones overwrote them."""
        for name, array in self.arrays().items():
            if not np.isfinite(array).all():
                raise StatisticsError(f"{name} holds what is not a number")

    @property
    def is_mergeable(self) -> bool:
        """Whether it learns from its statistics and `tallies` alone, which can be added."""
        return not self.arrays()

    def begin_anew(self, now: Progress, cases: int) -> None:
        """Computes its estimates again, because cases were added to the counters."""
