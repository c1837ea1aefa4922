"""The service as one ASGI application: a server reads and writes the wire, the app answers.

The head of a request is checked before its body is read, so a client without a token cannot make
the server hold one. A body is counted while it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from askwise.service.api.refusals import Refusal
from askwise.service.http.app import App
from askwise.service.http.requests import DisconnectedError, Request, Response, refused
from askwise.service.http.shares import Shares
from askwise.service.ledger.rows import StoredToken
from askwise.service.logging import log_failure
from askwise.service.settings import Settings
from askwise.service.tokens import FULL_ACCESS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

ONCE = frozenset((b"host", b"authorization", b"idempotency-key", b"content-type", b"origin"))
"""Headers that two readers might take differently if they came twice."""

ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
CLOSE = (b"connection", b"close")

MOST_HELD = 64 << 20
"""Bytes of bodies that a worker holds at a time, of all requests together."""


class Asgi:
    """Turns the messages of ASGI into requests, and answers into messages."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self.most_body = settings.most_body
        self._held = 0
        self._shares = Shares(MOST_HELD // 4, "bytes of bodies")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handles one request. A lifespan is not needed."""
        if scope["type"] != "http":
            raise RuntimeError(f"askwise serves HTTP only, not {scope['type']}")
        body = _Body(self, receive)
        try:
            request = request_of(scope, body, self.most_body)
            response = await self._app(request, body.read)
        except Refusal as refusal:
            response = refused(refusal)
        except DisconnectedError:
            return
        finally:
            self._held -= body.held
            self._shares.give_back(body.token, body.held)
        try:
            is_head = scope["method"] == "HEAD"
            await write(response, send, receive, is_head=is_head, closes=body.is_expected)
        except Exception as error:
            log_failure("an answer broke off", error)
            raise  # the server closes the connection, so that no part is taken for the whole

    def hold(self, body: _Body, size: int) -> None:
        """Account for a part of a body, within its token's share of what is held."""
        self._shares.take(body.token, size)
        body.held += size
        self._held += size
        if self._held > MOST_HELD:
            raise Refusal(503, "too many large bodies arrive at a time", retry=1)


class _Body:
    """The body of a request while it arrives."""

    def __init__(self, asgi: Asgi, receive: Receive) -> None:
        self._asgi = asgi
        self._receive = receive
        self.is_expected = False
        """Whether some of it has not arrived: then nothing can follow on the connection."""
        self.held = 0
        self.token = FULL_ACCESS

    async def read(self, token: StoredToken) -> bytes:
        """The whole body, once it has arrived; it is held for this token."""
        self.token = token
        if not self.is_expected:
            return b""
        first = await self._part()
        if not self.is_expected:
            return first
        parts = [first]
        while self.is_expected:
            parts.append(await self._part())
        return b"".join(parts)

    async def _part(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        part: bytes = message.get("body", b"")
        self._asgi.hold(self, len(part))
        if self.held > self._asgi.most_body:
            raise _too_large(self._asgi.most_body)
        self.is_expected = message.get("more_body", False)
        return part


def request_of(scope: Message, body: _Body, most_body: int) -> Request:
    """The head of a request, if there is only one way to read it."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers:
            if name in ONCE:
                raise Refusal(400, f"header {name.decode('latin-1')} is given twice")
            value = headers[name] + b", " + value  # noqa: PLW2901
        headers[name] = value
    coding = headers.get(b"transfer-encoding")
    length = headers.get(b"content-length", b"0")
    body.is_expected = coding is not None or length != b"0"
    if coding is not None:
        *others, last = (part.strip().lower() for part in coding.split(b","))
        if last != b"chunked" or b"chunked" in others:
            raise Refusal(400, "expected Transfer-Encoding: chunked, or none")
        if others:
            raise Refusal(501, "expected Transfer-Encoding: chunked, or none")
    if not length.isdigit() or len(length) > 15 or int(length) > most_body:
        raise _too_large(most_body)
    is_old = scope["http_version"] == "1.0"
    if b"host" not in headers and not is_old:
        raise Refusal(400, "header Host is missing")
    expects = headers.get(b"expect")
    if expects is not None and not is_old and expects.lower() != b"100-continue":
        raise Refusal(417, "expected Expect: 100-continue, or none")
    path = scope["raw_path"].decode("ascii")
    return Request(scope["method"], path, scope["query_string"].decode("ascii"), headers)


async def write(
    response: Response, send: Send, receive: Receive, *, is_head: bool, closes: bool
) -> None:
    """Send a response as messages of ASGI."""
    headers = [(b"content-type", response.content_type.encode("ascii")), *ALWAYS]
    headers += [(name.encode(), value.encode("latin-1")) for name, value in response.headers]
    if closes:
        headers.append(CLOSE)
    if response.stream is None:
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if response.stream is None or is_head:
        await send({"type": "http.response.body", "body": response.body})
        return
    sending = asyncio.create_task(_send_parts(response.stream, send))
    leaving = asyncio.create_task(_until_disconnected(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()  # a stream that failed must not look complete
    finally:
        sending.cancel()
        leaving.cancel()


async def _send_parts(parts: AsyncIterator[bytes], send: Send) -> None:
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than {most:,} bytes")
