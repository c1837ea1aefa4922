"""A client for `askwise serve`, waiting or awaiting.

A request that got no answer, or was told to come again, is sent again with the same idempotency
key: however often it arrives, it happens once. Every call of `api/calls.py` can be made with
`call`; the methods give the usual ones their own names and arguments.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx
import msgspec

from askwise.problem import Problem
from askwise.service.api import calls
from askwise.service.api.call import Call
from askwise.service.api.messages import (
    Acting,
    BatchAnswer,
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
from askwise.service.client.administration import Administration, AsyncAdministration
from askwise.service.client.bodies import new_project, observing, opening, rewarding
from askwise.service.client.requests import RETRIED, ClientRequest, wait_before

T = TypeVar("T")


def _options(url: str, token: str, timeout: float) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


class Client(Administration):
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
        """Close the connections that the client has open."""
        self.close()

    def close(self) -> None:
        """Close the connections to the service."""
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
        body = new_project(name, problem, learner, options)
        return self.call(calls.CREATE_PROJECT, body=body)

    def projects(self) -> list[ProjectAnswer]:
        """All projects that the token is for."""
        return (self.call(calls.LIST_PROJECTS)).projects

    def project(self, name: str) -> ProjectAnswer:
        """A project as it stands."""
        return self.call(calls.GET_PROJECT, project=name)

    def open(
        self,
        project: str,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> CaseAnswer:
        """A new case: what to buy, or the action."""
        body = opening(known, prices, stake)
        return self.call(calls.OPEN_CASE, project=project, body=body)

    def observe(
        self,
        project: str,
        case: int,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
        unasked: bool = False,
        knew_more: bool = True,
    ) -> CaseAnswer:
        """What was bought, or looked at unasked, showed these values: what next."""
        body = observing(values, paid, unasked, knew_more)
        return self.call(calls.OBSERVE, project=project, case=case, body=body)

    def act(self, project: str, case: int, action: str, *, knew_more: bool = True) -> CaseAnswer:
        """People did this, whatever was advised."""
        body = Acting(action, knew_more)
        return self.call(calls.ACT, project=project, case=case, body=body)

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
        body = rewarding(reward, default, replaces)
        return self.call(calls.REWARD, project=project, case=case, body=body)

    def cancel(self, project: str, case: int) -> CaseAnswer:
        """Abandon a case; what it spent stays spent."""
        return self.call(calls.CANCEL, project=project, case=case)

    def case(self, project: str, case: int) -> CaseStory:
        """A case as it stands."""
        return self.call(calls.GET_CASE, project=project, case=case)

    def cases(self, project: str, *, before: int | None = None, limit: int = 50) -> list[CaseStory]:
        """The newest cases; those with a number below `before`."""
        query = {"limit": limit, "before": before}
        return (self.call(calls.LIST_CASES, project=project, query=query)).cases

    def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """The cases that wait longest for their reward."""
        query = {"limit": limit}
        return (self.call(calls.LIST_AWAITED, project=project, query=query)).cases

    def token(self) -> TokenAnswer:
        """What its token may do."""
        return self.call(calls.GET_TOKEN)

    def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Many requests at once; each item has a key of its own."""
        return self.call(calls.BATCH, project=project, body=list(items))

    def policy(self, project: str) -> PolicyAnswer:
        """The policy as a tree."""
        return self.call(calls.GET_POLICY, project=project)

    def worth(self, project: str) -> WorthAnswer:
        """What each observation is worth."""
        return self.call(calls.GET_WORTH, project=project)

    def summary(self, project: str) -> Summary:
        """What was earned and spent."""
        return self.call(calls.GET_SUMMARY, project=project)

    def events(self, project: str, *, after: int = 0) -> Iterator[EventLine]:
        """All events with a higher number, as they are read."""
        request = ClientRequest(calls.LIST_EVENTS, project=project, query={"after": after})
        with self._http.stream(request.method, request.path) as response:
            if response.status_code != 200:
                raise request.refusal(response.status_code, response.read())
            for line in response.iter_lines():
                yield msgspec.json.decode(line, type=request.answer)

    def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, int | None] | None = None,
    ) -> T:
        """The answer to a call of the table; what the path names, the body and the query."""
        request = ClientRequest(
            call, project=project, case=case, token=token, body=body, query=query
        )
        for attempt in range(self.retries + 1):
            is_last = attempt == self.retries
            try:
                response = self._http.request(
                    request.method, request.path, content=request.content, headers=request.headers
                )
            except httpx.TransportError as error:
                if is_last or isinstance(error, httpx.UnsupportedProtocol):
                    raise request.no_answer(attempt + 1, error) from error
                time.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in RETRIED or is_last:
                return request.read(response.status_code, response.content)
            time.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")


