"""A read-only replica of the ledger, for dashboards and reports."""

from __future__ import annotations

import time
from collections.abc import Iterable

from askwise.errors import LedgerError
from askwise.service.ledger import open_ledger
from askwise.service.ledger.rows import Project
from askwise.service.logging import log

LOOKED_EVERY = 1.0
"""Seconds between two measurements of its lag."""


class Replica:
    """Measures whether the replica can be read, and how far it is behind.

    While it cannot be, reports are read from the ledger itself. Until that is noticed, a request
    may be answered 503.
    """

    def __init__(self, db: str) -> None:
        self.ledger = open_ledger(db, migrate=False)
        self.behind: float | None = None
        """Seconds; None while it cannot be read."""
        self._looked = -LOOKED_EVERY
        self._had_all = time.monotonic()
        self._said = ""

    def look(self, projects: Iterable[Project]) -> None:
        """Compares it with an earlier state of the ledger's projects, unless that was done
        recently.

        It is behind for as long as it lacks something that the ledger had. The database's own
        report is no help, because a replica without a connection to the ledger reports no lag.
        """
        now = time.monotonic()
        if now - self._looked < LOOKED_EVERY:
            return
        self._looked = now
        try:
            there = {project.id: project.seq for project in self.ledger.projects()}
            if all(there.get(project.id, -1) >= project.seq for project in projects):
                self._had_all = now
            self.behind, said = now - self._had_all, ""
        except LedgerError as error:
            self.behind, said = None, str(error)
        if said != self._said:
            self._said = said
            what = "reports are read from the ledger itself" if said else "reports are read there"
            log("warning" if said else "info", "the read-only database", now=what, error=said)
