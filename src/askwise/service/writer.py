"""One thread writes: what waits is decided together and committed together.

A group is one transaction. Its requests are decided in memory, in the order they came, and only
what was decided is written; so a request that is refused has touched nothing, and the others do not
notice. Should one fail in a way that nobody foresaw, the transaction is taken back and each request
of the group is tried again by itself. Answers leave after the commit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from askwise.errors import LedgerError
from askwise.service.desk import KINDS, Desk, Request, Step
from askwise.service.errors import Refusal
from askwise.service.ledger.contract import (
    HOUSE,
    Event,
    Head,
    Ledger,
    Plan,
    Project,
    StoredCase,
    StoredToken,
    Writing,
)
from askwise.service.logs import log, log_failure
from askwise.service.messages import Observing, Opening, Rewarding
from askwise.service.policies import Versions

MOST_WAITING = 10_000
"""Requests; beyond, the answer is 503."""

MOST_TOGETHER = 512
"""Requests in a group; a batch is not torn apart."""

_encode = msgspec.json.Encoder().encode


class Operation(NamedTuple):
    """A request about a case."""

    project: str
    key: str
    case: int
    """0 for one that is to be opened."""
    body: Request


class Creation(NamedTuple):
    """A request for a new project, whose first policy is planned already."""

    key: str
    body: bytes
    project: Project
    plan: Plan
    token: StoredToken
    answer: bytes
    """Without the token: that is shown once, and kept nowhere."""


Job = Operation | Creation


class Answer(NamedTuple):
    """What was committed."""

    status: int
    body: bytes
    is_new: bool = True
    """Whether it was decided just now; else it is the answer that was given before."""


Result = Answer | Refusal
Deliver = Callable[[list[Result]], None]


class _Sheet:
    """What a group writes in one project."""

    def __init__(self, desk: Desk, head: Head) -> None:
        self.desk = desk
        self.head = head
        self.answered: dict[str, Event] = {}
        self.cases: dict[int, StoredCase] = {}
        self.paid: dict[tuple[int, int], int] = {}
        self.events: list[Event] = []
        self.touched: dict[int, StoredCase] = {}


class Writer:
    """The thread, and what waits for it."""

    def __init__(self, ledger: Ledger, versions: Versions) -> None:
        self._ledger = ledger
        self._versions = versions
        self._desks: dict[str, Desk] = {}
        self._waiting: deque[tuple[Sequence[Job], Deliver]] = deque()
        self._size = 0
        self._wake = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.groups = 0
        """How many transactions were committed."""
        self.committed = 0
        """How many requests were."""

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Finish all that was accepted, then end."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._size

    def submit(self, jobs: Sequence[Job], deliver: Deliver) -> None:
        """Have them decided and written; `deliver` is called in the thread, after the commit."""
        with self._wake:
            if self._is_closing:
                raise Refusal(503, "the server is shutting down, nothing was written", retry=1)
            if self._size and self._size + len(jobs) > MOST_WAITING:
                raise Refusal(503, "too many requests wait, nothing was written", retry=1)
            self._size += len(jobs)
            self._waiting.append((jobs, deliver))
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._is_closing:
                    self._wake.wait()
                if not self._waiting:
                    return
                taken: list[tuple[Sequence[Job], Deliver]] = []
                size = 0
                while self._waiting and (not taken or size < MOST_TOGETHER):
                    taken.append(self._waiting.popleft())
                    size += len(taken[-1][0])
                self._size -= size
            results = iter(self.commit([job for jobs, _ in taken for job in jobs]))
            for jobs, deliver in taken:
                try:
                    deliver([next(results) for _ in jobs])
                except Exception as error:  # whoever waited is gone
                    log_failure("an answer could not be delivered", error)

    def commit(self, jobs: Sequence[Job]) -> list[Result]:
        """Decide and write all of them; an answer or a refusal for each."""
        try:
            with self._ledger.writing() as writing:
                results = self._decide(jobs, writing)
        except LedgerError as error:
            log("error", "a group could not be written", error=str(error), requests=len(jobs))
            why = "the ledger cannot be written now; try again with the same key"
            return [Refusal(503, why, retry=1)] * len(jobs)
        except Exception as error:
            if len(jobs) > 1:
                return [result for job in jobs for result in self.commit([job])]
            log_failure("a request could not be decided", error)
            return [Refusal(500, "this request could not be decided; nothing was written")]
        self.groups += 1
        self.committed += len(jobs)
        return results

    # --- a group ---------------------------------------------------------------------------------

    def _decide(self, jobs: Sequence[Job], writing: Writing) -> list[Result]:
        at = time.time_ns() // 1000
        sheets = self._sheets(jobs, writing)
        results: list[Result] = []
        for job in jobs:
            try:
                if isinstance(job, Creation):
                    results.append(self._create(job, writing, at))
                    continue
                sheet = sheets.get(job.project)
                if sheet is None:
                    raise Refusal(404, f"there is no project {job.project!r}", "path:project")
                results.append(self._answer(job, sheet, at))
            except Refusal as refusal:
                results.append(refusal)
        for sheet in sheets.values():
            if sheet.events:
                increments = sheet.desk.counting.increments()
                cases = list(sheet.touched.values())
                project = sheet.desk.project.id
                writing.append(project, sheet.head, sheet.events, cases, increments)
        return results

    def _sheets(self, jobs: Sequence[Job], writing: Writing) -> dict[str, _Sheet]:
        wanted: dict[str, list[Operation]] = {}
        for job in jobs:
            if isinstance(job, Operation):
                wanted.setdefault(job.project, []).append(job)
        desks = {name: desk for name in wanted if (desk := self._desk(name)) is not None}
        ids = [desk.project.id for desk in desks.values()]
        creates = any(isinstance(job, Creation) for job in jobs)
        heads = writing.lock([HOUSE, *ids] if creates else ids)
        sheets = {}
        for name, desk in desks.items():
            sheet = sheets[name] = _Sheet(desk, heads[desk.project.id])
            desk.counting.begin()
            project, operations = desk.project.id, wanted[name]
            sheet.answered = writing.answered(project, [o.key for o in operations])
            numbers = {o.case for o in operations if o.case and o.key not in sheet.answered}
            sheet.cases = writing.cases(project, sorted(numbers))
            if any(isinstance(o.body, Observing) and o.body.paid for o in operations):
                sheet.paid = writing.amounts(project, "paid_sums")
        return sheets

    def _answer(self, job: Operation, sheet: _Sheet, at: int) -> Answer:
        kind, body = KINDS[type(job.body)], _encode(job.body)
        before = sheet.answered.get(job.key)
        if before is not None:
            return _same(before, kind, job.case, body)
        head, number = sheet.head, job.case or sheet.head.opened + 1
        step = self._step(job, sheet, number, at)
        event = Event(head.seq + 1, job.key, kind, number, body, step.status, step.answer, at)
        opened = head.opened + (kind == "open")
        sheet.head = Head(event.seq, opened, head.version)
        sheet.events.append(event)
        sheet.answered[job.key] = event
        sheet.cases[number] = sheet.touched[number] = step.case
        return Answer(step.status, step.answer)

    def _step(self, job: Operation, sheet: _Sheet, number: int, at: int) -> Step:
        desk, body, project = sheet.desk, job.body, sheet.desk.project.id
        if isinstance(body, Opening):
            planned = self._versions.newest(project, sheet.head.version)
            return desk.open(number, planned, body, at)
        stored = sheet.cases.get(number)
        if stored is None:
            raise Refusal(404, f"there is no case {number} in {job.project!r}", "path:case")
        kept = desk.take(stored, partial(self._versions.version, project))
        if isinstance(body, Observing):
            return desk.observe(kept, body, at, sheet.paid)
        if isinstance(body, Rewarding):
            return desk.reward(kept, body, at)
        return desk.cancel(kept, at)

    def _create(self, job: Creation, writing: Writing, at: int) -> Answer:
        head = writing.lock([HOUSE])[HOUSE]
        before = writing.answered(HOUSE, [job.key]).get(job.key)
        if before is not None:
            return _same(before, "create", 0, job.body)
        if writing.create(job.project, job.plan) is None:
            name = job.project.name
            raise Refusal(409, f"there is a project {name!r} already", "#/name")
        event = Event(head.seq + 1, job.key, "create", 0, job.body, 201, job.answer, at)
        writing.append(HOUSE, head._replace(seq=event.seq), [event], [], [])
        writing.add_token(job.token)
        return Answer(201, job.answer)

    def _desk(self, name: str) -> Desk | None:
        desk = self._desks.get(name)
        if desk is None:
            project = self._ledger.project(name)
            if project is not None:
                desk = self._desks[name] = Desk(project)
        return desk


def _same(before: Event, kind: str, case: int, body: bytes) -> Answer:
    """The answer that this key was given, if it was asked the same."""
    asked = before.kind, 0 if kind in ("open", "create") else before.case, before.body
    if asked != (kind, case, body):
        raise Refusal(
            409,
            "this idempotency key was used for another request; a new request needs a new key",
            "header:Idempotency-Key",
        )
    return Answer(before.status, before.answer, is_new=False)
