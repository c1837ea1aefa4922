"""The common part of the default learner's two strategies: a model, growing rounds, tags.

A case has a tag, one random number, that decides its exploration (`policy/exploration.py`). A round
is as long as a part of all cases before it. A log that the learner begins with is kept by the
model.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askwise._support.random import random_bits
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs
from askwise.learners.cases import Case
from askwise.learners.rounds import Rounds
from askwise.learners.spending import Spending, spent_on_looks
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy
from askwise.policy.acquisition import Acquisition
from askwise.policy.counting_cases import Pairs
from askwise.policy.mixing import parts_followed
from askwise.policy.recommending import (
    recommended,
    recommended_for_stake,
    recommended_within,
)
from askwise.problem import Budget
from askwise.states import Lattice

TAG_BITS = 62
"""A tag is a random number of so many bits."""

MOST_LOST = 0.005
"""The limit on the estimated cost of exploration a case after a log, in units of β."""


class ModelOptions(NamedTuple):
    """What a learner with a model may spend, explore and forget."""

    explore_budget: float | None = None
    """The most to lose by exploration; None is no limit."""
    budget: Budget | None = None
    explore: float = 1.0
    """The share of the cases that explore; the others follow the recommendation."""
    forgets: bool = False


class ModelStrategy(Strategy):
    """A model of the population × an acquisition × exploration by tags × growing rounds."""

    doubles = False
    plans_one_world = True
    keeps_log = True
    model_name: str
    """The name of the model for users."""

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        options: ModelOptions,
    ) -> None:
        self.lattice = lattice
        self.acquisition = acquisition
        self.explore_budget = options.explore_budget
        budget = options.budget
        self.spending = None if budget is None else Spending(budget, lattice)
        """The spend of cases, if there is a budget."""
        self.explore = options.explore
        self.forgets = options.forgets
        self._length: Integers = np.ones(1, np.int64)

    # --- what a model fills in -------------------------------------------------------------------

    @abstractmethod
    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """Returns the policy and the length of a round that begins after so many cases."""

    @abstractmethod
    def plan_recommended(self, statistics: Statistics) -> Policy:
        """Returns the recommendation of a round for which `plan_round` was called."""

    @abstractmethod
    def plan_own(
        self, now: Progress, policy: Policy, lattice: Lattice, start: int, *, explores: bool
    ) -> Policy:
        """The best policy for a case with its own prices, stake or file, in place of `policy`.

        If the learner explores in a share of its cases, `explores` says that `policy` is theirs.
        """

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
        """The current estimates, which the model keeps beside the statistics."""

    @abstractmethod
    def model_restored(self) -> None:
        """Checks the arrays of the model after saved ones overwrote them."""

    @abstractmethod
    def settle_anew(self, statistics: Statistics) -> None:
        """Computes the estimates from the counters alone."""

    # --- what is the same for every model --------------------------------------------------------

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """Returns the best policy of a world drawn near the mean, with its exploration."""
        opened = now.statistics.cases if self.forgets else now.opened
        if self.spending is not None:
            self.spending.measure()
        policy, self._length[0] = self.plan_round(now.statistics, opened, now.rng)
        if self.explore < 1.0:
            best = self.plan_recommended(now.statistics)
            policy = best.mixed(policy, self.explore) if self.explore else best
        return policy

    @property
    def explores_in_a_share(self) -> bool:
        """Whether some of the cases explore, and the others follow what is recommended."""
        return 0.0 < self.explore < 1.0

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """The best policy of the world of the round; a share of such cases explores too."""
        if not self.explores_in_a_share:
            return self.plan_own(now, policy, lattice, start, explores=False)
        (_, followed), *_, (_, explored) = policy.parts
        best = self.plan_own(now, followed, lattice, start, explores=False)
        other = self.plan_own(now, explored, lattice, start, explores=True)
        return best.mixed(other, self.explore)

    def round_length(self, now: Progress) -> int:
        """The length is a part of all cases before; it is less if the budget is nearly used up."""
        return self._length.item(0)

    def tag(self, now: Progress) -> int:
        """Draws a random number for a case, which decides its exploration."""
        return random_bits(now.rng, TAG_BITS)

    def count(self, now: Progress, case: Case) -> Pairs:
        """Counts the observations and the spend of a case that acts now."""
        self.count_spent_in(case)
        return super().count(now, case)

    def count_part(self, now: Progress, case: Case) -> Pairs:
        """Counts only the spend of an abandoned case, because the model learns from cases that
        acted.
        """
        self.count_spent_in(case)
        return []

    def count_spent_in(self, case: Case) -> None:
        """Counts the cost of a case's observations, and its stake and prices."""
        if self.spending is not None:
            assert case.policy is not None
            self.spending.count(spent_on_looks(case))
            planned = case.policy.lattice.per_unit  # what was paid may be known only later
            self.spending.kinds.count(self.lattice, planned, case.stake)

    def count_stakes(self, stakes: Integers) -> None:
        """Counts the stakes of a log, over which a budget is spent like over those of cases."""
        if self.spending is not None:
            self.spending.kinds.count_log(self.lattice, stakes)

    def count_spent_later(self, amount: float) -> None:
        """Counts what people spent on observations after the advice."""
        if self.spending is not None:
            self.spending.count_more(amount)

    def count_spent(self, costs: Floats) -> None:
        """Counts what cases with a stake of 1 spent on observations at the usual prices."""
        if self.spending is not None:
            self.spending.count(costs)
            self.spending.kinds.count_usual(len(costs))

    def recommended(self, known: Beliefs, stake: float = 1.0) -> Policy:
        """Returns what is recommended for cases with that stake, within the budget if there is
        one.
        """
        if self.spending is None:
            return recommended(self.acquisition, known.at_stake(stake))
        kinds = self.spending.kinds.shares(known.lattice)
        within, best = recommended_within(self.acquisition, known, self.spending.per_case, kinds)
        if stake == 1.0:
            return best
        return recommended_for_stake(self.acquisition, known.at_stake(stake), within)

    def recommended_now(self, known: Beliefs) -> tuple[Policy, Callable[[], None]]:
        """Returns the recommendation for the next round, and what to call if it is followed.

        Within a budget it spends the target of the round, and sets the round's shadow price.
        """
        spending = self.spending
        if spending is None:
            return recommended(self.acquisition, known), lambda: None
        kinds = spending.kinds.shares(known.lattice)
        within, best = recommended_within(self.acquisition, known, spending.target, kinds)
        return best, lambda: spending.follow(within)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decides these cases exactly as `open`, `observe` and `reward` would."""
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
        """Decides these cases under a policy. In a mixture each policy gets its own cases."""
        parts = policy.parts
        follows = parts_followed(tags, [share for share, _ in parts])
        for k, (_, part) in enumerate(parts):
            rows = np.flatnonzero(follows == k) if len(parts) > 1 else slice(None)
            cases.state[rows], cases.action[rows] = self.run_cases(
                part, statistics, tags[rows], cases.values[rows], cases.rewards[rows]
            )

    def follows_log(self, opened: int) -> bool:
        """Whether it still follows the log's recommendation after so many cases.

        It does until it has had as many cases of its own. Otherwise it could not correct a small or
        biased log.
        """
        return opened < 2 * self._log.cases

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The model's estimates, the length of the round, and the spend."""
        arrays = {**self.model_arrays(), **self.tallies(), "round_length": self._length}
        if self.spending is not None:
            arrays["shadow_price"] = self.spending.shadow_price
            arrays["rates_mixed"] = self.spending.mixture
            arrays["spent_trying"] = self.spending.trying
            arrays["spend_control"] = self.spending.control
        return arrays

    def tallies(self) -> dict[str, Integers]:
        """The spend and the kinds of cases, if there is a budget."""
        if self.spending is None:
            return {}
        return {"spending": self.spending.tally, "case_kinds": self.spending.kinds.tally}

    def restored(self) -> None:
        """Checks the arrays after saved ones overwrote them."""
        super().restored()
        if self._length[0] < 1:
            raise OptionError(f"a round of {self._length[0]} cases")
        spent = [] if self.spending is None else [*self.spending.tally, *self.spending.shadow_price]
        if min(spent, default=0) < 0:
            raise OptionError("what was spent, or its shadow price, is negative")
        self.model_restored()

    @property
    def is_mergeable(self) -> bool:
        """True, because its estimates follow from the counters."""
        return True

    def begin_anew(self, now: Progress, cases: int) -> None:
        """Notes that cases were added, because a round is a part of all cases before it."""
        now.opened += cases
        self.settle_anew(now.statistics)
