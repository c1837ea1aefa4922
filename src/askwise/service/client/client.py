"""Clients for `askwise serve`, waiting or awaiting.

If a request gets no answer, or a 503, the client sends it again with the same idempotency key: it
takes effect once, however often it arrives. `call` makes any call of `api/calls.py`; the methods
give the usual calls their own names and arguments.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack

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
    EventLine,
    ProjectAnswer,
    Seen,
    TokenAnswer,
)
from askwise.service.api.reports import CaseStory
from askwise.service.client.administration import Administration, AsyncAdministration
from askwise.service.client.bodies import Decided, new_project, observing, opening, rewarding
from askwise.service.client.reports import AsyncReports, Reports
from askwise.service.client.requests import (
    RETRIED,
    ClientRequest,
    http_options,
    is_final,
    wait_before,
)
from askwise.service.client.tables import AsyncTables, Tables

T = TypeVar("T")


class Client(Administration, Reports, Tables):
    """A client that waits for the answers of a service.

    retries: How often a request is sent again before an error is raised.
    verify: For a server with its own certificate: a file with that certificate, or with the one of
        its authority; or an `ssl.SSLContext`.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 30.0,
        retries: int = 5,
        verify: str | Path | ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._http = httpx.Client(transport=transport, **http_options(url, token, timeout, verify))

    def __enter__(self) -> Self:
        """The connections are open until the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connections to the service."""
        self.close()

    def close(self) -> None:
        """Closes the connections to the service."""
        self._http.close()

    def create_project(
        self,
        name: str,
        problem: Problem,
        *,
        learner: str = "learner",
        options: Mapping[str, Any] | None = None,
    ) -> ProjectAnswer:
        """Creates a project. The answer has a token for it, which is shown once."""
        body = new_project(name, problem, learner, options)
        return self.call(calls.CREATE_PROJECT, body=body)

    def projects(self) -> list[ProjectAnswer]:
        """Lists the projects that the token may read."""
        return (self.call(calls.LIST_PROJECTS)).projects

    def project(self, name: str) -> ProjectAnswer:
        """Returns a project as it is now."""
        return self.call(calls.GET_PROJECT, project=name)

    def open(
        self,
        project: str,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> CaseAnswer:
        """Opens a case. The answer has the observations to buy, or the action."""
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
        """Reports the values of observations. The answer has what to buy next, or the action."""
        body = observing(values, paid, unasked, knew_more)
        return self.call(calls.OBSERVE, project=project, case=case, body=body)

    def act(self, project: str, case: int, action: str, **how: Unpack[Decided]) -> CaseAnswer:
        """Reports the action that people took, with `knew_more` and `propensity` if need be."""
        body = Acting(action, **how)
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
        """Reports the reward of a case, also as a default or as a correction."""
        body = rewarding(reward, default, replaces)
        return self.call(calls.REWARD, project=project, case=case, body=body)

    def cancel(self, project: str, case: int) -> CaseAnswer:
        """Abandons a case. What it has spent stays counted."""
        return self.call(calls.CANCEL, project=project, case=case)

    def case(self, project: str, case: int) -> CaseStory:
        """Returns a case as it is now."""
        return self.call(calls.GET_CASE, project=project, case=case)

    def cases(self, project: str, *, before: int | None = None, limit: int = 50) -> list[CaseStory]:
        """Lists the newest cases, or those with a number below `before`."""
        query: dict[str, float | None] = {"limit": limit, "before": before}
        return (self.call(calls.LIST_CASES, project=project, query=query)).cases

    def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """Lists the cases that have waited longest for their reward."""
        query = {"limit": limit}
        return (self.call(calls.LIST_AWAITED, project=project, query=query)).cases

    def token(self) -> TokenAnswer:
        """Returns the rights of the client's token."""
        return self.call(calls.GET_TOKEN)

    def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Sends many requests at once. Each item has its own key and gets its own answer."""
        return self.call(calls.BATCH, project=project, body=list(items))

    def events(self, project: str, *, after: int = 0) -> Iterator[EventLine]:
        """Iterates over all events with a higher number."""
        request = ClientRequest(calls.LIST_EVENTS, project=project, query={"after": after})
        try:
            with self._http.stream(request.method, request.path) as response:
                if response.status_code != 200:
                    raise request.refusal(response.status_code, response.read())
                for line in response.iter_lines():
                    yield msgspec.json.decode(line, type=request.answer)
        except httpx.TransportError as error:
            raise request.no_answer(1, error) from error

    def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, float | None] | None = None,
    ) -> T:
        """Makes a call of the table, with the names in its path, its body and its query."""
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
                if is_last or is_final(error):
                    raise request.no_answer(attempt + 1, error) from error
                time.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in RETRIED or is_last:
                return request.read(response.status_code, response.content)
            time.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")


class AsyncClient(AsyncAdministration, AsyncReports, AsyncTables):
    """The calls of `Client`, to be awaited."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 30.0,
        retries: int = 5,
        verify: str | Path | ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._http = httpx.AsyncClient(
            transport=transport, **http_options(url, token, timeout, verify)
        )

    async def __aenter__(self) -> Self:
        """The connections are open until the block ends."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the connections to the service."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections to the service."""
        await self._http.aclose()

    async def create_project(
        self,
        name: str,
        problem: Problem,
        *,
        learner: str = "learner",
        options: Mapping[str, Any] | None = None,
    ) -> ProjectAnswer:
        """Creates a project. The answer has a token for it, which is shown once."""
        body = new_project(name, problem, learner, options)
        return await self.call(calls.CREATE_PROJECT, body=body)

    async def projects(self) -> list[ProjectAnswer]:
        """Lists the projects that the token may read."""
        return (await self.call(calls.LIST_PROJECTS)).projects

    async def project(self, name: str) -> ProjectAnswer:
        """Returns a project as it is now."""
        return await self.call(calls.GET_PROJECT, project=name)

    async def open(
        self,
        project: str,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float = 1.0,
    ) -> CaseAnswer:
        """Opens a case. The answer has the observations to buy, or the action."""
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
        """Reports the values of observations. The answer has what to buy next, or the action."""
        body = observing(values, paid, unasked, knew_more)
        return await self.call(calls.OBSERVE, project=project, case=case, body=body)

    async def act(self, project: str, case: int, action: str, **how: Unpack[Decided]) -> CaseAnswer:
        """Reports the action that people took, with `knew_more` and `propensity` if need be."""
        body = Acting(action, **how)
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
        """Reports the reward of a case, also as a default or as a correction."""
        body = rewarding(reward, default, replaces)
        return await self.call(calls.REWARD, project=project, case=case, body=body)

    async def cancel(self, project: str, case: int) -> CaseAnswer:
        """Abandons a case. What it has spent stays counted."""
        return await self.call(calls.CANCEL, project=project, case=case)

    async def case(self, project: str, case: int) -> CaseStory:
        """Returns a case as it is now."""
        return await self.call(calls.GET_CASE, project=project, case=case)

    async def cases(
        self, project: str, *, before: int | None = None, limit: int = 50
    ) -> list[CaseStory]:
        """Lists the newest cases, or those with a number below `before`."""
        query: dict[str, float | None] = {"limit": limit, "before": before}
        return (await self.call(calls.LIST_CASES, project=project, query=query)).cases

    async def awaited(self, project: str, *, limit: int = 50) -> list[CaseStory]:
        """Lists the cases that have waited longest for their reward."""
        query = {"limit": limit}
        return (await self.call(calls.LIST_AWAITED, project=project, query=query)).cases

    async def token(self) -> TokenAnswer:
        """Returns the rights of the client's token."""
        return await self.call(calls.GET_TOKEN)

    async def batch(self, project: str, items: Sequence[BatchItem]) -> list[BatchAnswer]:
        """Sends many requests at once. Each item has its own key and gets its own answer."""
        return await self.call(calls.BATCH, project=project, body=list(items))

    async def events(self, project: str, *, after: int = 0) -> AsyncIterator[EventLine]:
        """Iterates over all events with a higher number."""
        request = ClientRequest(calls.LIST_EVENTS, project=project, query={"after": after})
        try:
            async with self._http.stream(request.method, request.path) as response:
                if response.status_code != 200:
                    raise request.refusal(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    yield msgspec.json.decode(line, type=request.answer)
        except httpx.TransportError as error:
            raise request.no_answer(1, error) from error

    async def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, float | None] | None = None,
    ) -> T:
        """Makes a call of the table, with the names in its path, its body and its query."""
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
                if is_last or is_final(error):
                    raise request.no_answer(attempt + 1, error) from error
                await asyncio.sleep(wait_before(attempt, None))
                continue
            if response.status_code not in RETRIED or is_last:
                return request.read(response.status_code, response.content)
            await asyncio.sleep(wait_before(attempt, response.headers.get("retry-after")))
        raise AssertionError("the last attempt returns or raises")
