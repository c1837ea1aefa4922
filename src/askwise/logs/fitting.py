"""From a log to what can be learned from it: the counters, and what they are good for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from askwise._support.html import line, lines, title
from askwise._support.random import as_generator
from askwise._support.typing import AcquisitionName, RandomSource
from askwise.counting import Statistics
from askwise.errors import OptionError, StatisticsError, TableError, TooLargeError
from askwise.estimation.complete_records import CompleteRecords
from askwise.estimation.evidence import Evidence
from askwise.learners import BaseLearner, Learner, make
from askwise.learners.learner import rounds_of
from askwise.learners.warm_start import begin_with_log
from askwise.logs.checks import check_most
from askwise.logs.counting import (
    Decisions,
    by_looks,
    count_decisions,
    count_records,
    records_of,
)
from askwise.logs.notes import REFUSED, notes_of
from askwise.logs.reading import Log, opened_log
from askwise.logs.roles import Kind, Roles, roles_of
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.problem.bins import is_number
from askwise.states import Lattice

MOST_SUBSETS = 20_000
"""In so many subsets of the observations complete records are counted, one after the other."""


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
    rng: RandomSource = None,
) -> Fit:
    """Count a log: what happened before anybody learned from it.

    `log` is a path, a pattern such as "logs/*.parquet", or a list of them (CSV, Parquet), a DuckDB
    relation, any data frame that narwhals takes, or a mapping of columns to lists. Columns named as
    the observations hold what was seen. Then it is one of

    complete records: every observation is known, and what every action would have earned, in
        `rewards` = {action: column} (or columns named as the actions), or by `label`, the column
        that names the action that earns 1, the others 0. A missing cell is a look that failed.
    logged decisions: `action` is the column of what was done, `reward` of what that earned. An
        empty cell was not looked at; a look that failed is written "unavailable". `acquisition`
        says how looks were chosen: "simultaneous", before any of them was seen, or "sequential",
        one from what the last had shown, with `order` the column of their names in that order.

    `propensity` is a column of probabilities, which `off_policy` needs; here they are checked: one
        of the whole course, or one for each step, as there.

    Columns called action, reward, order and propensity are taken for what they are called.
    `rng` is the seed of the learners that start from the log.

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
    with opened_log(log) as opened:
        roles = roles_of(
            problem,
            opened.columns,
            rewards=rewards,
            label=label,
            action=action,
            reward=reward,
            acquisition=acquisition,
            order=order,
            propensity=propensity,
        )
        return (_fit_records if roles.is_complete else _fit_decisions)(opened, roles, problem, rng)


def _fit_records(opened: Log, roles: Roles, problem: Problem, rng: RandomSource) -> Fit:
    lattice = Lattice(problem)
    records, groups, rows = opened.records(lattice, roles)
    counted = count_records(lattice, groups, rows) if lattice.subsets <= MOST_SUBSETS else None
    notes = notes_of(roles, lattice, counted, None)
    return Fit(problem, roles.kind, None, rows, notes, records, counted, rng)


def _fit_decisions(opened: Log, roles: Roles, problem: Problem, rng: RandomSource) -> Fit:
    lattice = Lattice(problem)
    decisions = opened.decisions(lattice, roles)
    check_most(lattice, decisions)
    chosen = roles.acquisition
    if chosen is None:
        if sum(1 for _ in by_looks(lattice, decisions.digits)) > 1:
            raise TableError(REFUSED)
        chosen = "simultaneous"
    counted = count_decisions(lattice, decisions, chosen)
    notes = notes_of(roles, lattice, counted, decisions)
    rows = decisions.rows
    return Fit(problem, roles.kind, chosen, rows, notes, None, counted, rng, decisions)


@dataclass(frozen=True, repr=False)
class Fit:
    """What a log says."""

    problem: Problem
    kind: Kind
    acquisition: AcquisitionName | None
    """How looks were chosen; None in complete records, in which there is nothing to choose."""
    rows: int
    notes: tuple[str, ...]
    """What can be learned from it without bias, and what cannot."""
    records: CompleteRecords | None = field(compare=False)
    """Complete records as they are, equal ones together; None of logged decisions."""
    counted: Statistics | None
    rng: RandomSource = field(default=None, compare=False)
    decisions: Decisions | None = field(default=None, compare=False)
    """Logged decisions as they are; None of complete records."""

    @property
    def statistics(self) -> Statistics:
        """The counters, as if each row had been recorded by itself, a record in every state."""
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
        """A learner that starts from these cases, and goes on from there.

        By default `aw.Learner`, that buys sets at once where the log did: from its first case on it
        does what the log recommends, and explores from there. Others go on from the counters. What
        the log says and what comes later are one body of evidence, in which every case counts once.
        `weight`: an old log counts less, as that part of its cases, which are drawn evenly.
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
                f"{self.acquisition}: what it needs was not counted, because it would be biased"
            )
        learner.merge(self.statistics)
        return learner

    def thinned(self, part: float) -> Fit:
        """The same log with an even draw of about that part of its cases; always the same ones."""
        if not is_number(part) or not 0 < part <= 1:
            raise OptionError(f"weight must be a number above 0 and at most 1, got {part!r}")
        lattice, rng = Lattice(self.problem), np.random.default_rng(0)
        note = f"It counts as {part:.0%} of its {self.rows:,} cases, which were drawn evenly."
        notes = (*self.notes, note)
        if self.decisions is not None:
            assert self.acquisition is not None
            decisions = self.decisions.thinned(part, rng)
            counted = count_decisions(lattice, decisions, self.acquisition)
            rows = decisions.rows
            return replace(self, decisions=decisions, rows=rows, counted=counted, notes=notes)
        assert self.records is not None
        records = self.records.thinned(part, rng)
        rows, found = records.cases, self.counted
        if found is not None:
            found = count_records(lattice, records_of(lattice, records), rows)
        return replace(self, records=records, rows=rows, counted=found, notes=notes)

    def _default(self, options: dict[str, Any], rng: Any) -> Learner:
        """`Learner`, which takes what was not seen as missing at random."""
        options.setdefault("acquisition", self.acquisition or "sequential")
        learner = make(Learner.name, self.problem, options, rng=rng)
        assert isinstance(learner, Learner)
        asked = learner.options
        if asked["window"] or asked["detect"] or asked["explore_budget"] is not None:
            raise OptionError(
                "explore_budget, window and detect go by when cases came: not with those of a log"
            )
        if self.records is not None:
            begin_with_log(learner, self.rows, records=self.records)
        else:
            begin_with_log(learner, self.rows, self.statistics)
        return learner

    def recommend(self) -> Policy:
        """What the default learner recommends that starts from it; its first cases do that."""
        return self.learner().recommend()

    def evidence(self) -> Evidence:
        """What it says of the population."""
        return self.learner().evidence()

    def __repr__(self) -> str:
        chosen = "" if self.acquisition is None else f", {self.acquisition}"
        said = f"<Fit of {self.rows:,} {self.kind}{chosen}"
        if self.counted is None:
            return f"{said}>"
        visited = int((self.counted.action_counts.sum(axis=1) > 0).sum())
        return f"{said}: rewards in {visited:,} states>"

    def _repr_html_(self) -> str:
        chosen = [] if self.acquisition is None else [f"{self.acquisition} acquisition"]
        known = title("Fit", f"{self.rows:,} {self.kind}", *chosen)
        recommended = lines(str(self.recommend().tree()))
        return known + "".join(map(line, self.notes)) + line("it recommends:") + recommended
