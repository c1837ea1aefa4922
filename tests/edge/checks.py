"""A check: what is sent, and the answers that the RFCs allow.

Every request is followed by a probe on the same connection. If the request is taken, the probe is
answered too, and by itself: both sides agree on where the request ended. If its framing is refused,
the connection ends and the probe is never answered.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from edge.server import CASES, Edge

PROBE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
BODY = b'{"known":null}'
"""A byte more or less, and it is not JSON."""

_POST = (
    f"POST {CASES} %s\r\nHost: localhost\r\nAuthorization: Bearer $TOKEN\r\n"
    "Idempotency-Key: $KEY\r\nContent-Type: application/json\r\n"
).encode()

TAKEN = (201, 200)
"""The case is opened, and the probe answered."""
CLOSED = (201,)
"""The case is opened, and the connection ends."""
REFUSED = (400,)


class Check(NamedTuple):
    """Bytes, and what they may be answered."""

    says: str
    section: str
    """Of the RFC that wants it."""
    sent: bytes
    permitted: tuple[tuple[int, ...], ...]
    """The statuses of all final answers on the connection, the probe's too."""
    methods: tuple[str, ...] = ()


def post(fields: bytes = b"", content: bytes = b"", *, version: bytes = b"HTTP/1.1") -> bytes:
    """A request that opens a case, if it is taken; then the probe."""
    return _POST % version + fields + b"\r\n" + content + PROBE


def sized(length: bytes, content: bytes = BODY) -> bytes:
    """The same, with this for a length."""
    return post(b"Content-Length: " + length + b"\r\n", content)


def chunked(content: bytes, fields: bytes = b"Transfer-Encoding: chunked\r\n") -> bytes:
    """The same in chunks, as they stand."""
    return post(fields, content)


CHUNK = b"%x\r\n%s\r\n" % (len(BODY), BODY)
LAST = b"0\r\n\r\n"


def get(fields: bytes, *, line: bytes = b"GET /healthz HTTP/1.1") -> bytes:
    """A request for what everybody may read, with just these fields; then the probe."""
    return line + b"\r\n" + fields + b"\r\n" + PROBE


def table(checks: Iterable[Check]) -> Any:
    """The checks as parameters; each reads as a sentence, with its section."""
    rows = list(checks)
    assert len({check.says for check in rows}) == len(rows), "two checks say the same"
    return pytest.mark.parametrize(
        "check", [pytest.param(c, id=f"{c.says} ({c.section})") for c in rows]
    )


def assert_permitted(edge: Edge, check: Check) -> None:
    """The answers are among those allowed, and cases were committed as answered, no others."""
    before = edge.newest()
    talk = edge.talk(check.sent, methods=check.methods)
    committed = edge.newest() - before
    assert talk.statuses in check.permitted, talk.data[-1000:]
    assert talk.end != "silent", "the connection stays open"
    assert committed == talk.statuses.count(201)
