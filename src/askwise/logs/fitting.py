"""`fit` turns a log into counters, and notes what can be learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askwise._support.html import line, lines, title
from askwise._support.random import as_generator
from askwise._support.typing import AcquisitionName, Integers, RandomSource
from askwise.counting import Statistics
from askwise.errors import OptionError, StatisticsError, TableError, TooLargeError
from askwise.estimation.complete_records import CompleteRecords, Log
from askwise.estimation.evidence import Evidence
from askwise.learners import BaseLearner, Learner, make
from askwise.learners.learner import rounds_of
from askwise.learners.warm_start import begin_with_log, continue_from_log
from askwise.logs.checks import check_most
from askwise.logs.counting import (
    Decisions,
    by_looks,
    count_decisions,
    count_records,
    records_of,
)
from askwise.logs.draft_remarks import of_combinations
from askwise.logs.extrapolation import of_policy
from askwise.logs.near_names import did_you_mean
from askwise.logs.notes import REFUSED, notes_of, of_rewards, of_stakes
from askwise.logs.reading import LogSource, opened_log
from askwise.logs.roles import Kind, Roles, roles_of
from askwise.logs.same_rows import digest_of_decisions, digest_of_records
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.problem.bins import is_number
from askwise.problem.stakes import for_stake
from askwise.states import Lattice

MOST_SUBSETS = 20_000
"""Complete records are counted in at most this number of subsets of the observations."""


def fit(
    log: Any,
    problem: Problem,
    *,
    rewards: Mapping[str, str] | None = None,
    label: str | None = None,
    action: str | None = None,
    reward: str | None = None,
    acquisition: str | None = None,
    order: str | None = None,
    propensity: str | None = None,
    stake: str | None = None,
    rng: RandomSource = None,
) -> Fit:
    """Counts a log of past cases, and returns what can be learned from it.

    `log` is a path, a pattern such as "logs/*.parquet", or a list of them (CSV, Parquet), a DuckDB
    relation, any data frame that narwhals supports, or a mapping of columns to lists. The columns
    with the names of the observations hold their values. There are two kinds of logs.

    Complete records have every observation and the reward of every action: in the columns `rewards`
    = {action: column}, in columns with the names of the actions, or by `label`, the column with the
    action that earns 1 while the others earn 0. A missing cell, or the text "unavailable", is an
    observation that failed.

    Logged decisions have the action taken, in the column `action`, and what it earned, in the
    column `reward`. An observation was not made if its cell is empty, and failed if it is
    "unavailable". `acquisition` says how observations were chosen: "simultaneous", before any
    result was known, or "sequential", each with the earlier results known. `order` is then the
    column that lists their names in this order. `propensity` is the column that `off_policy` needs;
    it is only checked here.

    `stake` is the column that says how many times the reward of a case counts, as in `open`. The
    rewards of a log are per unit of stake, and are counted as such. What is recommended is for a
    case of the log's mean stake, unless another is said.

    Columns called action, reward, order, propensity and stake need not be named. `rng` is the seed
    of the learners that start from the log.

    >>> from askwise import Observation, Problem
    >>> problem = Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=0.1)],
    ...     actions=["wait", "treat"],
    ... )
    >>> mri = ["neg", "neg", "neg", "pos"] * 50
    >>> best = ["wait", "wait", "wait", "treat"] * 50
    >>> print(fit({"mri": mri, "best": best}, problem, label="best").recommend().tree().outline())
    buy mri (0.1)
    ├─ neg → wait
    └─ pos → treat
    """
    columns: dict[str, Any] = {"rewards": rewards, "label": label, "stake": stake}
    columns |= {"action": action, "reward": reward, "order": order, "propensity": propensity}
    with opened_log(log) as opened:
        roles = roles_of(problem, opened.columns, acquisition=acquisition, **columns)
        counted = (_fit_records if roles.is_complete else _fit_decisions)(opened, roles, problem)
        mean, stakes = opened.stakes(problem, roles)
    many = tuple(f"{remark}." for remark in of_combinations(problem.observations, counted.rows))
    notes = counted.notes + of_stakes(roles, mean) + many
    return replace(counted, rng=rng, stake=mean, stakes=stakes, notes=notes)


def _fit_records(opened: LogSource, roles: Roles, problem: Problem) -> Fit:
    lattice = Lattice(problem)
    records, groups, rows = opened.records(lattice, roles)
    counted = count_records(lattice, groups, rows) if lattice.subsets <= MOST_SUBSETS else None
    notes = notes_of(roles, lattice, counted, None) + of_rewards(problem, records)
    # of very many different records there is only a sample
    digest = digest_of_records(records) if records.cases == rows else ""
    return Fit(problem, roles.kind, None, rows, notes, records, counted, digest=digest)


def _fit_decisions(opened: LogSource, roles: Roles, problem: Problem) -> Fit:
    lattice = Lattice(problem)
    decisions = opened.decisions(lattice, roles)
    check_most(lattice, decisions)
    chosen = roles.acquisition
    if chosen is None:
        if sum(1 for _ in by_looks(lattice, decisions.digits)) > 1:
            raise TableError(f"{REFUSED}{did_you_mean('order', opened.columns)}")
        chosen = "simultaneous"
    counted = count_decisions(lattice, decisions, chosen)
    notes = notes_of(roles, lattice, counted, decisions) + of_rewards(problem, decisions)
    found: dict[str, Any] = {"decisions": decisions, "digest": digest_of_decisions(decisions)}
    return Fit(problem, roles.kind, chosen, decisions.rows, notes, None, counted, **found)


@dataclass(frozen=True, repr=False)
class Fit:
    """A counted log: what it shows, a policy to recommend, and learners that start from it."""

    problem: Problem
    kind: Kind
    acquisition: AcquisitionName | None
    """How observations were chosen; None for complete records."""
    rows: int
    notes: tuple[str, ...]
    """Sentences that say what the log shows without bias, and what it cannot show."""
    records: CompleteRecords | None = field(compare=False)
    """The complete records, equal ones together; None for logged decisions."""
    counted: Statistics | None
    rng: RandomSource = field(default=None, compare=False)
    decisions: Decisions | None = field(default=None, compare=False)
    """The logged decisions; None for complete records."""
    stake: float = 1.0
    """How many times the reward of a case counts, on average."""
    stakes: Integers | None = field(default=None, compare=False)
    """The stakes of the cases, counted by kind (`learners/case_kinds.py`); None without a column.
    """
    weight: float = 1.0
    """The share of the log's cases that count, which were drawn evenly (`thinned`)."""
    drawn_from: int = 0
    """The number of cases that they were drawn from; 0 if all count."""
    digest: str = field(default="", compare=False)
    """What the rows of the log are recognised by (`same_rows.py`)."""

    @property
    def statistics(self) -> Statistics:
        """The counters, as if each row had been recorded live; complete records count in every
        state.
        """
        if self.counted is None:
            lattice = Lattice(self.problem)
            raise TooLargeError(
                f"{lattice.buyable} observations with max_observations={lattice.m} make "
                f"{lattice.subsets:,} subsets, more than the {MOST_SUBSETS:,} in which complete "
                "records are counted: lower max_observations, or use the default learner"
            )
        return self.counted

    def learner(
        self, name: str | None = None, *, weight: float = 1.0, **options: Any
    ) -> BaseLearner:
        """Returns a learner that starts from the log.

        The default is `aw.Learner`, with simultaneous acquisition if the log has it. Its first
        cases follow the log's recommendation, and it explores from there. So do other learners,
        until they have had as many cases as the log (`learners/after_log.py`). The log and later
        cases are combined, and every case counts once.

        A learner plans each case for its own stake, and its `recommend()` is for a stake of 1. If
        the log has stakes, `fit.recommend()` is for their mean: ask the learner for the same with
        `recommend(stake=fit.stake)`. A budget is for the cases of the log together, with the
        stakes that they have.

        weight: The share of the log's cases that count, drawn evenly, for an old log.
        """
        if weight != 1.0:
            return self.thinned(weight).learner(name, **options)
        name = Learner.name if name is None else name
        rng = as_generator(options.pop("rng", self.rng))
        if name == Learner.name:
            return self._default(options, rng)
        learner = make(name, self.problem, options, rng=rng)
        needed = rounds_of(learner).strategy.acquisition.name
        if self.acquisition not in (None, needed):
            raise StatisticsError(
                f"{name} learns from {needed} looks, but those of this log were "
                f"{self.acquisition}, and its counters would be biased: use the default learner, "
                f"or one that buys in the way of the log"
            )
        continue_from_log(
            learner, Log(self.rows, stake=self.stake, digest=self.digest), self.statistics
        )
        return learner

    def thinned(self, part: float) -> Fit:
        """Returns the same log with an even draw of that share of its cases."""
        if not is_number(part) or not 0 < part <= 1:
            raise OptionError(f"weight must be a number above 0 and at most 1, got {part!r}")
        lattice, rng = Lattice(self.problem), np.random.default_rng(0)
        note = (
            f"It counts as {100 * part:.3g}% of its {self.rows:,} cases, which were drawn evenly."
        )
        drawn: dict[str, Any] = {
            "notes": (*self.notes, note),
            "weight": self.weight * part,
            "drawn_from": self.drawn_from or self.rows,
        }
        if self.stakes is not None:  # a budget needs only the shares of the kinds
            drawn["stakes"] = np.rint(self.stakes * part).astype(np.int64)
        if self.decisions is not None:
            assert self.acquisition is not None
            decisions = self.decisions.thinned(part, rng)
            counted = count_decisions(lattice, decisions, self.acquisition)
            rows = decisions.rows
            return replace(self, decisions=decisions, rows=rows, counted=counted, **drawn)
        assert self.records is not None
        records = self.records.thinned(part, rng)
        rows, found = records.cases, self.counted
        if found is not None:
            found = count_records(lattice, records_of(lattice, records), rows)
        return replace(self, records=records, rows=rows, counted=found, **drawn)

    def _default(self, options: dict[str, Any], rng: Any) -> Learner:
        """`Learner`, which takes what was not seen as missing at random."""
        options.setdefault("acquisition", self.acquisition or "sequential")
        learner = make(Learner.name, self.problem, options, rng=rng)
        assert isinstance(learner, Learner)
        asked = learner.options
        if asked["window"] or asked["detect"] or asked["explore_budget"] is not None:
            raise OptionError(
                "explore_budget, window and detect need the times of cases, which a log does "
                "not have: leave them out"
            )
        drawn = self.weight, self.drawn_from, self.stake, self.digest
        log = Log(self.rows, self.records, *drawn)
        counted = None if self.records is not None else self.statistics
        begin_with_log(learner, log, counted, self.stakes)
        return learner

    def recommend(self, *, stake: float | None = None) -> Policy:
        """Returns the policy that the default learner recommends from this log.

        stake: How many times the reward of a case counts; by default the mean of the log.
        """
        return self.learner().recommend(stake=self.stake if stake is None else stake)

    def notes_on(self, policy: Policy) -> tuple[str, ...]:
        """Returns a note if the policy does what the log of decisions never tried."""
        return () if self.decisions is None else of_policy(policy, self.decisions)

    def for_stake(self, before: str = "") -> str:
        """Says for which stake `recommend()` is, after some words; "" if that is 1."""
        at = for_stake(self.stake, before)
        return at and f"{at}, the mean of the log"

    def evidence(self) -> Evidence:
        """Returns the estimates of the population from this log."""
        return self.learner().evidence()

    def __repr__(self) -> str:
        chosen = "" if self.acquisition is None else f", {self.acquisition}"
        said = f"<Fit of {self.rows:,} {self.kind}{chosen}"
        if self.counted is None:
            return f"{said}>"
        visited = int((self.counted.action_counts.sum(axis=1) > 0).sum())
        return f"{said}: rewards in {visited:,} states{self.for_stake('; recommends ')}>"

    def _repr_html_(self) -> str:
        chosen = [] if self.acquisition is None else [f"{self.acquisition} acquisition"]
        known = title("Fit", f"{self.rows:,} {self.kind}", *chosen)
        policy, at = self.recommend(), self.for_stake(", ")
        notes = "".join(map(line, (*self.notes, *self.notes_on(policy))))
        return known + notes + line(f"it recommends{at}:") + lines(str(policy.tree()))
