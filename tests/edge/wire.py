"""Bytes out, bytes in, and a strict reader: an answer that RFC 9112 does not allow is an error."""

import re
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from waiting import PATIENCE

_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9]) [\t\x20-\x7e\x80-\xff]*")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff \t]*?)[ \t]*")
_SIZE = re.compile(rb"([0-9A-Fa-f]+)[ \t]*(?:;[\t\x20-\x7e]*)?")


class WireError(AssertionError):
    """The server sent what no client may take for an answer."""


class Answer(NamedTuple):
    """One answer; 100 Continue is one too."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes
    is_complete: bool

    def all(self, name: str) -> list[str]:
        """The values of a field, a line each."""
        return [value for key, value in self.fields if key == name]

    def one(self, name: str) -> str | None:
        """The value of a field that may be there once."""
        found = self.all(name)
        if len(found) > 1:
            raise WireError(f"{name} is given {len(found)} times")
        return found[0] if found else None

    @property
    def says_close(self) -> bool:
        """Whether it is the last on its connection."""
        tokens = ",".join(self.all("connection")).lower().split(",")
        return "close" in [token.strip() for token in tokens]


class Talk(NamedTuple):
    """What came of a connection."""

    data: bytes
    """All that was received."""
    sent: int
    """How many bytes the other side's system took."""
    end: str
    """"closed" by the server, "reset" by it, or "silent": it was waited for in vain."""
    methods: Sequence[str]

    @property
    def answers(self) -> list[Answer]:
        """All answers, interim ones too."""
        return read_answers(self.data, self.methods)

    @property
    def finals(self) -> list[Answer]:
        """The answers that end a request."""
        return [answer for answer in self.answers if answer.status >= 200]

    @property
    def statuses(self) -> tuple[int, ...]:
        """Of the final answers; none of them may be cut off."""
        finals = self.finals
        if not all(answer.is_complete for answer in finals):
            raise WireError(f"an answer is cut off: {self.data[-200:]!r}")
        return tuple(answer.status for answer in finals)


def read_answers(data: bytes, methods: Sequence[str] = ()) -> list[Answer]:
    """Everything as answers to requests of these methods; GET, where none is given."""
    answers: list[Answer] = []
    at = finals = 0
    while at < len(data):
        method = methods[finals] if finals < len(methods) else "GET"
        answer, at = _read_one(data, at, method)
        answers.append(answer)
        finals += answer.status >= 200
    return answers


def _read_one(data: bytes, at: int, method: str) -> tuple[Answer, int]:
    end = data.find(b"\r\n\r\n", at)
    if end < 0:
        raise WireError(f"not the head of an answer: {data[at : at + 200]!r}")
    first, *lines = data[at:end].split(b"\r\n")
    status = _matched(_LINE, first)[1]
    fields = [
        (found[1].decode().lower(), found[2].decode("latin-1"))
        for found in (_matched(_FIELD, line) for line in lines)
    ]
    head = Answer(int(status), fields, b"", True)
    body, at, is_complete = _read_body(data, end + 4, head, method)
    return head._replace(body=body, is_complete=is_complete), at


def _read_body(data: bytes, at: int, head: Answer, method: str) -> tuple[bytes, int, bool]:
    length, coding = head.one("content-length"), head.one("transfer-encoding")
    if length is not None and coding is not None:
        raise WireError("an answer has both Content-Length and Transfer-Encoding (9112 6.2)")
    if head.status < 200 or head.status == 204:
        if length is not None or coding is not None:
            raise WireError(f"a {head.status} has a length (9110 8.6)")
        return b"", at, True
    if method == "HEAD" or head.status == 304:
        return b"", at, True
    if coding is not None:
        if coding.lower() != "chunked":
            raise WireError(f"an answer in the coding {coding!r}")
        return _read_chunks(data, at)
    if length is None:  # up to the end of the connection
        return data[at:], len(data), True
    if not length.isdigit():
        raise WireError(f"an answer of the length {length!r}")
    end = at + int(length)
    return data[at:end], min(end, len(data)), end <= len(data)


def _read_chunks(data: bytes, at: int) -> tuple[bytes, int, bool]:
    parts = []
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return b"".join(parts), len(data), False
        size = int(_matched(_SIZE, data[at:end])[1], 16)
        at = end + 2
        if not size:
            if data[at : at + 2] not in (b"\r\n", b""):
                raise WireError(f"after the last chunk: {data[at : at + 40]!r}")
            return b"".join(parts), at + 2, data[at : at + 2] == b"\r\n"
        parts.append(data[at : at + size])
        at += size
        if len(data) < at + 2:
            return b"".join(parts), len(data), False
        if data[at : at + 2] != b"\r\n":
            raise WireError(f"after a chunk: {data[at : at + 40]!r}")
        at += 2


def _matched(pattern: re.Pattern[bytes], line: bytes) -> re.Match[bytes]:
    found = pattern.fullmatch(line)
    if found is None:
        raise WireError(f"not as RFC 9112 has it: {line[:200]!r}")
    return found


def connect(port: int, *, receives: int = 0) -> socket.socket:
    """A connection; `receives` bounds what this side's system takes in unread."""
    connection = socket.socket()
    if receives:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    return connection


def exchange(
    connection: socket.socket,
    parts: Iterable[bytes],
    *,
    methods: Sequence[str] = (),
    half_closes: bool = False,
    patience: float = PATIENCE,
    is_enough: Callable[[bytes], bool] = lambda received: False,
) -> Talk:
    """Send all of this and read all the while, until the server ends it or is silent for too long.

    half_closes: whether this side says that it has nothing more to say.
    is_enough: whether what was received is all that is wanted; it ends as "silent" then too.
    """
    connection.setblocking(False)
    received, sent, end = bytearray(), 0, "silent"
    pieces, piece = iter(parts), memoryview(b"")
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
        last = time.monotonic()
        while time.monotonic() - last < patience and not is_enough(received):
            ready = selector.select(0.2)
            for _, mask in ready:
                if mask & selectors.EVENT_WRITE:
                    if not piece and not (piece := memoryview(next(pieces, b""))):
                        selector.modify(connection, selectors.EVENT_READ)
                        if half_closes:
                            connection.shutdown(socket.SHUT_WR)
                        continue
                    try:
                        count = connection.send(piece)
                    except (BrokenPipeError, ConnectionResetError):
                        selector.modify(connection, selectors.EVENT_READ)
                        end = "reset"
                        continue
                    sent, piece, last = sent + count, piece[count:], time.monotonic()
                if mask & selectors.EVENT_READ:
                    try:
                        data = connection.recv(1 << 18)
                    except ConnectionResetError:
                        return Talk(bytes(received), sent, "reset", methods)
                    if not data:
                        end = "closed" if end == "silent" else end
                        return Talk(bytes(received), sent, end, methods)
                    received += data
                    last = time.monotonic()
    return Talk(bytes(received), sent, end, methods)
