"""One thread writes: what waits is decided together and committed together.

A group is one transaction; `commit_groups.py` says how it is decided. Should it fail, and not
because the database is gone, a request in it is at fault. Then the transaction is rolled back, and
each half of the group is tried again separately, until the request that fails is alone. It is
refused, and all others are written. Answers leave after the commit.

Projects take turns in a group, and a large batch is written in parts, so that a project with many
requests does not hold up the others for long. The requests of one project are written in the order
in which they came.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from askwise.errors import LedgerDataError, LedgerError, LedgerUnavailableError
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import CommitGroup, Job, Operation
from askwise.service.decisions.jobs import Result, StaleProjectError
from askwise.service.decisions.stored_cases import CachedCase
from askwise.service.ledger.contract import Ledger
from askwise.service.logging import log, log_failure
from askwise.service.replanning.policy_versions import PolicyCache

MOST_WAITING = 10_000
"""Requests in the queue; beyond, the answer is 503."""

LARGEST_GROUP = 2_000
"""Requests in a group."""

PART = 100
"""Requests of a batch that are written together: other projects wait for one part at most. Each
request of a batch has its own key and its own answer, so parts are as good as the whole."""

Deliver = Callable[[list[Result]], None]


class Writer:
    """The thread that writes, and the queue of requests that wait for it."""

    def __init__(self, ledger: Ledger, policy_cache: PolicyCache) -> None:
        self._ledger = ledger
        self._policy_cache = policy_cache
        self._deciders: dict[str, CaseDecider] = {}
        self._queues: dict[str, deque[tuple[Sequence[Job], Deliver]]] = {}
        """The waiting requests by project. The project whose turn it is comes first."""
        self._size = 0
        self._wake = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.groups = 0
        """The number of committed transactions."""
        self.committed = 0
        """The number of committed requests."""
        self.wrote = self.failed = 0.0
        """When the ledger was written last, and when that failed last; by the monotonic clock."""

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def stop(self) -> None:
        """Write all that was accepted, then end the thread."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """The number of requests in the queue."""
        return self._size

    def in_memory(self, project: str, case: int) -> CachedCase | None:
        """The case, if this thread has it with its policy; any thread may ask."""
        decider = self._deciders.get(project)
        return None if decider is None else decider.cached_case(case)

    def submit(self, jobs: Sequence[Job], deliver: Deliver) -> None:
        """Queues requests to be decided and written. `deliver` is called in the thread, after the
        commit.
        """
        with self._wake:
            if self._is_closing:
                raise Refusal(503, "the server is shutting down, nothing was written", retry=1)
            if self._size and self._size + len(jobs) > MOST_WAITING:
                raise Refusal(503, "too many requests wait, nothing was written", retry=1)
            self._size += len(jobs)
            project = next((job.project for job in jobs if isinstance(job, Operation)), "")
            parts = [jobs[k : k + PART] for k in range(0, len(jobs), PART)] or [jobs]
            deliver = deliver if len(parts) == 1 else _when_complete(len(jobs), deliver)
            self._queues.setdefault(project, deque()).extend((part, deliver) for part in parts)
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queues and not self._is_closing:
                    self._wake.wait()
                if not self._queues:
                    return
                taken = self._take()
            results = iter(self.commit([job for jobs, _ in taken for job in jobs]))
            for jobs, deliver in taken:
                try:
                    deliver([next(results) for _ in jobs])
                except Exception as error:  # the client that waited is gone
                    log_failure("an answer could not be delivered", error)

    def _take(self) -> list[tuple[Sequence[Job], Deliver]]:
        """A group of what waits, from one project after the other."""
        taken: list[tuple[Sequence[Job], Deliver]] = []
        later: dict[str, deque[tuple[Sequence[Job], Deliver]]] = {}
        """The projects that go on in the next group, because a part of a batch was taken."""
        size = 0
        while self._queues and (not taken or size < LARGEST_GROUP):
            project = next(iter(self._queues))
            queue = self._queues.pop(project)
            taken.append(queue.popleft())
            size += len(taken[-1][0])
            if queue:
                (later if len(taken[-1][0]) >= PART else self._queues)[project] = queue
        self._queues |= later
        self._size -= size
        return taken

    def commit(self, jobs: Sequence[Job]) -> list[Result]:
        """Decide and write all of them, in order; an answer or a refusal for each."""
        results: list[Result] = []
        parts = [jobs]
        """The remaining parts, with the first one last."""
        while parts:
            part = parts.pop()
            try:
                results += self._write(part)
            except LedgerUnavailableError as error:
                self.failed = time.monotonic()
                left = len(jobs) - len(results)
                log("error", "a group could not be written", error=str(error), requests=left)
                return results + [_unavailable()] * left
            except Exception as error:
                if len(part) == 1:
                    results.append(_refusal(error))
                else:
                    half = len(part) // 2
                    parts += [part[half:], part[:half]]
        return results

    def _write(self, jobs: Sequence[Job]) -> list[Result]:
        """Decide and write all of them as one transaction, or none."""
        try:
            results = self._write_group(jobs)
        except StaleProjectError:  # projects were renamed or removed since they were read
            self._deciders.clear()
            results = self._write_group(jobs)
        self.wrote = time.monotonic()
        self.groups += 1
        self.committed += len(jobs)
        return results

    def _write_group(self, jobs: Sequence[Job]) -> list[Result]:
        group = CommitGroup(jobs, self._find_decider, self._policy_cache)
        group.decide_ahead(self._ledger)
        with self._ledger.transaction() as transaction:
            return group.write(transaction)

    def _find_decider(self, name: str) -> CaseDecider | None:
        decider = self._deciders.get(name)
        if decider is None:
            project = self._ledger.project(name)
            if project is not None:
                find = partial(self._policy_cache.version_or_thin, project.id)
                decider = self._deciders[name] = CaseDecider(project, find)
        return decider


def _when_complete(size: int, deliver: Deliver) -> Deliver:
    """Delivers the results of a batch once all of its parts are written."""
    results: list[Result] = []

    def take(more: list[Result]) -> None:
        results.extend(more)
        if len(results) == size:
            deliver(results)

    return take


def _unavailable() -> Refusal:
    why = "the ledger cannot be written now; try again with the same key"
    return Refusal(503, why, retry=1)


def _refusal(error: Exception) -> Refusal:
    """Returns the refusal of a request that fails alone."""
    if isinstance(error, LedgerDataError):
        log("error", "a request does not fit into the ledger", error=str(error))
        return Refusal(422, "the ledger cannot hold what this asks for; nothing was written")
    if isinstance(error, LedgerError):
        log("error", "a request could not be written", error=str(error))
        return _unavailable()
    log_failure("a request could not be decided", error)
    return Refusal(500, "this request could not be decided; nothing was written")
