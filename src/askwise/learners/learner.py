"""The interface of every learner: `open` a case, and report its results through the case.

A learner is a façade over a strategy (`strategy.py`), which `rounds.py` drives. Algorithms differ
only in the strategy that their constructors compose.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from askwise._support.html import line, lines, title
from askwise._support.typing import RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import Forgetting
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.learners.cases import Case
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Strategy
from askwise.learners.waiting_cases import WaitingCases
from askwise.policy import Policy
from askwise.problem import Problem, Seen
from askwise.problem.amounts import check_stake
from askwise.states import Lattice


def lattice_of(problem: Problem) -> Lattice:
    """The lattice of a problem. Anything else raises an error."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem must be a Problem, got {problem!r}")
    return Lattice(problem)


def rounds_of(learner: BaseLearner) -> Rounds:
    """The `Rounds` of a learner, for the parts of askwise that save, simulate and serve it."""
    return learner._rounds


def why_not_served(kind: type[BaseLearner]) -> str:
    """Why the service cannot offer learners of this class; empty if it can."""
    return kind._why_not_served


class BaseLearner:
    """The common base of all learners. It is safe to use from several threads."""

    name: ClassVar[str]
    """The name in the registry, on the command line and in saved files."""
    _why_not_served: ClassVar[str] = ""
    """Why the service cannot offer it; empty if it can."""

    def __init__(
        self,
        lattice: Lattice,
        strategy: Strategy,
        options: Mapping[str, Any],
        *,
        rng: RandomSource = None,
        forgetting: Forgetting | None = None,
    ) -> None:
        if lattice.problem.has_rules and not strategy.honours_rules:
            raise OptionError(
                f"{self.name} cannot reckon with what actions cost, or with what actions or "
                "observations require: use another learner, such as learner or seq-oos, or leave "
                "cost= and requires= out"
            )
        why_not = strategy.why_no_requirements
        if why_not and lattice.problem.has_requirements:
            raise OptionError(
                f"{self.name} cannot reckon with what actions or observations require, because "
                f"{why_not}: use another learner, such as learner or seq-oos, or leave requires= "
                "out"
            )
        self._rounds = Rounds(lattice, strategy, rng=rng, forgetting=forgetting)
        self._options = dict(options)

    @property
    def problem(self) -> Problem:
        """The problem at its current prices."""
        return self._rounds.problem

    @property
    def options(self) -> dict[str, Any]:
        """The options. `type(learner)(problem, **learner.options)` makes a learner with the same
        ones.
        """
        return dict(self._options)

    @property
    def statistics(self) -> Statistics:
        """The counters of everything observed and earned so far."""
        return self._rounds.now.statistics

    @property
    def cases(self) -> WaitingCases:
        """The cases that wait for their reward or have a default reward, by number."""
        return WaitingCases(self._rounds.cases, self._rounds.now.opened)

    def open(
        self,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> Case:
        """Opens a new case, which follows the policy of the round.

        `known` has a value for every given observation. Its other values are on file: they cost
        nothing in this case, and they count towards `max_observations`. `prices`, {name: cost},
        apply to this case only, and the case gets its own plan.

        `stake` multiplies the reward of this case: it gains stake · β r − Σ c, and gets the best
        plan for that. Report its reward per unit of stake.
        """
        return self._rounds.open(known, prices, stake)

    @property
    def policy(self) -> Policy:
        """The policy of the current round. It is frozen; `replan()` makes the next one."""
        with self._rounds.lock:
            return self._rounds.frozen_policy()

    def recommend(self, *, stake: float = 1.0) -> Policy:
        """Returns the policy to deploy if learning stopped now. Nothing changes.

        `policy` is what the learner does in this round, including exploration. The recommendation
        is the best policy by a cautious estimate (`policy/recommending.py`). Its value is the gain
        at the root of its tree. `aw.worth`, `aw.explain` and the service show this policy. If there
        are too many states to trust single counters, its `note` says so.

        stake: How many times the reward of a case counts, as in `open`. With more at stake, more
        is worth buying. With a budget, which is for all cases together, such cases are planned at
        its current shadow price.
        """
        stake = check_stake(stake, self.problem.reward_value)
        with self._rounds.lock:
            strategy = self._rounds.strategy
            policy = strategy.recommend(self._rounds.now, stake)
            policy.chosen_on = strategy.log.digest
            return policy

    def evidence(self) -> Beliefs | CountedEvidence:
        """Returns the estimates of the population after all cases so far. Nothing changes."""
        with self._rounds.lock:
            return self._rounds.strategy.evidence(self._rounds.now)

    def replan(self) -> Policy:
        """Ends the round and starts the next one, with a policy from everything known now."""
        with self._rounds.lock:
            self._rounds.begin_round()
            return self._rounds.frozen_policy()

    def reprice(self, prices: Mapping[str, float]) -> None:
        """Sets new prices, {name: cost}, from the next case on. Prices that are not named stay."""
        with self._rounds.lock:
            self._rounds.reprice(prices)

    def merge(self, other: Statistics | BaseLearner) -> None:
        """Adds what was counted elsewhere. The next case opens under a new plan.

        `other` is `Statistics`, or a learner of the same kind with the same options, which does not
        change. Open cases stay with the other learner: a later reward is counted there.
        """
        from askwise.learners.merging import merge

        merge(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to one file. `askwise.load` returns a learner that continues
        identically.
        """
        from askwise.learners.saving import write

        write(self, path)

    def to_bytes(self) -> bytes:
        """Returns the content of the file that `save` writes. `askwise.load` takes it, too."""
        from askwise.learners.saving import to_bytes

        return to_bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from askwise.learners.registry import from_bytes

        return from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        now = self._rounds.now
        return f"<{type(self).__name__}: {now.statistics.cases:,} cases, round {now.round:,}>"

    def _repr_html_(self) -> str:
        now = self._rounds.now
        known = f"{now.statistics.cases:,} cases", f"round {now.round:,}"
        recommended = lines(str(self.recommend().tree()))
        return title(self.name, *known) + line("it recommends:") + recommended
