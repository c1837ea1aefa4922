"""The face of every learner: ask with `open`, tell through the case.

A learner is a façade over a strategy (`strategy.py`), which `rounds.py` drives. What differs
between algorithms is the strategy that their constructors put together.
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
from askwise.policy import Policy
from askwise.problem import Problem, Seen
from askwise.states import Lattice


def lattice_of(problem: Problem) -> Lattice:
    """The states of a problem, or an error if it is none."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem must be a Problem, got {problem!r}")
    return Lattice(problem)


def rounds_of(learner: BaseLearner) -> Rounds:
    """What drives a learner, for the parts of askwise that save, simulate and serve learners."""
    return learner._rounds


def why_not_served(kind: type[BaseLearner]) -> str:
    """Why the service cannot offer learners of this class; empty if it can."""
    return kind._why_not_served


class BaseLearner:
    """What all learners show. Safe to use from several threads."""

    name: ClassVar[str]
    """What the registry, the command line and saved files call it."""
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
        self._rounds = Rounds(lattice, strategy, rng=rng, forgetting=forgetting)
        self._options = dict(options)

    @property
    def problem(self) -> Problem:
        """The problem, at the prices of now."""
        return self._rounds.problem

    @property
    def options(self) -> dict[str, Any]:
        """The options, so that `type(learner)(problem, **learner.options)` is its like."""
        return dict(self._options)

    @property
    def statistics(self) -> Statistics:
        """The counters: all that was seen and earned."""
        return self._rounds.now.statistics

    @property
    def cases(self) -> dict[int, Case]:
        """The cases whose reward is still to come, or came by default, by their number."""
        return self._rounds.cases

    def open(
        self,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> Case:
        """A new case, under the policy of the round.

        `known` has a value for all that is given. Whatever else it has was on file: it costs
        nothing in this case, and counts towards the most that may be looked at. `prices` are those
        of this case alone: it gets a plan of its own.

        `stake` is how many times the reward of this case counts: it gains stake · β r − Σ c, and
        gets the plan that is best for that. Its reward is said and learned per unit of stake.
        """
        return self._rounds.open(known, prices, stake)

    @property
    def policy(self) -> Policy:
        """The policy of the current round. It is frozen; `replan()` makes the next."""
        with self._rounds.lock:
            return self._rounds.frozen_policy()

    def recommend(self) -> Policy:
        """What to deploy if learning were to stop now; changes nothing.

        `policy` is what the learner does, and it may be trying something out; this is what it has
        learned: the best policy by what can be relied on (`policy/recommending.py`). Its value is
        the gain at the root of its tree. `aw.worth`, `aw.explain` and the service show this one.
        Where there are too many states for records to be believed one by one, its `note` says so.
        """
        with self._rounds.lock:
            return self._rounds.strategy.recommend(self._rounds.now)

    def evidence(self) -> Beliefs | CountedEvidence:
        """What is known of the population after all cases so far; changes nothing."""
        with self._rounds.lock:
            return self._rounds.strategy.evidence(self._rounds.now)

    def replan(self) -> Policy:
        """End the round and begin the next with a policy from all that is known now."""
        with self._rounds.lock:
            self._rounds.begin_round()
            return self._rounds.frozen_policy()

    def reprice(self, prices: Mapping[str, float]) -> None:
        """From the next case on observations have these prices: {name: cost}, others stay."""
        with self._rounds.lock:
            self._rounds.reprice(prices)

    def merge(self, other: Statistics | BaseLearner) -> None:
        """Learn from cases that were counted elsewhere; the next case opens under a new plan.

        `other` is `Statistics`, or a learner of the same kind with the same options, which stays as
        it is. Cases that it has open stay its own: a reward that comes later is counted there.
        """
        from askwise.learners.merging import merge

        merge(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all there is to one file; `askwise.load` gives a learner that goes on the same."""
        from askwise.learners.saving import write

        write(self, path)

    def to_bytes(self) -> bytes:
        """All there is, as what a file of it would hold; `learners.from_bytes` gives it back."""
        from askwise.learners.saving import to_bytes

        return to_bytes(self)

    def __repr__(self) -> str:
        now = self._rounds.now
        return f"<{type(self).__name__}: {now.statistics.cases:,} cases, round {now.round:,}>"

    def _repr_html_(self) -> str:
        now = self._rounds.now
        known = f"{now.statistics.cases:,} cases", f"round {now.round:,}"
        recommended = lines(str(self.recommend().tree()))
        return title(self.name, *known) + line("it recommends:") + recommended