class AsyncClient(AsyncAdministration):
    """The same as `Client`, to be awaited."""

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
        """Close the connections that the client has open."""
        await self.close()

    async def close(self) -> None:
        """Close the connections to the service."""
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
        body = new_project(name, problem, learner, options)
        return await self.call(calls.CREATE_PROJECT, body=body)

    async def projects(self) -> list[ProjectAnswer]:
        """All projects that the token is for."""
        return (await self.call(calls.LIST_PROJECTS)).projects

    async def project(self, name: str) -> ProjectAnswer:
        """A project as it stands."""
        return await self.call(calls.GET_PROJECT, project=name)

    async def open(
        self,
        project: str,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> CaseAnswer:
        """A new case: what to buy, or the action."""
        body = opening(known, prices, stake)
        return await self.call(calls.OPEN_CASE, project=project, body=body)

    async def observe(
        self,
        project: str,
        case: int,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
        unasked: bool = False,
        knew_more: bool = True,
    ) -> CaseAnswer:
        """What was bought, or looked at unasked, showed these values: what next."""
        body = observing(values, paid, unasked, knew_more)
        return await self.call(calls.OBSERVE, project=project, case=case, body=body)

    async def act(
        self, project: str, case: int, action: str, *, knew_more: bool = True
    ) -> CaseAnswer:
        """People did this, whatever was advised."""
        body = Acting(action, knew_more)
        return await self.call(calls.ACT, project=project, case=case, body=body)

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
        body = rewarding(reward, default, replaces)
        return await self.call(calls.REWARD, project=project, case=case, body=body)

    async def cancel(self, project: str, case: int) -> CaseAnswer:
        """Abandon a case; what it spent stays spent."""
        return await self.call(calls.CANCEL, project=project, case=case)

    async def case(self, project: str, case: int) -> CaseStory:
        """A case as it stands."""
        return await self.call(calls.GET_CASE, project=project, case=case)

    async def cases(
        self, project: str, *, before: int | None = None, limit: int = 50
    ) -> list[CaseStory]:
        """The newest cases; those with a number below `before`."""
        query = {"limit": limit, "before": before}
        return (await self.call(calls.LIST_CASES, project=project, query=query)).cases

    async def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """The cases that wait longest for their reward."""
        query = {"limit": limit}
        return (await self.call(calls.LIST_AWAITED, project=project, query=query)).cases

    async def token(self) -> TokenAnswer:
        """What its token may do."""
        return await self.call(calls.GET_TOKEN)

    async def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Many requests at once; each item has a key of its own."""
        return await self.call(calls.BATCH, project=project, body=list(items))

    async def policy(self, project: str) -> PolicyAnswer:
        """The policy as a tree."""
        return await self.call(calls.GET_POLICY, project=project)

    async def worth(self, project: str) -> WorthAnswer:
        """What each observation is worth."""
        return await self.call(calls.GET_WORTH, project=project)

    async def summary(self, project: str) -> Summary:
        """What was earned and spent."""
        return await self.call(calls.GET_SUMMARY, project=project)

    async def events(self, project: str, *, after: int = 0) -> AsyncIterator[EventLine]:
        """All events with a higher number, as they are read."""
        request = ClientRequest(calls.LIST_EVENTS, project=project, query={"after": after})
        async with self._http.stream(request.method, request.path) as response:
            if response.status_code != 200:
                raise request.refusal(response.status_code, await response.aread())
            async for line in response.aiter_lines():
                yield msgspec.json.decode(line, type=request.answer)

    async def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, int | None] | None = None,
    ) -> T:
        """The answer to a call of the table; what the path names, the body and the query."""
        request = ClientRequest(
            call, project=project, case=case, token=token, body=body, query=query
        )
        for attempt in range(self.retries + 1):
            is_last = attempt == self.retries
            try:
                response = await self._http.request(
                    request.method, request.path, content=request.content, headers=request.headers
                )
            except httpx.TransportError as error:
                if is_last or isinstance(error, httpx.UnsupportedProtocol):
                    raise request.no_answer(attempt + 1, error) from error
                await asyncio.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in RETRIED or is_last:
                return request.read(response.status_code, response.content)
            await asyncio.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")
