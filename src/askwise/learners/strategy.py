"""How a learner estimates, plans and explores: an estimation × an acquisition × an exploration × a
rule for when a round ends.

A strategy is asked for a policy when a round begins, and told what was counted. It keeps nothing
but what its estimates go on from (`arrays`): the counters, the numbers of cases and rounds and the
random generator are in `Progress`, which `rounds.py` owns. Six methods make an algorithm: `plan`,
and where the usual does not do, `plan_for_case`, `round_length`, `count`, `run` and `evidence`. The
others are for strategies that keep more than counters.
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
    """How far a learner is: what it has counted, and where its rounds and its generator stand."""

    lattice: Lattice
    """The states at today's prices."""
    statistics: Statistics
    rng: np.random.Generator
    round: int = 0
    """k, the number of the current round; 0 before the first plan."""
    opened: int = 0
    """How many cases were opened."""
    lengths: tuple[int, int] = (0, 0)
    """How many cases were opened in the previous round, and in this one."""

    @property
    def t(self) -> int:
        """The number of the next case, from 1."""
        return self.statistics.cases + 1

    def count_opened(self, cases: int) -> None:
        """So many more cases were opened in this round."""
        self.opened += cases
        self.lengths = (self.lengths[0], self.lengths[1] + cases)


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases to decide in one go, and where to write what was done in them."""

    values: Choices
    """values[t]: the full state of a case, what is given last."""
    rewards: Floats
    """rewards[t, a]: what each action would earn."""
    state: Integers
    action: Choices
    round: Integers

    def part(self, start: int, end: int) -> Cases:
        """Those from the first place up to the second."""
        s = slice(start, end)
        return Cases(self.values[s], self.rewards[s], self.state[s], self.action[s], self.round[s])

    def __len__(self) -> int:
        return len(self.values)


class Strategy(ABC):
    """What an algorithm fills in."""

    acquisition: Acquisition
    doubles: bool = True
    """Whether a round also ends when a count has doubled, not only at its `round_length`."""
    plans_one_world: bool = False
    """Whether all plans for single cases of a round are for the same rewards and probabilities, so
    that what a policy gains is linear in prices and stakes."""
    is_sparse: bool = False
    """Whether the counters have rows for visited states only."""
    honours_rules: bool = False
    """Whether it reckons with what actions cost, and with what actions and looks require."""

    # --- the six that make an algorithm ----------------------------------------------------------

    @abstractmethod
    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The policy of a round that begins now, at the prices of this lattice."""

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """The policy of one case of this round that has prices or a stake of its own, or a file.

        `policy` is that of the round, `start` what is known. Of a set that is bought, what is on
        file is not bought again.
        """
        return policy if lattice is now.lattice else self.plan(now, lattice)

    def round_length(self, now: Progress) -> int | None:
        """The most cases in the current round; None: as many as it takes until a count doubles."""
        return None

    def count(self, now: Progress, case: Case) -> Pairs:
        """Count what a case saw that acts now; returns the (state, choice) pairs of its looks."""
        return self.acquisition.count(now.statistics, case)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decide these cases just as `open`, `observe` and `reward` would, one by one."""
        rounds.run_round_by_round(cases)

    def evidence(self, now: Progress) -> Beliefs | CountedEvidence:
        """What is known of the population after all cases so far; changes nothing."""
        return evidence_of(now.statistics, self.acquisition.name)

    # --- what it recommends ----------------------------------------------------------------------

    def recommend(self, now: Progress) -> Policy:
        """The best policy by what can be relied on; changes nothing."""
        policy = recommended(self.acquisition, self.evidence(now))
        policy.note = limits_of(now.statistics)
        return policy

    # --- for strategies that keep more than counters ---------------------------------------------

    def tag(self, now: Progress) -> int:
        """What to remember of a case that opens now. It may be drawn: each call, another one."""
        return 0

    def count_part(self, now: Progress, case: Case) -> Pairs:
        """Count what a case saw that was abandoned before it acted, as far as that is fair."""
        return self.acquisition.count_part(now.statistics, case)

    def count_stopped(self, now: Progress, case: Case, *, is_fair: bool) -> Pairs:
        """Count what a case saw in which people act; fair if they knew no more than it does.

        Of a set, whether the rest of it was seen may depend on what the part showed.
        """
        is_whole = is_fair and self.acquisition.name == "sequential"
        return self.count(now, case) if is_whole else self.count_part(now, case)

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """A case got its reward, which is counted already; it replaces the one before, if any."""

    def changed(self, state: int, choice: int) -> None:
        """A pair was counted for the first time in this round."""

    def adopt(self, now: Progress, policy: Policy) -> Policy:
        """The policy of the round in a learner that was loaded, as the strategy keeps it."""
        return policy

    def forget_plan(self) -> None:
        """The next plan is made from nothing but the counters."""

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""

    @property
    def is_live(self) -> bool:
        """Whether the tables of the policy of the round change when the next one is planned."""
        return False

    @property
    def log(self) -> Log:
        """The log that it began with, as far as that is not in the statistics."""
        return Log()

    def begin_with(self, log: Log) -> None:
        """Begin with a log whose complete records are not in the statistics."""
        raise StatisticsError("this learner does not begin with a log")

    def settle(self, now: Progress) -> None:
        """Let the estimates settle on what a log says, which is counted already."""

    # --- what is saved, added and taken back -----------------------------------------------------

    def tallies(self) -> dict[str, Integers]:
        """What it counts beside the statistics, as arrays that can be added and taken back."""
        return {}

    @property
    def learns_from_tallies(self) -> bool:
        """Whether what it tallies says something of the population: statistics alone do not do."""
        return bool(self.tallies())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All it keeps beside the statistics: to be saved, and overwritten when loaded."""
        return {}

    def restored(self) -> None:
        """The arrays were overwritten by saved ones: refuse what cannot be."""
        for name, array in self.arrays().items():
            if not np.isfinite(array).all():
                raise StatisticsError(f"{name} holds what is not a number")

    @property
    def is_mergeable(self) -> bool:
        """Whether it learns from its statistics and `tallies` alone, which can be added."""
        return not self.arrays()

    def begin_anew(self, now: Progress, cases: int) -> None:
        """So many cases were added to the counters: work out anew what does not add up."""
