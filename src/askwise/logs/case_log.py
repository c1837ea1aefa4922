"""The cases of a live learner as a log, which `fit`, `off_policy` and `compare` read.

Where people did something else than advised, the probability of that is unknown unless it was
reported. Where they knew more than the case, its reward is no fair sample either
(`learners/people.py`). Such cases are left out, and `left_out` says how many: people decide
otherwise in some cases more than in others, so leaving them out can bias estimates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from askwise.errors import OptionError
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.problem import Problem, Seen
from askwise.problem.observation import UNAVAILABLE

ON_FILE = "began with values on file"
KNEW_MORE = "people decided or looked, and knew more than the case"
UNLIKELY = "people decided, and the probability of that is unknown"
LATER = "people looked after the decision, or bought a part of a set"


class CaseLog:
    """Opens the cases of a learner, and returns those that have their reward as a log.

    >>> from askwise import Learner, Observation, Problem, off_policy
    >>> mri = Observation("mri", values=["neg", "pos"], cost=0.1)
    >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
    >>> log = CaseLog(Learner(problem, rng=0))
    >>> case = log.open(stake=5.0)
    >>> while case.wanted:
    ...     case.observe({"mri": "neg"})
    >>> case.reward(1.0)
    >>> sorted(log.table())
    ['action', 'case', 'mri', 'order', 'overruled', 'propensity', 'reward', 'stake']
    >>> log
    <CaseLog: 1 cases, 1 rewarded, 0 left out>
    """

    def __init__(self, learner: BaseLearner) -> None:
        if not isinstance(learner, BaseLearner):
            raise OptionError(f"expected a learner, such as aw.Learner(problem), got {learner!r}")
        self.learner = learner
        self._cases: list[Case] = []

    def open(
        self,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> Case:
        """Opens a case as `learner.open()` does, and keeps it."""
        case = self.learner.open(known, prices=prices, stake=stake)
        self._cases.append(case)
        return case

    def table(self, *, people: bool = False) -> dict[str, list[Any]]:
        """Returns a row for each case that has its reward, as columns.

        The columns are those that `fit`, `off_policy` and `compare` know by name, and `overruled`,
        the advice where people did something else. Rewards are per unit of stake. With
        `people=True` there are also cases in which people decided and knew no more than the case,
        but did not report how probable that was. Their propensity is None: `fit` counts such rows,
        and `off_policy` cannot use them.
        """
        kept = [case for case in self._rewarded() if not self._why_not(case, people=people)]
        rows = rows_of(self.learner.problem, kept)
        if not self._is_path:
            del rows["order"]
        names = (*self.learner.problem.action_names, "none yet")
        advised = [case.people.advised for case in kept]
        return {
            "case": [case.id for case in kept],
            **rows,
            "overruled": [None if place is None else names[place] for place in advised],
        }

    @property
    def left_out(self) -> dict[str, int]:
        """Why cases that have their reward are not in `table()`, and how many there are of each."""
        reasons = Counter(self._why_not(case, people=False) for case in self._rewarded())
        return {why: number for why, number in sorted(reasons.items()) if why}

    def __len__(self) -> int:
        return len(self._cases)

    def __repr__(self) -> str:
        rewarded, left = len(self._rewarded()), sum(self.left_out.values())
        return f"<CaseLog: {len(self):,} cases, {rewarded:,} rewarded, {left:,} left out>"

    @property
    def _is_path(self) -> bool:
        return rounds_of(self.learner).strategy.acquisition.name == "sequential"

    def _rewarded(self) -> list[Case]:
        return [case for case in self._cases if case.share is not None and not case.is_cancelled]

    def _why_not(self, case: Case, *, people: bool) -> str:
        """Says why a case is no row; an empty text if it is one."""
        if case.start >= case.lattice.contexts:
            return ON_FILE
        if case.is_apart or any(case.unasked.values()):
            return KNEW_MORE
        if case.is_overruled or case.unasked:
            if case.acted_in != case.state_index or not self._is_path:
                return LATER
            if case.propensity is None and not people:
                return UNLIKELY
        return ""


def rows_of(problem: Problem, cases: Sequence[Case]) -> dict[str, list[Any]]:
    """Returns the rows of cases that have their reward, as columns. A propensity may be None."""
    names = [o.name for o in problem.observations]
    rows: dict[str, list[Any]] = {name: [] for name in names}
    rows |= {"action": [], "reward": [], "propensity": [], "order": [], "stake": []}
    for case in cases:
        state, likely = case.state, case.propensity
        for name in names:
            seen = state.get(name, "")
            rows[name].append(UNAVAILABLE if seen is None else None if seen == "" else seen)
        assert case.share is not None
        rows["action"].append(case.action)
        rows["reward"].append(problem.as_money(case.share))
        rows["propensity"].append(None if likely is None else list(likely))
        looks = case.lattice.names_of(tuple(i for i, _ in case.path))
        rows["order"].append(list(looks))
        rows["stake"].append(case.stake)
    return rows
