"""The types of a request, of its target and of a response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from askwise.service.api.messages import KEY_RULE
from askwise.service.api.refusals import Refusal
from askwise.service.ledger.rows import StoredToken
from askwise.service.tokens import FULL_ACCESS

_KEY = re.compile(rb"[!-~]{1,200}")


class DisconnectedError(Exception):
    """The client is gone before its request was complete."""


class Request:
    """The request of a client. The body is read only after the head was accepted."""

    __slots__ = ("body", "headers", "method", "path", "query")

    def __init__(self, method: str, path: str, query: str, headers: dict[bytes, bytes]) -> None:
        self.method = method
        self.path = path
        """Not decoded yet."""
        self.query = query
        self.headers = headers
        """By their names in lower case."""
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

    def idempotency_key(self) -> str:
        """The key that a request which changes something must have."""
        key = self.headers.get(b"idempotency-key")
        if key is None or not _KEY.fullmatch(key):
            raise Refusal(
                400,
                f"header Idempotency-Key is missing, or not a key: expected {KEY_RULE}",
                "header:Idempotency-Key",
            )
        return key.decode("ascii")


class Target(NamedTuple):
    """The target of a path, and the token of the request."""

    project: str
    case: int
    token: StoredToken = FULL_ACCESS
    token_id: str = ""
    """Of the token that it is about."""


class Response(NamedTuple):
    """A response; a stream has no length."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncIterator[bytes] | None = None


Answering = Response | asyncio.Future[Response] | Coroutine[Any, Any, Response]
"""A handler returns a response, or an awaitable of one."""

Handler = Callable[[Request, Target], Answering]


def refused(refusal: Refusal) -> Response:
    """A refusal as a response."""
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
