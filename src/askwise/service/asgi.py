"""Between an ASGI server and the handler of requests.

A body is counted while it arrives and never kept beyond the limit; a header that is given twice,
where two readers might take different ones, is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from askwise.service.errors import Refusal
from askwise.service.http import Handler, Request, Response, refused
from askwise.service.logs import log_failure

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

READ_WITHIN = 30.0
"""Seconds for the whole body of a request."""

_SINGLE = frozenset((b"host", b"authorization", b"idempotency-key", b"content-type"))
_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class GoneError(Exception):
    """Whoever asked is not there any more."""


class Gateway:
    """An ASGI application."""

    def __init__(self, handler: Handler, most_body: int) -> None:
        self._handler = handler
        self._most_body = most_body

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        has_body = False
        try:
            headers = _headers(scope["headers"])
            body, has_body = await self._body(headers, receive), True
            path, query = scope["raw_path"].decode("latin-1"), scope["query_string"]
            request = Request(scope["method"], path, query.decode("latin-1"), headers, body)
            answer = self._handler(request)
            response = answer if isinstance(answer, Response) else await answer
        except Refusal as refusal:
            response = refused(refusal)
            if not has_body:  # the rest of it is not read
                response = response._replace(headers=(*response.headers, ("connection", "close")))
        except GoneError:
            return
        await _send(response, receive, send)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if len(length) > 15 or int(length) > self._most_body:
            raise _too_large(self._most_body)
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            body: bytes = message["body"]
            self._check(len(body))
            return body  # the usual case, fast
        try:
            async with asyncio.timeout(READ_WITHIN):
                return await self._rest(message, receive)
        except TimeoutError:
            raise Refusal(408, "the body took too long") from None

    async def _rest(self, message: dict[str, Any], receive: Receive) -> bytes:
        body = bytearray()
        while message["type"] == "http.request":
            body += message["body"]
            self._check(len(body))
            if not message.get("more_body"):
                return bytes(body)
            message = await receive()
        raise GoneError

    def _check(self, length: int) -> None:
        if length > self._most_body:
            raise _too_large(self._most_body)


def _headers(given: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in given:
        if name in headers and name in _SINGLE:
            raise Refusal(400, f"header {name.decode()} is given twice", f"header:{name.decode()}")
        headers[name] = value
    if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
        raise Refusal(400, "expected Transfer-Encoding: chunked, or none")
    return headers


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than {most:,} bytes")


async def _send(response: Response, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", response.kind.encode("ascii")), *_ALWAYS]
    headers += [(name.encode("ascii"), value.encode("latin-1")) for name, value in response.headers]
    if response.stream is None:
        headers.append((b"content-length", b"%d" % len(response.body)))
    start = {"type": "http.response.start", "status": response.status, "headers": headers}
    await send(start)
    if response.stream is None:
        await send({"type": "http.response.body", "body": response.body})
        return
    sending = asyncio.ensure_future(_stream(response.stream, send))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending


async def _stream(parts: AsyncIterator[bytes], send: Send) -> None:
    try:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except Exception as error:
        log_failure("a stream broke off", error)
        raise  # so that nobody takes a part for the whole
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
