"""HTTP/1.1, the strict part of it: what a request's head may be, and what an answer looks like.

Parsing is plain Python because it is the largest part of a small request's price: the usual servers
spend more on a request than the ledger does. It accepts one spelling of everything. Whatever two
parsers might read differently (a folded line, two lengths, a length beside a transfer coding, a
bare line feed, a space before a colon) is refused, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from askwise.service.errors import Refusal

MOST_HEAD = 16 * 1024
"""Bytes of a request line and its headers."""

_TOKEN = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LINE = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_DIGITS = re.compile(rb"[0-9]{1,15}")
_SINGLE = frozenset((b"host", b"content-length", b"transfer-encoding", b"authorization"))


class Request:
    """A request whose body is complete."""

    __slots__ = ("body", "headers", "keeps_alive", "method", "path", "query")

    def __init__(
        self, method: str, path: str, query: str, headers: dict[bytes, bytes], keeps_alive: bool
    ) -> None:
        self.method = method
        self.path = path
        """Not decoded yet."""
        self.query = query
        self.headers = headers
        """By their names in lower case."""
        self.keeps_alive = keeps_alive
        self.body = b""

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
    """An answer; a stream has no length and ends with the connection's chunk."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncIterator[bytes] | None = None


Handler = Callable[[Request], "Response | asyncio.Future[Response]"]
Answering = Response | asyncio.Future[Response] | Coroutine[Any, Any, Response]
"""What a route gives: an answer, or what will be one."""


def parse_head(head: bytes) -> Request:
    """The request of these lines, without the empty one at their end."""
    first, *lines = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise Refusal(400, "the request line is not one of HTTP/1.1")
    headers: dict[bytes, bytes] = {}
    for text in lines:
        name, colon, value = text.partition(b":")
        if not colon or not name or name.translate(None, _TOKEN):
            raise Refusal(400, "a header line is not name: value")
        if _CONTROL.search(value):
            raise Refusal(400, "a header has a control character")
        name, value = name.lower(), value.strip(b" \t")
        if name in headers:
            if name in _SINGLE:
                raise Refusal(400, f"header {name.decode()} is given twice")
            value = headers[name] + b", " + value
        headers[name] = value
    method, target, minor = line.groups()
    if minor == b"1" and b"host" not in headers:
        raise Refusal(400, "header Host is missing")
    path, _, query = target.decode("ascii").partition("?")
    closes = b"close" in headers.get(b"connection", b"").lower() or minor == b"0"
    return Request(method.decode("ascii"), path, query, headers, not closes)


def body_length(request: Request) -> int | None:
    """How long the body is; None if it comes in chunks."""
    length, coding = (request.headers.get(n) for n in (b"content-length", b"transfer-encoding"))
    if coding is not None:
        if length is not None or coding.lower() != b"chunked":
            raise Refusal(400, "expected Content-Length, or just Transfer-Encoding: chunked")
        return None
    if length is None:
        return 0
    if not _DIGITS.fullmatch(length):
        raise Refusal(400, "header Content-Length is not a length")
    return int(length)


class Chunks:
    """A body in chunks, as it arrives."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._left = -1
        """Of the current chunk, with its line end; −1: its length comes next; −2: the end does."""

    def feed(self, data: bytearray, most: int) -> bool:
        """Take what is there out of `data`; whether the body is complete."""
        while True:
            if self._left > 0:
                taken = data[: self._left]
                del data[: self._left]
                self._left -= len(taken)
                self.body += taken
                if self._left:
                    return False
                if self.body[-2:] != b"\r\n":
                    raise Refusal(400, "a chunk is not as long as it says")
                del self.body[-2:]
                self._left = -1
            end = data.find(b"\r\n")
            if end < 0:
                if len(data) > 64:
                    raise Refusal(400, "a chunk has no length")
                return False
            line = bytes(data[:end])
            if self._left == -2:
                if line:
                    raise Refusal(400, "trailers are not expected")
                del data[:2]
                return True
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", line):
                raise Refusal(400, "a chunk has no length")
            del data[: end + 2]
            size = int(line, 16)
            if len(self.body) + size > most:
                raise too_large(most)
            self._left = size + 2 if size else -2


def too_large(most: int) -> Refusal:
    """A body that nobody reads to its end."""
    return Refusal(413, f"the body is larger than {most:,} bytes")


_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
ALWAYS = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"


def head_of(response: Response, *, keeps_alive: bool) -> bytes:
    """The lines before the body."""
    parts = [_LINES[response.status], b"content-type: ", response.kind.encode("ascii")]
    if response.stream is None:
        parts.append(b"\r\ncontent-length: %d\r\n" % len(response.body))
    else:
        parts.append(b"\r\ntransfer-encoding: chunked\r\n")
    parts.append(ALWAYS)
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
