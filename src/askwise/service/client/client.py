"""A client for `askwise serve`, waiting or awaiting.

A request that got no answer, or was told to come again, is sent again with the same idempotency
key: however often it arrives, it happens once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx
import msgspec

from askwise.errors import ServiceError
from askwise.problem import Problem
from askwise.service.client import calls
from askwise.service.client.calls import WORTH_RETRYING, Call, wait_before
from askwise.service.http.calls import BatchAnswer
from askwise.service.http.messages import (
    BatchItem,
    CaseAnswer,
    CaseStory,
    EventLine,
    PolicyAnswer,
    ProjectAnswer,
    Seen,
    Summary,
    TokenAnswer,
    WorthAnswer,
)

T = TypeVar("T")


def _options(url: str, token: str, timeout: float) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _no_answer(call: Call[Any], attempts: int, error: Exception) -> ServiceError:
    text = f"{type(error).__name__} {error}".strip()
    return ServiceError(f"{call.method} {call.path}: no answer in {attempts} attempts: {text}")


class Client:
    """Asks a service and waits for its answers.

    retries: how often a request is sent again before that is an error.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 30.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._http = httpx.Client(transport=transport, **_options(url, token, timeout))

    def __enter__(self) -> Self:
        """Open until the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of its connections."""
        self._http.close()

    def create_project(
        self,
        name: str,
        problem: Problem,
        *,
        learner: str = "learner",
        options: Mapping[str, Any] | None = None,
    ) -> ProjectAnswer:
        """A new project; the answer has a token for it, once."""
        return self._do(calls.create_project(name, problem, learner, options or {}))

    def projects(self) -> list[ProjectAnswer]:
        """All projects."""
        return (self._do(calls.projects())).projects

    def project(self, name: str) -> ProjectAnswer:
        """A project as it stands."""
        return self._do(calls.project(name))

    def open(self, project: str, known: Mapping[str, Seen] | None = None) -> CaseAnswer:
        """A new case: what to buy, or the action."""
        return self._do(calls.open_case(project, known))

    def observe(
        self,
        project: str,
        case: int,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
    ) -> CaseAnswer:
        """What was bought showed these values: what next."""
        return self._do(calls.observe(project, case, values, paid))

    def reward(
        self,
        project: str,
        case: int,
        reward: float,
        *,
        default: bool = False,
        replaces: bool = False,
    ) -> CaseAnswer:
        """How well it went; by default, or as a correction."""
        return self._do(calls.reward(project, case, reward, default, replaces))

    def cancel(self, project: str, case: int) -> CaseAnswer:
        """The case is abandoned."""
        return self._do(calls.cancel(project, case))

    def case(self, project: str, case: int) -> CaseStory:
        """A case as it stands."""
        return self._do(calls.case_story(project, case))

    def cases(self, project: str, *, before: int | None = None, limit: int = 50) -> list[CaseStory]:
        """The newest cases; those with a number below `before`."""
        return (self._do(calls.cases(project, before, limit))).cases

    def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """The cases that wait longest for their reward."""
        return (self._do(calls.awaited(project, limit))).cases

    def token(self) -> TokenAnswer:
        """What its token may do."""
        return self._do(calls.token())

    def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Many requests at once; each item has a key of its own."""
        return self._do(calls.batch(project, items))

    def policy(self, project: str) -> PolicyAnswer:
        """The policy as a tree."""
        return self._do(calls.policy(project))

    def worth(self, project: str) -> WorthAnswer:
        """What each observation is worth."""
        return self._do(calls.worth(project))

    def summary(self, project: str) -> Summary:
        """What was earned and spent."""
        return self._do(calls.summary(project))

    def events(self, project: str, *, after: int = 0) -> Iterator[EventLine]:
        """All events with a higher number, as they are read."""
        path = calls.events_path(project, after)
        with self._http.stream("GET", path) as response:
            if response.status_code != 200:
                Call[None]("GET", path, None).read(response.status_code, response.read())
            for line in response.iter_lines():
                yield msgspec.json.decode(line, type=EventLine)

    def _do(self, call: Call[T]) -> T:
        for attempt in range(self.retries + 1):
            is_last = attempt == self.retries
            try:
                response = self._http.request(
                    call.method, call.path, content=call.content, headers=call.headers
                )
            except httpx.TransportError as error:
                if is_last or isinstance(error, httpx.UnsupportedProtocol):
                    raise _no_answer(call, attempt + 1, error) from error
                time.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in WORTH_RETRYING or is_last:
                return call.read(response.status_code, response.content)
            time.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")


class AsyncClient:
    """The same, to be awaited."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 30.0,
        retries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._http = httpx.AsyncClient(transport=transport, **_options(url, token, timeout))

    async def __aenter__(self) -> Self:
        """Open until the block ends."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    async def close(self) -> None:
        """Let go of its connections."""
        await self._http.aclose()

    async def create_project(
        self,
        name: str,
        problem: Problem,
        *,
        learner: str = "learner",
        options: Mapping[str, Any] | None = None,
    ) -> ProjectAnswer:
        """A new project; the answer has a token for it, once."""
        return await self._do(calls.create_project(name, problem, learner, options or {}))

    async def projects(self) -> list[ProjectAnswer]:
        """All projects."""
        return (await self._do(calls.projects())).projects

    async def project(self, name: str) -> ProjectAnswer:
        """A project as it stands."""
        return await self._do(calls.project(name))

    async def open(self, project: str, known: Mapping[str, Seen] | None = None) -> CaseAnswer:
        """A new case: what to buy, or the action."""
        return await self._do(calls.open_case(project, known))

    async def observe(
        self,
        project: str,
        case: int,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
    ) -> CaseAnswer:
        """What was bought showed these values: what next."""
        return await self._do(calls.observe(project, case, values, paid))

    async def reward(
        self,
        project: str,
        case: int,
        reward: float,
        *,
        default: bool = False,
        replaces: bool = False,
    ) -> CaseAnswer:
        """How well it went; by default, or as a correction."""
        return await self._do(calls.reward(project, case, reward, default, replaces))

    async def cancel(self, project: str, case: int) -> CaseAnswer:
        """The case is abandoned."""
        return await self._do(calls.cancel(project, case))

    async def case(self, project: str, case: int) -> CaseStory:
        """A case as it stands."""
        return await self._do(calls.case_story(project, case))

    async def cases(
        self, project: str, *, before: int | None = None, limit: int = 50
    ) -> list[CaseStory]:
        """The newest cases; those with a number below `before`."""
        return (await self._do(calls.cases(project, before, limit))).cases

    async def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """The cases that wait longest for their reward."""
        return (await self._do(calls.awaited(project, limit))).cases

    async def token(self) -> TokenAnswer:
        """What its token may do."""
        return await self._do(calls.token())

    async def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Many requests at once; each item has a key of its own."""
        return await self._do(calls.batch(project, items))

    async def policy(self, project: str) -> PolicyAnswer:
        """The policy as a tree."""
        return await self._do(calls.policy(project))

    async def worth(self, project: str) -> WorthAnswer:
        """What each observation is worth."""
        return await self._do(calls.worth(project))

    async def summary(self, project: str) -> Summary:
        """What was earned and spent."""
        return await self._do(calls.summary(project))

    async def events(self, project: str, *, after: int = 0) -> AsyncIterator[EventLine]:
        """All events with a higher number, as they are read."""
        path = calls.events_path(project, after)
        async with self._http.stream("GET", path) as response:
            if response.status_code != 200:
                Call[None]("GET", path, None).read(response.status_code, await response.aread())
            async for line in response.aiter_lines():
                yield msgspec.json.decode(line, type=EventLine)

    async def _do(self, call: Call[T]) -> T:
        for attempt in range(self.retries + 1):
            is_last = attempt == self.retries
            try:
                response = await self._http.request(
                    call.method, call.path, content=call.content, headers=call.headers
                )
            except httpx.TransportError as error:
                if is_last or isinstance(error, httpx.UnsupportedProtocol):
                    raise _no_answer(call, attempt + 1, error) from error
                await asyncio.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in WORTH_RETRYING or is_last:
                return call.read(response.status_code, response.content)
            await asyncio.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")
