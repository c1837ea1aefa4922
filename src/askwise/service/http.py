"""A request whose body is complete, what an answer is, and how its head is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from askwise.service.errors import Refusal


class Request:
    """What somebody asks."""

    __slots__ = ("body", "headers", "keeps_alive", "method", "path", "query")

    def __init__(
        self,
        method: str,
        path: str,
        query: str,
        headers: dict[bytes, bytes],
        body: bytes,
        keeps_alive: bool,
    ) -> None:
        self.method = method
        self.path = path
        """Not decoded yet."""
        self.query = query
        self.headers = headers
        """By their names in lower case."""
        self.body = body
        self.keeps_alive = keeps_alive

    def arguments(self, *known: str) -> dict[str, str]:
        """The query by name; an argument that is not known, or comes twice, is refused."""
        found: dict[str, str] = {}
        if self.query.count("&") > len(known):
            raise Refusal(400, "there are more arguments than can be", "query")
        for name, value in parse_qsl(self.query, keep_blank_values=True):
            if name not in known:
                expected = ", ".join(known) or "none"
                raise Refusal(400, f"unknown argument {name[:40]!r}, expected: {expected}", "query")
            if name in found:
                raise Refusal(400, f"argument {name!r} is given twice", "query")
            found[name] = value
        return found


class Response(NamedTuple):
    """An answer; a stream has no length."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncIterator[bytes] | None = None


Handler = Callable[[Request], "Response | asyncio.Future[Response]"]
Answering = Response | asyncio.Future[Response] | Coroutine[Any, Any, Response]
"""What a route gives: an answer, or what will be one."""


_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_ALWAYS = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"


def head_of(response: Response, *, keeps_alive: bool) -> bytes:
    """The lines before the body."""
    parts = [_LINES[response.status], b"content-type: ", response.kind.encode("ascii")]
    if response.stream is None:
        parts.append(b"\r\ncontent-length: %d\r\n" % len(response.body))
    else:
        parts.append(b"\r\ntransfer-encoding: chunked\r\n")
    parts.append(_ALWAYS)
    for name, value in response.headers:
        parts.append(f"{name}: {value}\r\n".encode("latin-1"))
    parts.append(b"\r\n" if keeps_alive else b"connection: close\r\n\r\n")
    return b"".join(parts)


def refused(refusal: Refusal) -> Response:
    """A refusal as an answer."""
    headers: tuple[tuple[str, str], ...] = ()
    if refusal.retry:
        headers = (("retry-after", str(refusal.retry)),)
    if refusal.allowed:
        headers = (("allow", ", ".join(refusal.allowed)),)
    if refusal.status == 401:
        headers = (("www-authenticate", 'Bearer realm="askwise"'),)
    return Response(refusal.status, refusal.encoded(), "application/problem+json", headers)


def segments(path: str) -> list[str]:
    """The parts of a path between its slashes, decoded."""
    parts = path[1:].split("/")
    if "%" not in path:
        return parts
    try:
        return [unquote_to_bytes(part).decode() for part in parts]
    except UnicodeDecodeError:
        raise Refusal(400, "the path is not UTF-8") from None
