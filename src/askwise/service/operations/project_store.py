"""What one process of the server holds: ledger, policies, desks, tokens, and the writing thread.

A caretaker looks every quarter of a second for what other processes did: new projects, new policy
versions, new and revoked tokens. A version is fetched and unpacked there, so that no request waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from askwise.errors import AskwiseError, LedgerUnavailableError
from askwise.service.decisions.deciding import Desk
from askwise.service.decisions.writer import Writer
from askwise.service.http.messages import Opening
from askwise.service.http.problems import Refusal
from askwise.service.ledger import open_ledger
from askwise.service.ledger.contract import Project
from askwise.service.operations.logging import log, log_failure
from askwise.service.operations.metrics import Metrics
from askwise.service.operations.readiness import Readiness
from askwise.service.operations.settings import Settings
from askwise.service.operations.tokens import TokenBook
from askwise.service.replanning.versions import Versions

LOOKS_EVERY = 0.25
"""Seconds."""

ADOPTS_EVERY = 1.0
"""Seconds between two policies of a project that are taken up: unpacking one takes milliseconds of
the interpreter, and requests want it too."""

YOUNG = 10_000
"""Events up to which a project takes up every policy at once: it learns fastest then."""


class House:
    """Everything behind the routes."""

    def __init__(self, settings: Settings, worker: int = 0) -> None:
        self.settings = settings
        self.ledger = open_ledger(settings.db)
        self.versions = Versions(self.ledger)
        self.tokens = TokenBook(self.ledger)
        self.writer = Writer(self.ledger, self.versions)
        self.readiness = Readiness(self.ledger, self.writer)
        self.metrics = Metrics(worker, self.writer, self.readiness)
        self.projects: dict[str, Project] = {}
        """As they were a moment ago."""
        self.desks: dict[str, Desk] = {}
        self._adopted: dict[int, tuple[int, float]] = {}
        """The version of each project that cases follow, and since when."""
        self._closing = threading.Event()
        self._caretaker = threading.Thread(target=self._take_care, name="caretaker", daemon=True)

    def start(self) -> None:
        """Begin to write and to look around."""
        self.tokens.renew()
        self.writer.start()
        self._caretaker.start()

    def stop(self) -> None:
        """Finish all that was accepted, then let go."""
        self.writer.stop()
        self._closing.set()
        self._caretaker.join()
        self.ledger.close()

    def project(self, name: str) -> Project:
        """The project as it stands now, or a refusal."""
        project = self.ledger.project(name)
        if project is None:
            raise Refusal(404, f"there is no project {name!r}", "path:project")
        return project

    def desk(self, project: Project) -> Desk:
        """For reading only: the writer has desks of its own."""
        desk = self.desks.get(project.name)
        if desk is None:
            find = partial(self.versions.version, project.id)
            desk = self.desks[project.name] = Desk(project, find)
        return desk

    def prepare(self, desk: Desk, openings: Sequence[Opening]) -> None:
        """Plan for cases that will be opened with something on file."""
        project = desk.project
        planned = self.versions.newest(project.id, project.version)
        for opening in openings:
            with suppress(Refusal):  # whoever opens it is told
                desk.prepare(planned, opening)

    def look(self) -> None:
        """Learn what other processes did."""
        self.tokens.renew()
        projects = self.ledger.projects()
        for project in projects:
            self.projects[project.name] = project
            try:
                self._adopt(project)
            except LedgerUnavailableError:
                raise
            except Exception as error:  # whatever is wrong with it, the others go on
                why = str(error) if isinstance(error, AskwiseError) else type(error).__name__
                self.readiness.cannot_follow(project, why)
        self.readiness.look(projects)

    def _adopt(self, project: Project) -> None:
        """Have cases follow the project's newest policy from now on."""
        version, since = self._adopted.get(project.id, (0, -ADOPTS_EVERY))
        now = time.monotonic()
        if version == project.version:
            self.readiness.follows(project)
            return
        if project.seq > YOUNG and now - since < ADOPTS_EVERY:
            return
        self.desk(project)
        planned = self.versions.prepare(project.id, project.version)
        if planned.version != version:
            planned.policy.looks_in_case(0, 1)  # so that kernels are loaded, if it needs any
            self._adopted[project.id] = (planned.version, now)
            log("info", "policy", project=project.name, version=planned.version)
        if planned.version != project.version:
            which = f"version {project.version} cannot be read"
            self.readiness.cannot_follow(project, f"{which}, it follows {planned.version}")

    def _take_care(self) -> None:
        while not self._closing.is_set():
            for task, failed in (
                (self.look, self.readiness.cannot_read),
                (self.readiness.prove, self.readiness.cannot_read),
                (self.ledger.tend, self.readiness.cannot_write),
            ):
                try:
                    task()
                except AskwiseError as error:
                    failed(str(error))
                except Exception as error:
                    failed(type(error).__name__)
                    log_failure("the caretaker failed", error)
            self._closing.wait(LOOKS_EVERY)
