"""The calls under /v1: each checks its input, asks the house, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter

import msgspec

from askwise.service.dashboard.explanations import Reasons
from askwise.service.dashboard.summaries import (
    awaited,
    bought,
    case_story,
    pages_of_lines,
    project_answer,
    summary,
)
from askwise.service.decisions.creating import creation_of
from askwise.service.decisions.transactions import Answer, Creation, Result
from askwise.service.http.bodies import check_depth, read_body, whole_number
from askwise.service.http.case_handlers import Deciding, Target, key_of, one
from askwise.service.http.live import changes
from askwise.service.http.messages import (
    NewProject,
    TokenAnswer,
)
from askwise.service.http.problems import Refusal
from askwise.service.http.requests import Request, Response
from askwise.service.ledger.contract import Project, StoredCase
from askwise.service.operations.logging import log
from askwise.service.operations.project_store import House
from askwise.service.replanning.replanner import stand_back
from askwise.service.replanning.versions import Planned

_encode = msgspec.json.Encoder().encode

NEW_PROJECT = msgspec.json.Decoder(NewProject)

MOST_MAKING = 16
"""Projects that are being created, or wait for it; beyond, the answer is 503."""


class Routes(Deciding):
    """The handlers; the table that leads to them is in `service/http/app.py`."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._reasons = Reasons()
        self._maker = ThreadPoolExecutor(1, "maker", initializer=stand_back)
        """Makes new projects, one after the other: those who read have threads of their own."""
        self._making = 0
        self.is_closing = asyncio.Event()

    def close(self) -> None:
        """Read no more."""
        self._readers.shutdown(cancel_futures=True)
        self._maker.shutdown(cancel_futures=True)
        self._reasons.close()

    # --- cases -----------------------------------------------------------------------------------

    async def case(self, request: Request, target: Target) -> Response:
        """One case."""
        request.arguments()
        return await self.aside(self._case, target)

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
        return await self.aside(self._cases, target, before, limit)

    def _cases(self, target: Target, before: int, limit: int) -> Response:
        project = self.house.project(target.project)
        return self._stories(project, self.house.ledger.latest_cases(project.id, before, limit))

    async def awaited(self, request: Request, target: Target) -> Response:
        """The cases that wait longest for their reward."""
        limit = whole_number(request.arguments("limit").get("limit", "50"), "limit", 1, 500)
        return await self.aside(self._awaited, target, limit)

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
        key = key_of(request)
        if self._making >= MOST_MAKING:
            raise Refusal(503, "too many projects are being created, nothing was written", retry=1)
        self._making += 1
        try:
            body, token, creation = await self._loop.run_in_executor(
                self._maker, _made, key, request
            )
        finally:
            self._making -= 1
        answered: asyncio.Future[Result] = self._loop.create_future()
        self.house.writer.submit(
            [creation], lambda results: self.deliver(answered, itemgetter(0), results)
        )
        result = await answered
        if isinstance(result, Answer) and result.is_new:
            log("info", "project created", project=body.name, token=creation.token.id)
            await self.aside(self.house.tokens.renew)
            shown = msgspec.json.decode(result.body) | {"token": token}
            return Response(201, _encode(shown))
        return one([result])

    async def projects(self, request: Request, target: Target) -> Response:
        """All projects that the token is for."""
        request.arguments()
        return await self.aside(self._projects, target.token.project)

    def _projects(self, only: str) -> Response:
        projects = [p for p in self.house.ledger.projects() if not only or p.name == only]
        return _ok({"projects": [project_answer(p) for p in projects]})

    async def project(self, request: Request, target: Target) -> Response:
        """One project."""
        request.arguments()
        return await self.aside(lambda: _ok(project_answer(self.house.project(target.project))))

    async def policy(self, request: Request, target: Target) -> Response:
        """The policy as a tree."""
        given = request.arguments("version")
        found = await self.aside(self._planned, target, given.get("version"))
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
        answer = await self._reasons.worth(*await self.aside(self._planned, target))
        counts = await self.aside(self._bought, target)
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
        return await self.aside(
            lambda: _ok(summary(house.ledger, house.desk(house.project(target.project))))
        )

    async def events(self, request: Request, target: Target) -> Response:
        """All events, a line each."""
        after = whole_number(request.arguments("after").get("after", "0"), "after", 0, 2**53)
        project = await self.aside(self.house.project, target.project)
        stream = self._event_lines(project, after)
        return Response(200, kind="application/x-ndjson", stream=stream)

    async def _event_lines(self, project: Project, after: int) -> AsyncIterator[bytes]:
        pages = pages_of_lines(self.house.ledger, project, after)
        while (page := await self.aside(next, pages, None)) is not None:
            yield page

    async def live(self, request: Request, target: Target) -> Response:
        """What changes, as it changes."""
        request.arguments()
        await self.aside(self.house.project, target.project)
        stream = changes(self.house, target.project, target.token, self.is_closing)
        return Response(200, kind="text/event-stream", stream=stream)


def _made(key: str, request: Request) -> tuple[NewProject, str, Creation]:
    """In a thread: a body of a megabyte takes long to read, and a large project long to plan."""
    check_depth(request.body)
    body = read_body(request, NEW_PROJECT)
    return body, *creation_of(key, body)


def _ok(value: object) -> Response:
    return Response(200, _encode(value))
