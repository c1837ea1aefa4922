"""The cases of a project as a table, which `aw.fit` and `aw.off_policy` read as it is.

A row is a case that has its reward. It has the observed values in the order of purchase, the
action, the reward, and the propensity of each step. Some cases are left out, because they do not
show what the project's policy does at its prices. These are cases that people overruled or observed
unasked, cases with values on file, and cases with their own prices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from askwise._support.extras import need
from askwise.errors import LedgerError
from askwise.learners.learner import rounds_of
from askwise.service.api.messages import CaseAnswer
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.stored_cases import ServedCase
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.event_pages import watched_pages
from askwise.service.ledger.rows import Project, Status
from askwise.service.replanning.policy_versions import PolicyCache, learner_of

PAGE = 10_000
"""Cases that are read and written at a time."""


class Written(NamedTuple):
    """The numbers of cases that were written and left out."""

    rows: int
    left_out: int
    """Cases that are over, and are not in the table."""


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
    return Written(rows, table.left_out)


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
        self.left_out = 0
        self._likely: dict[int, tuple[float, ...]] = {}
        """The propensities of each case."""

    def pages(self) -> Iterator[list[dict[str, Any]]]:
        """The rows, some at a time, in the order of the cases."""
        for events in watched_pages(self._ledger, self._project):
            for event in events:
                if event.kind in ("open", "observe") and event.answer:
                    answer = msgspec.json.decode(event.answer, type=CaseAnswer)
                    if answer.propensity is not None:
                        self._likely[event.case] = answer.propensity
        for first in range(1, self._project.opened + 1, PAGE):
            numbers = range(first, min(first + PAGE, self._project.opened + 1))
            found = self._ledger.cases(self._project.id, list(numbers))
            rows = [self._row(case) for _, case in sorted(found.items())]
            yield [row for row in rows if row is not None]

    def _row(self, case: Any) -> dict[str, Any] | None:
        if case.status not in (Status.REWARDED, Status.DEFAULTED):
            return None
        served = self._decider.resume(case) if case.data else None
        if served is None or not self._is_plain(served) or case.id not in self._likely:
            self.left_out += 1
            return None
        found, likely = served.case, self._likely[case.id]
        looks = [self._decider.lattice.observations[i].name for i, _ in found.path]
        row: dict[str, Any] = {"case": case.id, "action": found.action}
        row |= {"reward": found.earned, "stake": found.stake}
        for name, value in found.state.items():
            failed = None if self.is_path else "unavailable"
            text = self.is_path and isinstance(value, int)
            row[name] = failed if value is None else value if text else str(value)
        if self.is_path:
            row["order"] = ",".join(looks)
            row["propensity"] = ",".join(map(repr, likely))
        else:
            product = 1.0
            for chance in likely:
                product *= chance
            row["propensity"] = repr(product)
        return row

    def _is_plain(self, served: ServedCase) -> bool:
        case = served.case
        is_filed = case.start >= self._decider.lattice.contexts
        return not (is_filed or served.prices or case.is_overruled or case.unasked)
