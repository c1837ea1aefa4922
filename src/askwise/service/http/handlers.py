"""The handlers of one process, each made with the parts that it needs, found by name."""

from __future__ import annotations

import asyncio
import contextlib

from askwise.errors import LedgerError
from askwise.service.backend.backend import Backend
from askwise.service.backend.metrics import ProjectFacts, ServerFacts
from askwise.service.dashboard.alarms import AlarmLog
from askwise.service.dashboard.summaries import ledger_totals
from askwise.service.http.administration_handlers import AdministrationHandlers
from askwise.service.http.decision_handlers import DecisionHandlers
from askwise.service.http.project_handlers import ProjectHandlers
from askwise.service.http.report_handlers import ReportHandlers
from askwise.service.http.requests import Handler
from askwise.service.http.table_handlers import TableHandlers
from askwise.service.http.threads import ReaderThreads, Submissions
from askwise.service.logging import log, log_failure

ALARMS_EVERY = 60.0
"""Seconds between two looks for alarms, which are logged."""


class Handlers:
    """Makes the handlers, and finds the one that a call names."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.readers = ReaderThreads()
        self._is_closing = asyncio.Event()
        self._alarm_log = AlarmLog(backend.settings.metrics_folder)
        submissions = Submissions(backend.writer)
        self._projects = ProjectHandlers(backend, self.readers, submissions)
        self._reports = ReportHandlers(backend, self.readers, self._is_closing)
        decisions = self._decisions = DecisionHandlers(backend, self.readers, submissions)
        administration = AdministrationHandlers(backend, self.readers, submissions, self._projects)
        tables = self._tables = TableHandlers()
        self._by_class = {
            type(handlers).__name__: handlers
            for handlers in (decisions, self._projects, self._reports, administration, tables)
        }

    def find(self, name: str) -> Handler:
        """The handler of this name, such as `DecisionHandlers.open`."""
        group, _, method = name.partition(".")
        handler: Handler = getattr(self._by_class[group], method)
        return handler

    def metrics_text(self) -> bytes:
        """Returns all metrics. A thread reads them, because they need the ledger."""
        backend, facts = self._backend, {}
        projects = list(backend.projects.values())
        for project in projects:
            days = ledger_totals(backend.reports, project)
            alarms = self._reports.alarms_of(project)
            facts[project.name] = ProjectFacts(*days, tuple(alarms))
        behind = None if backend.replica is None else backend.replica.behind
        server = ServerFacts(backend.ledger.lease(), backend.ledger.size(), facts, behind)
        return backend.metrics.text(projects, server)

    async def watch_alarms(self) -> None:
        """Logs alarms as they start and end, though they may not be asked for; until it closes."""
        while not self._is_closing.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_closing.wait(), ALARMS_EVERY)
                return
            try:
                await self.readers.run(self._log_alarms)
            except LedgerError as error:
                log("error", "alarms could not be worked out", error=str(error))
            except Exception as error:
                log_failure("alarms could not be worked out", error)

    def _log_alarms(self) -> None:
        for project in list(self._backend.projects.values()):
            self._alarm_log.note(project, self._reports.alarms_of(project))

    def end_streams(self) -> None:
        """Ends the streams, because the server is closing."""
        self._is_closing.set()

    def close(self) -> None:
        """Begin nothing more in a thread."""
        self.readers.close()
        self._projects.close()
        self._tables.close()
        self._decisions.close()
        self._reports.close()
