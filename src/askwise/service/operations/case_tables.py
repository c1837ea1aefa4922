"""The cases of a project as a table, which `aw.fit` and `aw.off_policy` read as it is.

A row is a case that has its reward. It has the observed values in the order of purchase, the
action, the reward, and the propensity of each step. Cases with their own prices are rows too: what
they did was as likely as it says, and what it earns does not depend on prices.

Where people did something else and knew no more than the case (`knew_more` is false), the row is a
fair sample, and `aw.fit` counts it. Its propensity is empty unless it was reported, and
`aw.off_policy` asks for such rows to be filled in or left out. Some cases are no rows, because
they would mislead: those in which people knew more, and those that did not begin or end as whole
cases. `Written` has the reasons.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from askwise._support.extras import need
from askwise.errors import LedgerError
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.service.api.messages import Acting, CaseAnswer
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.event_pages import watched_pages
from askwise.service.ledger.rows import Project, Status
from askwise.service.replanning.policy_versions import PolicyCache, learner_of

PAGE = 10_000
"""Cases that are read and written at a time."""


class Written(NamedTuple):
    """The numbers of cases that were written and left out."""

    rows: int
    without_propensity: int
    """The rows in which people decided, and did not report how probable that was."""
    reasons: dict[str, int]
    """Why cases that are over are not in the table, and how many there are of each."""

    @property
    def left_out(self) -> int:
        """Cases that are over, and are not in the table."""
        return sum(self.reasons.values())

    def __str__(self) -> str:
        lines = [f"{self.rows:,} cases, {self.left_out:,} left out"]
        lines += [f"- left out: {number:,} {why}" for why, number in self.reasons.items()]
        if any(why in self.reasons for why in BY_PEOPLE):
            lines.append(
                "People decide otherwise in some cases more than in others, so without these "
                "cases `askwise evaluate` and `aw.off_policy` can be biased."
            )
        if self.without_propensity:
            lines.append(
                f"{self.without_propensity:,} of the cases have no propensity, because people "
                "decided: `askwise fit` counts them; `askwise evaluate` needs them left out."
            )
        return "\n".join(lines)


ON_FILE = "with values on file: a table has whole cases"
KNEW_MORE = "in which people decided or looked, and knew more than the case"
LATER = "in which people looked after the decision, or bought a part of a set"
ERASED = "whose steps or propensities are no longer stored"
BY_PEOPLE = (KNEW_MORE, LATER)


def write_parquet(ledger: Ledger, name: str, path: Path) -> Written:
    """Write the cases of a project that have their reward to a Parquet file."""
    need("pyarrow", "logs")
    import pyarrow as pa
    import pyarrow.parquet as pq

    project = ledger.project(name)
    if project is None:
        raise LedgerError(f"there is no project {name!r}")
    table = _CaseTable(ledger, project)
    schema, rows = pa.schema(_fields(table, pa)), 0
    partial_file = path.with_name(f".{path.name}.part")
    try:
        with pq.ParquetWriter(partial_file, schema) as writer:
            for page in table.pages():
                writer.write_table(pa.Table.from_pylist(page, schema=schema))
                rows += len(page)
        partial_file.replace(path)
    finally:
        partial_file.unlink(missing_ok=True)
    return Written(rows, table.without_propensity, dict(sorted(table.reasons.items())))


def _fields(table: _CaseTable, pa: Any) -> list[Any]:
    fields = [("case", pa.int64())]
    for o in table.problem.observations:
        is_number = all(isinstance(value, int) for value in o.values) and table.is_path
        fields.append((o.name, pa.int64() if is_number else pa.string()))
    if table.is_path:
        fields.append(("order", pa.string()))
    fields += [("action", pa.string()), ("reward", pa.float64())]
    if not any(name == "stake" for name, _ in fields):  # else it is an observation
        fields.append(("stake", pa.float64()))
    return [*fields, ("propensity", pa.string())]


class _CaseTable:
    """Reads the cases of a project, and what was answered in them."""

    def __init__(self, ledger: Ledger, project: Project) -> None:
        self._ledger, self._project = ledger, project
        find = partial(PolicyCache(ledger).version_or_thin, project.id)
        self._decider = CaseDecider(project, find)
        learner = learner_of(project)
        self.problem = learner.problem
        self.is_path = rounds_of(learner).strategy.acquisition.name == "sequential"
        self.reasons: Counter[str] = Counter()
        self.without_propensity = 0
        self._likely: dict[int, tuple[float, ...]] = {}
        """The propensities of each case, as they were answered."""
        self._acted: dict[int, Acting] = {}
        """What people did last in each case, as they reported it first."""

    def pages(self) -> Iterator[list[dict[str, Any]]]:
        """The rows, some at a time, in the order of the cases."""
        for events in watched_pages(self._ledger, self._project):
            for event in events:
                if event.kind in ("open", "observe") and event.answer:
                    answer = msgspec.json.decode(event.answer, type=CaseAnswer)
                    if answer.propensity is not None:
                        self._likely[event.case] = answer.propensity
                if event.kind == "act" and event.body:
                    self._note(event.case, msgspec.json.decode(event.body, type=Acting))
        for first in range(1, self._project.opened + 1, PAGE):
            numbers = range(first, min(first + PAGE, self._project.opened + 1))
            found = self._ledger.cases(self._project.id, list(numbers))
            rows = [self._row(case) for _, case in sorted(found.items())]
            yield [row for row in rows if row is not None]

    def _note(self, case: int, told: Acting) -> None:
        """Keeps what people did; the same action reported again changes nothing."""
        before = self._acted.get(case)
        if before is None or before.action != told.action:
            self._acted[case] = told

    def _likely_of(self, case: Case) -> tuple[float, ...] | None:
        """The propensities of a case; None if they are unknown.

        People who confirm the advice leave them as they are. Where people did something else, the
        last one is what they reported.
        """
        steps, told = self._likely.get(case.id), self._acted.get(case.id)
        if told is None or not case.is_overruled or steps is None:
            return steps  # none if people acted before there was advice
        return None if told.propensity is None else (*steps[:-1], told.propensity)

    def _row(self, case: Any) -> dict[str, Any] | None:
        if case.status not in (Status.REWARDED, Status.DEFAULTED):
            return None
        served = self._decider.resume(case) if case.data else None
        likely = None if served is None else self._likely_of(served.case)
        why = ERASED if served is None else self._why_not(served.case, likely)
        if why or served is None:
            self.reasons[why] += 1
            return None
        found = served.case
        self.without_propensity += likely is None
        looks = [self._decider.lattice.observations[i].name for i, _ in found.path]
        row: dict[str, Any] = {"case": case.id, "action": found.action}
        row |= {"reward": found.earned, "stake": found.stake}
        for name, value in found.state.items():
            failed = None if self.is_path else "unavailable"
            text = self.is_path and isinstance(value, int)
            row[name] = failed if value is None else value if text else str(value)
        if self.is_path:
            row["order"] = ",".join(looks)
        if likely is not None:
            whole = (math.prod(likely),)
            row["propensity"] = ",".join(map(repr, likely if self.is_path else whole))
        return row

    def _why_not(self, case: Case, likely: tuple[float, ...] | None) -> str:
        """Why a case is no row of the table; empty if it is one."""
        if case.start >= self._decider.lattice.contexts:
            return ON_FILE
        if case.is_apart or any(case.unasked.values()):
            return KNEW_MORE
        is_by_people = case.is_overruled or bool(case.unasked)
        if is_by_people and (case.acted_in != case.state_index or not self.is_path):
            return LATER
        return "" if is_by_people or likely is not None else ERASED
