"""The calls that change a case: on their way to the writer, and back."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import msgspec

from askwise.service.decisions.deciding import Desk
from askwise.service.decisions.deciding import Request as CaseRequest
from askwise.service.decisions.transactions import Job, Operation, Result
from askwise.service.http.bodies import read_body
from askwise.service.http.messages import BatchItem, Cancelling, Observing, Opening, Rewarding
from askwise.service.http.problems import Refusal
from askwise.service.http.requests import Answering, Request, Response, refused
from askwise.service.ledger.contract import StoredToken
from askwise.service.operations.project_store import House
from askwise.service.operations.tokens import EVERYTHING

T = TypeVar("T")

_KEY = re.compile(rb"[!-~]{1,200}")

OPENING = msgspec.json.Decoder(Opening)
OBSERVING = msgspec.json.Decoder(Observing)
REWARDING = msgspec.json.Decoder(Rewarding)
CANCELLING = msgspec.json.Decoder(Cancelling)
BATCH = msgspec.json.Decoder(list[BatchItem])


class Target(NamedTuple):
    """What a path names."""

    project: str
    case: int
    token: StoredToken = EVERYTHING
    """Of whoever asks."""


class Deciding:
    """Handlers of requests that decide something."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._loop = asyncio.get_running_loop()
        self._readers = ThreadPoolExecutor(4, "reader")
        self._outbox: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def open(self, request: Request, target: Target) -> Answering:
        """A new case."""
        return self._write_one(request, target, read_body(request, OPENING))

    def observe(self, request: Request, target: Target) -> Answering:
        """What was bought showed something."""
        return self._write_one(request, target, read_body(request, OBSERVING))

    def reward(self, request: Request, target: Target) -> Answering:
        """How well it went."""
        return self._write_one(request, target, read_body(request, REWARDING))

    def cancel(self, request: Request, target: Target) -> Answering:
        """The case is abandoned."""
        return self._write_one(request, target, read_body(request, CANCELLING))

    def _write_one(self, request: Request, target: Target, body: CaseRequest) -> Answering:
        job = Operation(target.project, key_of(request), target.case, body)
        return self._decide([job], one)

    def batch(self, request: Request, target: Target) -> Answering:
        """Many of those, each with its own key."""
        items = read_body(request, BATCH)
        most = self.house.settings.most_items
        if not 1 <= len(items) <= most:
            raise Refusal(422, f"a batch has 1 to {most:,} items, got {len(items):,}", "#")
        jobs = [operation_of(target.project, k, item) for k, item in enumerate(items)]
        return self._decide(jobs, several)

    def _decide(
        self, jobs: list[Operation], render: Callable[[list[Result]], Response]
    ) -> Answering:
        """Have them written; first, aside, what must be planned for them alone is planned."""
        desk = self.house.desks.get(jobs[0].project)
        if desk is None or not desk.plans_for_files:
            return self._write(jobs, render)
        return self._plan_and_write(desk, jobs, render)

    async def _plan_and_write(
        self, desk: Desk, jobs: list[Operation], render: Callable[[list[Result]], Response]
    ) -> Response:
        openings = [job.body for job in jobs if isinstance(job.body, Opening) and job.body.known]
        if openings:
            await self.aside(self.house.prepare, desk, openings)
        return await self._write(jobs, render)

    def _write(
        self, jobs: Sequence[Job], render: Callable[[list[Result]], Response]
    ) -> asyncio.Future[Response]:
        future: asyncio.Future[Response] = self._loop.create_future()
        self.house.writer.submit(jobs, lambda results: self.deliver(future, render, results))
        return future

    def deliver(
        self,
        future: asyncio.Future[T],
        render: Callable[[list[Result]], T],
        results: list[Result],
    ) -> None:
        """In the writing thread: waking the loop is dear, so once for all that it finds then."""
        self._outbox.append(lambda: _resolve(future, render(results)))
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._empty_outbox)

    def _empty_outbox(self) -> None:
        self._is_woken = False  # before looking: whoever comes later wakes it again
        while self._outbox:
            self._outbox.popleft()()

    async def aside(self, call: Callable[..., T], *arguments: Any) -> T:
        """In a thread of its own, so that nobody else waits."""
        return await self._loop.run_in_executor(self._readers, call, *arguments)


def operation_of(project: str, place: int, item: BatchItem) -> Operation:
    """What an item of a batch asks."""
    missing = (item.open is None) + (item.observations is None)
    if missing + (item.reward is None) + (item.cancel is None) != 3:
        raise Refusal(422, "expected just one of open, observations, reward, cancel", f"#/{place}")
    if (item.open is None) == (item.case is None):
        what = "a new case has no number yet" if item.open else "the number of the case is missing"
        raise Refusal(422, what, f"#/{place}/case")
    body = item.open or item.observations or item.reward or item.cancel
    assert body is not None
    return Operation(project, item.key, item.case or 0, body)


def key_of(request: Request) -> str:
    """The idempotency key that a request must have."""
    key = request.headers.get(b"idempotency-key")
    if key is None or not _KEY.fullmatch(key):
        raise Refusal(
            400,
            "header Idempotency-Key is missing, or not 1 to 200 printable characters of ASCII",
            "header:Idempotency-Key",
        )
    return key.decode("ascii")


def one(results: list[Result]) -> Response:
    """The answer to a request by itself."""
    (result,) = results
    if isinstance(result, Refusal):
        return refused(result)
    return Response(result.status, result.body)


def several(results: list[Result]) -> Response:
    """The answer to a batch."""
    parts = [
        b'{"status":%d,"problem":%s}' % (r.status, r.encoded())
        if isinstance(r, Refusal)
        else b'{"status":%d,"answer":%s}' % (r.status, r.body)
        for r in results
    ]
    return Response(200, b"[" + b",".join(parts) + b"]")


def _resolve(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)
