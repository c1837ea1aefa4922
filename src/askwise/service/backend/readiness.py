"""/readyz reports whether a worker can decide, and warnings for its operators.

Successful writes show that the ledger can be written. If no request writes, a probe is written from
time to time. It is written more often if the last write failed, or if the database shows signs of
failure. So a request for /readyz costs nothing, and an idle server makes one commit a minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from askwise.errors import AskwiseError
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project
from askwise.service.logging import log

PROBED_EVERY = 60.0
"""Seconds without a commit after which a probe is written;"""

PROBED_IN_DOUBT_EVERY = 10.0
"""where the database looks as though it could not be written;"""

RETRIED_EVERY = 1.0
"""where the last write failed."""

STALE = 30.0
"""Seconds without a read of the ledger after which it counts as unreadable."""

LATE = 120.0
"""Seconds that a project may have events that its policy does not know of: twice what a replanner
lets pass."""

LOGGED_EVERY = 30.0
"""Seconds after which the log repeats what is still wrong."""


class Readiness:
    """The findings of the maintenance thread of a worker."""

    def __init__(self, ledger: Ledger, writer: Writer) -> None:
        self._ledger = ledger
        self._writer = writer
        self._read_at: float | None = None
        """When the ledger was read last; None before the first time."""
        self._cannot_read = False
        self._probed = self._tried = self._examined = time.monotonic()
        """When a probe was last written; tried; and when the database was last asked for signs."""
        self._cannot_write = False
        self._waiting: dict[int, tuple[int, float]] = {}
        """Projects with events that are not planned with: their watermark, and since when."""
        self.late: list[str] = []
        """Projects that wait for a policy, and should not any more."""
        self._is_planner_there = True
        self.unreadable: dict[str, str] = {}
        """Projects that do not follow their newest policy, and why."""
        self._logged: dict[str, tuple[str, float]] = {}

    # --- what is answered ------------------------------------------------------------------------

    def obstacles(self) -> list[str]:
        """Why nothing can be decided now; empty if it can. No names: /readyz needs no token."""
        if self._read_at is None and not self._cannot_read:
            return ["not ready yet: the projects and their policies are being read from the ledger"]
        found = []
        if self._cannot_read or time.monotonic() - (self._read_at or 0.0) > STALE:
            found.append("the ledger cannot be read now")
        if self._is_failing():
            found.append("the ledger cannot be written now")
        return found

    def lags(self) -> dict[int, float]:
        """Seconds that projects have waited for a plan of what is new, by their numbers."""
        now = time.monotonic()
        return {project: now - since for project, (_, since) in list(self._waiting.items())}

    def warnings(self) -> list[str]:
        """What is wrong though decisions are made."""
        found = []
        if self.late:
            what = "planning is behind" if self._is_planner_there else "nobody plans"
            found.append(f"{what}: {len(self.late)} of the projects wait for a policy")
        if self.unreadable:
            found.append(f"{len(self.unreadable)} of the projects cannot follow the newest policy")
        return found

    def answer(self) -> bytes:
        """The body of /readyz while decisions are made."""
        warnings = self.warnings()
        more = {"warnings": warnings} if warnings else {}
        return msgspec.json.encode({"status": "ready", **more})

    # --- what is found out -----------------------------------------------------------------------

    def note_projects(self, projects: Sequence[Project]) -> None:
        """Note that the ledger was read, and which of its projects wait for a policy."""
        now = time.monotonic()
        self._read_at, self._cannot_read = now, False
        for project in projects:
            if project.seq <= project.watermark:
                self._waiting.pop(project.id, None)
            elif self._waiting.get(project.id, (-1,))[0] != project.watermark:
                self._waiting[project.id] = (project.watermark, now)
        since = {project: now - at for project, (_, at) in self._waiting.items()}
        self.late = [project.name for project in projects if since.get(project.id, 0.0) > LATE]
        if self.late:
            self._is_planner_there = self._ledger.lease().is_good
            what = "planning is behind" if self._is_planner_there else "nobody plans"
            self._log("planning", what, projects=self.late)
        else:
            self._is_planner_there = True
            self._logged.pop("planning", None)

    def cannot_read(self, error: str) -> None:
        """Note that the ledger could not be read."""
        self._cannot_read = True
        self._log("reading", "the ledger cannot be read", error=error)

    def cannot_write(self, error: str) -> None:
        """Note that the ledger could not be written."""
        self._cannot_write, self._tried = True, time.monotonic()
        self._log("writing", "the ledger cannot be written", error=error)

    def cannot_follow(self, project: Project, error: str) -> None:
        """Note that a project cannot follow its newest policy."""
        self.unreadable[project.name] = error
        what = "a project cannot follow its newest policy"
        self._log(f"policy {project.id}", what, project=project.name, error=error)

    def follows(self, project: Project) -> None:
        """Note that a project follows its newest policy."""
        self.unreadable.pop(project.name, None)

    def probe(self) -> None:
        """Find out whether the ledger can be written, if that was not seen lately."""
        now = time.monotonic()
        if self._is_failing():
            is_due = now - self._tried >= RETRIED_EVERY
        else:
            is_due = now - max(self._probed, self._writer.wrote) >= PROBED_EVERY
            if not is_due and now - self._examined >= RETRIED_EVERY:
                self._examined = now
                is_due = (
                    now - self._tried >= PROBED_IN_DOUBT_EVERY and self._ledger.looks_unwritable()
                )
        if not is_due:
            return
        try:
            self._ledger.probe()
        except AskwiseError as error:
            self.cannot_write(str(error))
            return
        self._probed = self._tried = time.monotonic()
        if self._cannot_write:
            log("info", "the ledger can be written again")
        self._cannot_write = False

    def _is_failing(self) -> bool:
        written = max(self._probed, self._writer.wrote)
        failed = max(self._writer.failed, self._tried if self._cannot_write else 0.0)
        return failed > written

    def _log(self, about: str, what: str, **more: object) -> None:
        """Write a line to the log; the same one again only after a while."""
        text, now = f"{what} {more}", time.monotonic()
        logged, at = self._logged.get(about, ("", 0.0))
        if text != logged or now - at > LOGGED_EVERY:
            self._logged[about] = (text, now)
            log("error", what, **more)
