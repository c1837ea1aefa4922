"""The state of one server process: ledger, policies, tokens, and the thread that writes.

Every quarter of a second a maintenance thread reads the changes of other processes: new projects,
new policy versions, new and revoked tokens. It also reads and unpacks new versions, so that no
request waits for that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from askwise.errors import AskwiseError, LedgerUnavailableError
from askwise.learners.case_policies import own_bytes
from askwise.policy import Policy
from askwise.service.api.messages import Opening
from askwise.service.api.refusals import Refusal
from askwise.service.backend.metrics import Metrics
from askwise.service.backend.rate_limits import RateLimits
from askwise.service.backend.readiness import Readiness
from askwise.service.backend.replica import Replica
from askwise.service.decisions.case_decider import CaseDecider, Request
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project, StoredCase
from askwise.service.logging import log_failure
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.settings import Settings
from askwise.service.tokens import TokenCache

REFRESHED_EVERY = 0.25
"""Seconds between two reads of the ledger."""

ADOPTED_EVERY = 1.0
"""Seconds between two adopted policies of a project. Unpacking a policy holds the interpreter for
milliseconds, and requests need it too.
"""

EAGER = 50
"""With more projects than this, each is loaded on first use, because a thousand take long."""

YOUNG = 10_000
"""Events up to which a project adopts every policy at once: it learns fastest then."""


class CasePlan(NamedTuple):
    """A policy for one case. It is found again, without a lock, as long as this is kept."""

    policy: Policy | None
    version: int = 0
    """The version by which an opening was planned."""
    bytes: int = 0
    """The memory of its tables."""


NO_PLAN = CasePlan(None)


class Backend:
    """Everything that the handlers of one process work with."""

    def __init__(self, settings: Settings, worker: int = 0) -> None:
        self.settings = settings
        self.ledger = open_ledger(settings.db)
        self.replica = Replica(settings.read_db) if settings.read_db else None
        self.policy_cache = PolicyCache(self.ledger)
        self.tokens = TokenCache(self.ledger)
        self.limits = RateLimits(settings.workers)
        self.writer = Writer(self.ledger, self.policy_cache)
        self.readiness = Readiness(self.ledger, self.writer)
        self.metrics = Metrics(worker, self.writer, self.readiness, settings.metrics_folder)
        self.projects: dict[str, Project] = {}
        """The projects by name, as of the last read of the ledger."""
        self.deciders: dict[str, CaseDecider] = {}
        """The deciders by project, for reading only. The writer has its own."""
        self._adopted: dict[int, tuple[int, float]] = {}
        """The version of each project that cases follow, and since when."""
        self._closing = threading.Event()
        self._maintenance = threading.Thread(target=self._maintain, name="maintenance", daemon=True)

    def start(self) -> None:
        """Start the writer and the maintenance thread."""
        self.tokens.refresh()
        self.writer.start()
        self._maintenance.start()

    def stop(self) -> None:
        """Write all that was accepted, then close the ledger."""
        self.writer.stop()
        self._closing.set()
        self._maintenance.join()
        self.ledger.close()
        if self.replica is not None:
            self.replica.ledger.close()

    @property
    def reports(self) -> Ledger:
        """Where reports are read: in the database that follows, if there is one that can be."""
        replica = self.replica
        return self.ledger if replica is None or replica.behind is None else replica.ledger

    def project(self, name: str) -> Project:
        """The project as it stands now; a refusal if there is none."""
        project = self.ledger.project(name)
        if project is None:
            raise Refusal(404, f"there is no project {name!r}", "path:project")
        return project

    def decider(self, project: Project) -> CaseDecider:
        """The decider of a project, for reading cases only."""
        decider = self.deciders.get(project.name)
        if decider is None or decider.project.id != project.id:
            find = partial(self.policy_cache.version_or_thin, project.id)
            decider = self.deciders[project.name] = CaseDecider(project, find)
        return decider

    def plan_opening(self, decider: CaseDecider, opening: Opening) -> CasePlan:
        """Plan for a case that will be opened on its own terms.

        If a newer version came while it was planned, it is planned once more, by that version.
        """
        project, plan = decider.project, NO_PLAN
        try:
            for _ in range(2):
                newest = self.policy_cache.newest(project.id, project.version)
                if newest.version == plan.version:
                    break
                policy = decider.prepare(newest, opening)
                plan = CasePlan(policy, newest.version, own_bytes(policy, newest.policy))
        except Exception:  # the writer meets it too, and refuses this request alone
            return NO_PLAN
        return plan

    def plan_step(self, decider: CaseDecider, case: StoredCase, body: Request) -> CasePlan:
        """Plan for a case that goes on with this request, on terms of its own."""
        try:
            policy = decider.prepare_step(case, body)
        except Exception:  # the writer meets it too, and refuses this request alone
            return NO_PLAN
        return NO_PLAN if policy is None else CasePlan(policy, bytes=own_bytes(policy))

    def cases_to_plan(self, decider: CaseDecider, numbers: Iterable[int]) -> dict[int, StoredCase]:
        """Those of the cases that go on, on terms of their own."""
        found: dict[int, StoredCase] = {}
        with suppress(Exception):  # the writer meets it too
            found = self.ledger.cases(decider.project.id, sorted(numbers))
        return {n: case for n, case in found.items() if _goes_on(decider, case)}

    def load(self, name: str) -> CaseDecider | None:
        """Get a project into memory that was not asked for yet; None if there is none."""
        project = self.ledger.project(name)
        if project is None:
            return None
        self.policy_cache.newest(project.id, project.version)
        return self.decider(project)

    def refresh(self) -> None:
        """Reads the changes of other processes."""
        self.tokens.refresh()
        projects = self.ledger.projects()
        self.projects = {project.name: project for project in projects}
        for name in [name for name in self.deciders if name not in self.projects]:
            del self.deciders[name]
        for project in projects:
            if len(projects) > EAGER and project.name not in self.deciders:
                continue  # it is loaded when it is asked for
            try:
                self._adopt(project)
            except LedgerUnavailableError:
                raise
            except Exception as error:  # whatever is wrong with it, other projects go on
                why = str(error) if isinstance(error, AskwiseError) else type(error).__name__
                self.readiness.cannot_follow(project, why)
        self.policy_cache.drop_plans()
        self.readiness.note_projects(projects)

    def _adopt(self, project: Project) -> None:
        """Adopts the project's newest policy for new cases."""
        version, since = self._adopted.get(project.id, (0, -ADOPTED_EVERY))
        now = time.monotonic()
        if version == project.version:
            self.readiness.follows(project)
            return
        if project.seq > YOUNG and now - since < ADOPTED_EVERY:
            return
        self.decider(project)
        planned = self.policy_cache.prepare(project.id, project.version)
        if planned.version != version:
            planned.policy.looks_in_case(0, 1)  # so that kernels are loaded, if it needs any
            self._adopted[project.id] = (planned.version, now)
        if planned.version != project.version:
            which = f"version {project.version} cannot be read"
            self.readiness.cannot_follow(project, f"{which}, it follows {planned.version}")

    def _maintain(self) -> None:
        while not self._closing.is_set():
            began = time.monotonic()
            if self.replica is not None:
                self.replica.look(self.projects.values())
            for task, failed in (
                (self.refresh, self.readiness.cannot_read),
                (self.readiness.probe, self.readiness.cannot_read),
                (self.ledger.checkpoint, self.readiness.cannot_write),
            ):
                try:
                    task()
                except AskwiseError as error:
                    failed(str(error))
                except Exception as error:
                    failed(type(error).__name__)
                    log_failure("maintenance failed", error)
            self.metrics.leave()
            # with a thousand projects a read takes long: it gets at most a fifth of the time
            took = time.monotonic() - began
            self._closing.wait(max(REFRESHED_EVERY, 4.0 * took))


def _goes_on(decider: CaseDecider, case: StoredCase) -> bool:
    """Whether a case goes on, on terms of its own; not if that cannot be read."""
    try:
        return decider.plans_for(case)
    except Exception:  # the writer meets it too, and refuses this request alone
        return False
