"""Whether a worker can decide, and what else whoever looks after it should know: /readyz.

That the ledger can be written is known from what was written. Where nobody writes, something small
is written now and then, to see; more often where the last attempt failed, or the database looks as
though it could not be written. So asking /readyz costs nothing, and an idle server one commit a
minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from askwise.errors import AskwiseError
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.contract import Ledger, Project
from askwise.service.operations.logging import log

PROVES_EVERY = 60.0
"""Seconds without a commit after which one is tried;"""

DOUBTS_EVERY = 10.0
"""where the database looks as though it could not be written;"""

TRIES_EVERY = 1.0
"""where it could not."""

STALE = 30.0
"""Seconds without a look at the ledger after which it counts as one that cannot be read."""

LATE = 120.0
"""Seconds that a project may have events that its policy does not know of: twice what a replanner
lets pass."""

SAYS_AGAIN = 30.0
"""Seconds after which the log repeats what is still wrong."""


class Readiness:
    """What the caretaker of a worker has found out."""

    def __init__(self, ledger: Ledger, writer: Writer) -> None:
        self._ledger = ledger
        self._writer = writer
        self._looked: float | None = None
        """When the ledger was read last; None before the first time."""
        self._cannot_read = False
        self._proved = self._tried = self._doubted = time.monotonic()
        """When something was last written to see whether it can be; tried; thought about."""
        self._cannot_write = False
        self._waiting: dict[int, tuple[int, float]] = {}
        """Projects with events that are not planned with: their watermark, and since when."""
        self.late: list[str] = []
        """Projects that wait for a policy, and should not any more."""
        self._is_planner_there = True
        self.unreadable: dict[str, str] = {}
        """Projects that do not follow their newest policy, and why."""
        self._said: dict[str, tuple[str, float]] = {}

    # --- what is answered ------------------------------------------------------------------------

    def reasons(self) -> list[str]:
        """Why nothing can be decided now; none, if it can. No names: anybody may ask."""
        if self._looked is None and not self._cannot_read:
            return ["not ready yet"]
        found = []
        if self._cannot_read or time.monotonic() - (self._looked or 0.0) > STALE:
            found.append("the ledger cannot be read now")
        if self._is_failing():
            found.append("the ledger cannot be written now")
        return found

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
        """The body for one who asks while decisions are made."""
        warnings = self.warnings()
        more = {"warnings": warnings} if warnings else {}
        return msgspec.json.encode({"status": "ready", **more})

    # --- what is found out -----------------------------------------------------------------------

    def look(self, projects: Sequence[Project]) -> None:
        """The ledger was read, and these are its projects."""
        now = time.monotonic()
        self._looked, self._cannot_read = now, False
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
            self._say("planning", what, projects=self.late)
        else:
            self._is_planner_there = True
            self._said.pop("planning", None)

    def cannot_read(self, error: str) -> None:
        """The ledger was not read."""
        self._cannot_read = True
        self._say("reading", "the ledger cannot be read", error=error)

    def cannot_write(self, error: str) -> None:
        """The ledger was not written."""
        self._cannot_write, self._tried = True, time.monotonic()
        self._say("writing", "the ledger cannot be written", error=error)

    def cannot_follow(self, project: Project, error: str) -> None:
        """A project cannot follow its newest policy."""
        self.unreadable[project.name] = error
        what = "a project cannot follow its newest policy"
        self._say(f"policy {project.id}", what, project=project.name, error=error)

    def follows(self, project: Project) -> None:
        """A project follows its newest policy."""
        self.unreadable.pop(project.name, None)

    def prove(self) -> None:
        """Find out whether the ledger can be written, if that is not known."""
        now = time.monotonic()
        if self._is_failing():
            is_due = now - self._tried >= TRIES_EVERY
        else:
            is_due = now - max(self._proved, self._writer.wrote) >= PROVES_EVERY
            if not is_due and now - self._doubted >= TRIES_EVERY:
                self._doubted = now
                is_due = now - self._tried >= DOUBTS_EVERY and self._ledger.is_doubtful()
        if not is_due:
            return
        try:
            self._ledger.prove()
        except AskwiseError as error:
            self.cannot_write(str(error))
            return
        self._proved = self._tried = time.monotonic()
        if self._cannot_write:
            log("info", "the ledger can be written again")
        self._cannot_write = False

    def _is_failing(self) -> bool:
        proved = max(self._proved, self._writer.wrote)
        failed = max(self._writer.failed, self._tried if self._cannot_write else 0.0)
        return failed > proved

    def _say(self, about: str, what: str, **more: object) -> None:
        """A line of the log; the same one again only after a while."""
        text, now = f"{what} {more}", time.monotonic()
        said, at = self._said.get(about, ("", 0.0))
        if text != said or now - at > SAYS_AGAIN:
            self._said[about] = (text, now)
            log("error", what, **more)
