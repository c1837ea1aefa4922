"""The calls under /v1: each checks its input, asks the house, and answers."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from askwise.service.creating import creation_of
from askwise.service.desk import Desk
from askwise.service.desk import Request as CaseRequest
from askwise.service.errors import Refusal
from askwise.service.groups import Answer, Job, Operation, Result
from askwise.service.house import House
from askwise.service.http import Answering, Request, Response, refused
from askwise.service.ledger.contract import Project, StoredCase, StoredToken
from askwise.service.limits import check_depth, read_body, whole_number
from askwise.service.live import changes
from askwise.service.logs import log
from askwise.service.messages import (
    BatchItem,
    Cancelling,
    NewProject,
    Observing,
    Opening,
    Rewarding,
    TokenAnswer,
)
from askwise.service.policies import Planned
from askwise.service.readings import (
    awaited,
    bought,
    case_story,
    pages_of_lines,
    project_answer,
    summary,
)
from askwise.service.reasons import Reasons
from askwise.service.tokens import EVERYTHING

T = TypeVar("T")

_KEY = re.compile(rb"[!-~]{1,200}")
_encode = msgspec.json.Encoder().encode

OPENING = msgspec.json.Decoder(Opening)
OBSERVING = msgspec.json.Decoder(Observing)
REWARDING = msgspec.json.Decoder(Rewarding)
CANCELLING = msgspec.json.Decoder(Cancelling)
BATCH = msgspec.json.Decoder(list[BatchItem])
NEW_PROJECT = msgspec.json.Decoder(NewProject)


class Target(NamedTuple):
    """What a path names."""

    project: str
    case: int
    token: StoredToken = EVERYTHING
    """Of whoever asks."""


class Routes:
    """The handlers; the table that leads to them is in `app.py`."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._loop = asyncio.get_running_loop()
        self._readers = ThreadPoolExecutor(4, "reader")
        self._reasons = Reasons()
        self._outbox: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self.is_closing = asyncio.Event()

    def close(self) -> None:
        """Read no more."""
        self._readers.shutdown()
        self._reasons.close()

    # --- cases -----------------------------------------------------------------------------------

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
        job = Operation(target.project, _key(request), target.case, body)
        return self._decide([job], _one)

    def batch(self, request: Request, target: Target) -> Answering:
        """Many of those, each with its own key."""
        items = read_body(request, BATCH)
        most = self.house.settings.most_items
        if not 1 <= len(items) <= most:
            raise Refusal(422, f"a batch has 1 to {most:,} items, got {len(items):,}", "#")
        jobs = [_operation(target.project, k, item) for k, item in enumerate(items)]
        return self._decide(jobs, _several)

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
            await self._aside(self.house.prepare, desk, openings)
        return await self._write(jobs, render)

    def _write(
        self, jobs: Sequence[Job], render: Callable[[list[Result]], Response]
    ) -> asyncio.Future[Response]:
        future: asyncio.Future[Response] = self._loop.create_future()
        self.house.writer.submit(jobs, lambda results: self._deliver(future, render, results))
        return future

    def _deliver(
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

    async def case(self, request: Request, target: Target) -> Response:
        """One case."""
        request.arguments()
        return await self._aside(self._case, target)

    def _case(self, target: Target) -> Response:
        house = self.house
        project = house.project(target.project)
        found = house.ledger.case(project.id, target.case)
        if found is None:
            raise Refusal(404, f"there is no case {target.case} in {project.name!r}", "path:case")
        return _ok(case_story(house.desk(project), found))

    async def cases(self, request: Request, target: Target) -> Response:
        """The newest cases."""
        given = request.arguments("before", "limit")
        before = whole_number(given.get("before", str(2**53)), "before", 1, 2**53)
        limit = whole_number(given.get("limit", "50"), "limit", 1, 500)
        return await self._aside(self._cases, target, before, limit)

    def _cases(self, target: Target, before: int, limit: int) -> Response:
        project = self.house.project(target.project)
        return self._stories(project, self.house.ledger.latest_cases(project.id, before, limit))

    async def awaited(self, request: Request, target: Target) -> Response:
        """The cases that wait longest for their reward."""
        limit = whole_number(request.arguments("limit").get("limit", "50"), "limit", 1, 500)
        return await self._aside(self._awaited, target, limit)

    def _awaited(self, target: Target, limit: int) -> Response:
        project = self.house.project(target.project)
        return self._stories(project, awaited(self.house.ledger, project.id, limit))

    def _stories(self, project: Project, cases: Sequence[StoredCase]) -> Response:
        desk = self.house.desk(project)
        return _ok({"cases": [case_story(desk, case) for case in cases]})

    # --- projects --------------------------------------------------------------------------------

    def token(self, request: Request, target: Target) -> Response:
        """What whoever asks may do."""
        request.arguments()
        return _ok(TokenAnswer(target.token.scope, target.token.project or None))

    async def create(self, request: Request, target: Target) -> Response:
        """A new project; its first policy is planned aside, before it exists."""
        key = _key(request)
        check_depth(request.body)
        body = read_body(request, NEW_PROJECT)
        token, creation = await self._aside(creation_of, key, body)
        answered: asyncio.Future[Result] = self._loop.create_future()
        self.house.writer.submit(
            [creation], lambda results: self._deliver(answered, itemgetter(0), results)
        )
        result = await answered
        if isinstance(result, Answer) and result.is_new:
            log("info", "project created", project=body.name, token=creation.token.id)
            await self._aside(self.house.tokens.renew)
            shown = msgspec.json.decode(result.body) | {"token": token}
            return Response(201, _encode(shown))
        return _one([result])

    async def projects(self, request: Request, target: Target) -> Response:
        """All projects."""
        request.arguments()
        return await self._aside(
            lambda: _ok({"projects": [project_answer(p) for p in self.house.ledger.projects()]})
        )

    async def project(self, request: Request, target: Target) -> Response:
        """One project."""
        request.arguments()
        return await self._aside(lambda: _ok(project_answer(self.house.project(target.project))))

    async def policy(self, request: Request, target: Target) -> Response:
        """The policy as a tree."""
        given = request.arguments("version")
        found = await self._aside(self._planned, target, given.get("version"))
        return _ok(await self._reasons.tree(*found))

    def _planned(self, target: Target, version: str | None = None) -> tuple[int, Planned]:
        project = self.house.project(target.project)
        number = project.version
        if version is not None:
            number = whole_number(version, "version", 1, project.version)
        return project.id, self.house.versions.version(project.id, number)

    async def worth(self, request: Request, target: Target) -> Response:
        """What each observation is worth."""
        request.arguments()
        answer = await self._reasons.worth(*await self._aside(self._planned, target))
        counts = await self._aside(self._bought, target)
        observations = [
            msgspec.structs.replace(o, bought=counts[o.name]) for o in answer.observations
        ]
        return _ok(msgspec.structs.replace(answer, observations=observations))

    def _bought(self, target: Target) -> dict[str, int]:
        return bought(self.house.ledger, self.house.desk(self.house.project(target.project)))

    async def summary(self, request: Request, target: Target) -> Response:
        """What was earned and spent."""
        request.arguments()
        house = self.house
        return await self._aside(
            lambda: _ok(summary(house.ledger, house.desk(house.project(target.project))))
        )

    async def events(self, request: Request, target: Target) -> Response:
        """All events, a line each."""
        after = whole_number(request.arguments("after").get("after", "0"), "after", 0, 2**53)
        project = await self._aside(self.house.project, target.project)
        stream = self._event_lines(project, after)
        return Response(200, kind="application/x-ndjson", stream=stream)

    async def _event_lines(self, project: Project, after: int) -> AsyncIterator[bytes]:
        pages = pages_of_lines(self.house.ledger, project, after)
        while (page := await self._aside(next, pages, None)) is not None:
            yield page

    async def live(self, request: Request, target: Target) -> Response:
        """What changes, as it changes."""
        request.arguments()
        await self._aside(self.house.project, target.project)
        stream = changes(self.house, target.project, self.is_closing)
        return Response(200, kind="text/event-stream", stream=stream)

    async def _aside(self, call: Callable[..., T], *arguments: Any) -> T:
        """In a thread of its own, so that nobody else waits."""
        return await self._loop.run_in_executor(self._readers, call, *arguments)


def _operation(project: str, place: int, item: BatchItem) -> Operation:
    missing = (item.open is None) + (item.observations is None)
    if missing + (item.reward is None) + (item.cancel is None) != 3:
        raise Refusal(422, "expected just one of open, observations, reward, cancel", f"#/{place}")
    if (item.open is None) == (item.case is None):
        what = "a new case has no number yet" if item.open else "the number of the case is missing"
        raise Refusal(422, what, f"#/{place}/case")
    body = item.open or item.observations or item.reward or item.cancel
    assert body is not None
    return Operation(project, item.key, item.case or 0, body)


def _key(request: Request) -> str:
    key = request.headers.get(b"idempotency-key")
    if key is None or not _KEY.fullmatch(key):
        raise Refusal(
            400,
            "header Idempotency-Key is missing, or not 1 to 200 printable characters of ASCII",
            "header:Idempotency-Key",
        )
    return key.decode("ascii")


def _ok(value: object) -> Response:
    return Response(200, _encode(value))


def _one(results: list[Result]) -> Response:
    (result,) = results
    if isinstance(result, Refusal):
        return refused(result)
    return Response(result.status, result.body)


def _several(results: list[Result]) -> Response:
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
