"""Plans in the background: counters at a watermark in, version v + 1 out, if v is still current.

Any number of replanners may run; the one that holds the lease plans. Should it stall so long that
another took over, its fencing number is not the newest any more and what it planned is dropped. A
plan that fails leaves the policy as it is, and the project says why.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from askwise.errors import AskwiseError, LedgerError
from askwise.learners.base import BaseLearner
from askwise.service.ledger.contract import Lease, Ledger, Plan, Project
from askwise.service.logs import log, log_failure
from askwise.service.policies import from_blob, next_plan

LEASE = 10_000_000
"""Microseconds that a lease is good for; it is renewed every third of that."""

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
        self._failed: dict[int, int] = {}
        """When a project's plan failed last."""
        self._held: OrderedDict[int, tuple[int, BaseLearner, BaseLearner]] = OrderedDict()
        """Of some projects the newest version that was planned here, its learner, and the first."""
        self._stop = threading.Event()
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

    def stop(self) -> None:
        """End after the plan at hand."""
        self._stop.set()

    def step(self) -> int:
        """Plan for every project that is due, if it is ours to plan; how many were published."""
        lease = self._lease()
        if lease.holder != self._holder:
            return 0
        return sum(self.plan(p, lease.fence) for p in self._ledger.projects() if self._is_due(p))

    def plan(self, project: Project, fence: int) -> bool:
        """Make and publish the next version; whether that went well."""
        began = time.perf_counter()
        try:
            now = self._ledger.snapshot(project.id)
            learner, first = self._learners(project.id, now.version)
            blob = self._thinker.submit(next_plan, learner, now, first).result()
        except Exception as error:
            self._say_failed(project, error)
            return False
        plan = Plan(now.version + 1, now.seq, fence, _now(), blob)
        with self._ledger.writing() as writing:
            is_ours = writing.publish(project.id, plan)
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
        newest, oldest = self._ledger.plan(project, version), self._ledger.plan(project, 1)
        if newest is None or oldest is None:
            raise LedgerError(f"there is no policy of version {version}")
        unpacked = self._thinker.map(from_blob, (newest.blob, oldest.blob))
        return next(unpacked), next(unpacked)

    def _is_due(self, project: Project) -> bool:
        new = project.seq - project.watermark
        if new <= 0:
            return False
        last = max(project.planned, self._failed.get(project.id, 0))
        if _now() - last >= AT_LATEST:
            return True
        return project.id not in self._failed and new * SHARE >= project.watermark

    def _say_failed(self, project: Project, error: Exception) -> None:
        self._failed[project.id] = _now()
        if isinstance(error, AskwiseError):
            failure = str(error)
            log("error", "a plan failed", project=project.name, error=failure)
        else:
            failure = f"{type(error).__name__}: see the log"
            log_failure("a plan failed", error)
        self._ledger.plan_failed(project.id, failure)

    def _lease(self) -> Lease:
        return self._ledger.lease(self._holder, _now(), _now() + LEASE)

    def _keep_lease(self) -> None:
        """A plan may take longer than a lease: say meanwhile that we are still at it."""
        while not self._stop.wait(LEASE / 3e6):
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
