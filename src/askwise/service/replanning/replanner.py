"""Plans in the background: counters at a watermark in, version v + 1 out, if v is still current.

Any number of replanners may run. The one that holds the lease plans. It takes the lease when there
is something to plan, renews it while it plans, and then lets it expire. So an idle service writes
nothing. If the holder stalls so long that another replanner takes over, its fencing number is not
the newest any more, and its plan is dropped. A plan that fails leaves the policy as it is, and the
project shows the error.
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

import msgspec

from askwise.errors import AskwiseError, LedgerError, LedgerUnavailableError
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.problem import Problem
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import DAY, MEMORY
from askwise.service.ledger.rows import LEASE, Lease, Project, Snapshot, StoredPolicy
from askwise.service.logging import SparseLog, log, log_failure
from askwise.service.priority import lower_priority
from askwise.service.replanning.memory import (
    Blocks,
    Memory,
    forget_event,
    memory_increments,
    memory_of,
)
from askwise.service.replanning.outlook import Lookout
from askwise.service.replanning.policy_versions import newest_readable, next_plan
from askwise.service.replanning.thinning import THINNED_EVERY, thin

RENEWED_BELOW = LEASE // 2
"""A lease that is valid for fewer microseconds than this is renewed."""

CHECKED_EVERY = 0.25
"""Seconds between two checks for projects that are due."""

NEW_SHARE = 100
"""A plan is due when the new events are at least one in so many of those planned with,"""

LATEST = 60_000_000
"""or after so many microseconds, if any event is new."""

PURGED = 2_000
"""Rows of removed projects that are deleted at a time, when there is nothing to plan."""

MOST_KEPT = 16
"""Projects whose learners are kept in memory."""


class Replanner:
    """Keeps the policies of all projects up to date."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._failed: dict[int, float] = {}
        """When a project's plan failed last, by the monotonic clock."""
        self._kept: OrderedDict[int, tuple[int, BaseLearner, BaseLearner]] = OrderedDict()
        """By project: the newest version planned here, its learner, and the first learner."""
        self._stop = threading.Event()
        self._is_planning = threading.Event()
        self._planning_thread = ThreadPoolExecutor(1, "planning", initializer=lower_priority)
        self._lookout = Lookout(ledger)
        self._plans = SparseLog()  # a young project is planned for several times a second

    def run(self) -> None:
        """Plan for the projects that are due, until stopped."""
        keeper = threading.Thread(target=self._keep_lease, name="lease", daemon=True)
        keeper.start()
        while not self._stop.wait(CHECKED_EVERY):
            try:
                self.step()
            except LedgerError as error:
                log("error", "the replanner cannot reach the ledger", error=str(error))
                self._stop.wait(1.0)
        keeper.join()
        self._lookout.close()
        with contextlib.suppress(LedgerError):  # the lease expires by itself
            self._ledger.release_lease(self._holder)

    def stop(self) -> None:
        """Makes `run` end after the current plan."""
        self._stop.set()

    def step(self) -> int:
        """Plan for all due projects, if we hold the lease; returns how many were published."""
        projects = self._ledger.projects()
        due = [project for project in projects if self._is_due(project)]
        if not due and not self._lookout.wants(projects):
            self._ledger.purge(PURGED)
            return 0
        lease = self._lease()
        if lease.holder != self._holder:
            return 0
        self._is_planning.set()
        try:
            self._lookout.look(projects)
            return sum(self.plan(project, lease.fence) for project in due)
        finally:
            self._is_planning.clear()

    def plan(self, project: Project, fence: int) -> bool:
        """Make and publish the next version; returns whether it was published."""
        began = time.perf_counter()
        try:
            now = self._ledger.snapshot(project.id)
            learner, first = self._learners(project.id, now.version)
            if self._end_blocks(project, now, first, fence):
                now = self._ledger.snapshot(project.id)
            declared = msgspec.json.decode(project.problem, type=Problem)
            planned = self._planning_thread.submit(next_plan, learner, now, first, declared)
            blob = planned.result()
            policy = StoredPolicy(
                version=now.version + 1, watermark=now.seq, fence=fence, at=_now(), blob=blob
            )
            with self._ledger.transaction() as transaction:
                is_ours = transaction.publish(project.id, policy)
        except LedgerUnavailableError:
            raise  # the database is at fault, not this project
        except Exception as error:
            self._record_failure(project, error)
            return False
        self._failed.pop(project.id, None)
        if is_ours:
            self._kept[project.id] = (policy.version, learner, first)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        seconds = round(time.perf_counter() - began, 3)
        if is_ours and policy.version % THINNED_EVERY == 0:
            self._thin(project._replace(version=policy.version, opened=now.opened))
        what = "planned" if is_ours else "a plan came too late"
        self._plans.log("info", what, project=project.name, version=policy.version, seconds=seconds)
        return is_ours

    def _thin(self, project: Project) -> None:
        """Thin the old versions. If this fails, it is tried again later."""
        try:
            done = self._planning_thread.submit(thin, self._ledger, project).result()
        except LedgerError as error:
            log("error", "policies could not be thinned", project=project.name, error=str(error))
            return
        log("info", "thinned", project=project.name, versions=done.versions, bytes=done.saved)

    def _end_blocks(self, project: Project, now: Snapshot, start: BaseLearner, fence: int) -> bool:
        """Write an event for each block of cases that is over; returns whether there was any."""
        blocks = Blocks.of(start)
        if blocks is None:
            return False
        known = rounds_of(start).now.statistics
        examined = self._planning_thread.submit(
            lambda: list(blocks.examine(start, now, known))
        ).result()
        if not examined:
            return False
        with self._ledger.transaction() as transaction:
            head = transaction.lock([project.id])[project.id]
            memory = Memory.of(transaction.counter_values(project.id, MEMORY))
            if not transaction.holds_lease(fence) or memory != memory_of(now):
                return False
            for end, after in examined:
                event = forget_event(head.seq + 1, end, _now())
                head = head._replace(seq=event.seq)
                day = event.at // DAY
                added = memory_increments(memory, after, day, drift=end.drift)
                transaction.append(project.id, head, [event], [], added)
                for kind, into in blocks.moves(memory, after):
                    transaction.move_counters(project.id, kind, into)
                memory = after
                if end.drift:
                    what = "a change was found, and all before it is forgotten"
                    log("warning", what, project=project.name, block=end.first)
        return True

    def _learners(self, project: int, version: int) -> tuple[BaseLearner, BaseLearner]:
        """The learner of a version, which the caller may change, and that of the first version.

        Unpacking them takes longer than most plans, so the learners planned here are kept.
        """
        kept, learner, first = self._kept.pop(project, (0, None, None))
        if kept == version and learner is not None and first is not None:
            return learner, first
        unpacked = self._planning_thread.map(
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
            return time.monotonic() - failed >= LATEST / 1e6
        # a plan from the future was made before the clock was set back, so its age is unknown
        is_fresh = 0 <= _now() - project.planned < LATEST
        return not is_fresh or new * NEW_SHARE >= project.watermark

    def _record_failure(self, project: Project, error: Exception) -> None:
        if all(one.id != project.id for one in self._ledger.projects()):
            return  # it was removed meanwhile, so there is nothing to plan
        self._failed[project.id] = time.monotonic()
        if isinstance(error, AskwiseError):
            failure = str(error)
            log("error", "a plan failed", project=project.name, error=failure)
        else:
            failure = f"{type(error).__name__}: see the log"
            log_failure("a plan failed", error)
        self._ledger.record_plan_failure(project.id, failure.replace("\0", " "))

    def _lease(self) -> Lease:
        """The valid lease; it is taken or renewed only if necessary."""
        before = self._ledger.lease()
        if before.is_good and (before.holder != self._holder or before.left > RENEWED_BELOW):
            return before
        lease = self._ledger.take_lease(self._holder)
        if before.left > LEASE and lease.holder == self._holder:
            seconds = before.left // 1_000_000
            log("error", "a lease was taken over: a clock was set back since", seconds=seconds)
        return lease

    def _keep_lease(self) -> None:
        """Renew the lease while a plan is made, which may take longer than a lease is valid."""
        while not self._stop.wait(LEASE / 3e6):
            if not self._is_planning.is_set():
                continue
            try:
                self._lease()
            except LedgerError as error:
                log("error", "the lease could not be renewed", error=str(error))


def _now() -> int:
    return time.time_ns() // 1000
