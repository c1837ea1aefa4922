"""Plans in the background: counters at a watermark in, version v + 1 out, if v is still current.

Any number of replanners may run; the one that holds the lease plans. It is taken when there is
something to plan, renewed while that lasts, and left to expire: where nothing happens, nothing is
written. Should its holder stall so long that another took over, its fencing number is not the
newest any more and what it planned is dropped. A plan that fails leaves the policy as it is, and
the project says why.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from askwise.errors import AskwiseError, LedgerError, LedgerUnavailableError
from askwise.learners.learner import BaseLearner
from askwise.service.ledger.contract import LEASE, Lease, Ledger, Plan, Project
from askwise.service.operations.logging import log, log_failure
from askwise.service.replanning.versions import newest_readable, next_plan

RENEWED = LEASE // 2
"""A lease that is good for less, in microseconds, is renewed."""

LOOKS_EVERY = 0.25
"""Seconds."""

SHARE = 100
"""A plan is made when this part of all events is new,"""

AT_LATEST = 60_000_000
"""or anything is, after so many microseconds."""

MOST_HELD = 16
"""Projects whose learners are kept at hand."""


class Replanner:
    """Keeps the policies of all projects up to date."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._failed: dict[int, float] = {}
        """When a project's plan failed last, by a clock that is never set."""
        self._held: OrderedDict[int, tuple[int, BaseLearner, BaseLearner]] = OrderedDict()
        """Of some projects the newest version that was planned here, its learner, and the first."""
        self._stop = threading.Event()
        self._is_planning = threading.Event()
        self._thinker = ThreadPoolExecutor(1, "thinker", initializer=stand_back)

    def run(self) -> None:
        """Work until stopped."""
        keeper = threading.Thread(target=self._keep_lease, name="lease", daemon=True)
        keeper.start()
        while not self._stop.wait(LOOKS_EVERY):
            try:
                self.step()
            except LedgerError as error:
                log("error", "the replanner cannot reach the ledger", error=str(error))
                self._stop.wait(1.0)
        keeper.join()
        with contextlib.suppress(LedgerError):  # else it expires
            self._ledger.release_lease(self._holder)

    def stop(self) -> None:
        """End after the plan at hand."""
        self._stop.set()

    def step(self) -> int:
        """Plan for every project that is due, if it is ours to plan; how many were published."""
        due = [project for project in self._ledger.projects() if self._is_due(project)]
        if not due:
            return 0
        lease = self._lease()
        if lease.holder != self._holder:
            return 0
        self._is_planning.set()
        try:
            return sum(self.plan(project, lease.fence) for project in due)
        finally:
            self._is_planning.clear()

    def plan(self, project: Project, fence: int) -> bool:
        """Make and publish the next version; whether that went well."""
        began = time.perf_counter()
        try:
            now = self._ledger.snapshot(project.id)
            learner, first = self._learners(project.id, now.version)
            blob = self._thinker.submit(next_plan, learner, now, first).result()
            plan = Plan(now.version + 1, now.seq, fence, _now(), blob)
            with self._ledger.writing() as writing:
                is_ours = writing.publish(project.id, plan)
        except LedgerUnavailableError:
            raise  # it is not about this project
        except Exception as error:
            self._say_failed(project, error)
            return False
        self._failed.pop(project.id, None)
        if is_ours:
            self._held[project.id] = (plan.version, learner, first)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
        seconds = round(time.perf_counter() - began, 3)
        what = "planned" if is_ours else "a plan came too late"
        log("info", what, project=project.name, version=plan.version, seconds=seconds)
        return is_ours

    def _learners(self, project: int, version: int) -> tuple[BaseLearner, BaseLearner]:
        """The learner of a version, which may be changed, and that of the first.

        Unpacking them takes longer than most plans: those that were planned just here are kept.
        """
        held, learner, first = self._held.pop(project, (0, None, None))
        if held == version and learner is not None and first is not None:
            return learner, first
        unpacked = self._thinker.map(
            newest_readable, repeat(self._ledger), (project,) * 2, (version, 1)
        )
        (_, newest), (_, oldest) = unpacked
        return newest, oldest

    def _is_due(self, project: Project) -> bool:
        new = project.seq - project.watermark
        if new <= 0:
            return False
        failed = self._failed.get(project.id)
        if failed is not None:
            return time.monotonic() - failed >= AT_LATEST / 1e6
        # a plan of the future was made before the clock was set back, and may be of any age
        is_fresh = 0 <= _now() - project.planned < AT_LATEST
        return not is_fresh or new * SHARE >= project.watermark

    def _say_failed(self, project: Project, error: Exception) -> None:
        self._failed[project.id] = time.monotonic()
        if isinstance(error, AskwiseError):
            failure = str(error)
            log("error", "a plan failed", project=project.name, error=failure)
        else:
            failure = f"{type(error).__name__}: see the log"
            log_failure("a plan failed", error)
        self._ledger.plan_failed(project.id, failure.replace("\0", " "))

    def _lease(self) -> Lease:
        """Whose it is to plan; taken or renewed only where that must be."""
        before = self._ledger.lease()
        if before.is_good and (before.holder != self._holder or before.left > RENEWED):
            return before
        lease = self._ledger.take_lease(self._holder)
        if before.left > LEASE and lease.holder == self._holder:
            seconds = before.left // 1_000_000
            log("error", "a lease was taken over: a clock was set back since", seconds=seconds)
        return lease

    def _keep_lease(self) -> None:
        """A plan may take longer than a lease: say meanwhile that we are still at it."""
        while not self._stop.wait(LEASE / 3e6):
            if not self._is_planning.is_set():
                continue
            try:
                self._lease()
            except LedgerError as error:
                log("error", "the lease could not be renewed", error=str(error))


def stand_back() -> None:
    """Requests go first. This thread only: whoever holds the ledger must not dawdle."""
    with contextlib.suppress(OSError):  # a sandbox may forbid it: then it thinks beside them
        if hasattr(os, "SCHED_BATCH"):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.nice(10)


def _now() -> int:
    return time.time_ns() // 1000
