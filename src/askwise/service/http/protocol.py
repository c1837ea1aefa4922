"""A connection of uvicorn with limits: of size, of time, and of the order of answers.

uvicorn, with httptools and uvloop, parses requests, orders answers and shuts down. It has no limit
for the head of a request, for trailers, for pipelined requests, or for the time in which a client
sends and reads. It also closes a connection at once, which may reset it while an answer is sent.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPMethod
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from askwise.service.api.refusals import Refusal
from askwise.service.http.requests import refused
from askwise.service.http.transport import LingeringTransport, until_close
from askwise.service.logging import SparseLog
from askwise.service.settings import Settings

MOST_HEAD = 16 * 1024
"""Bytes of the headers of a request, and of its trailers."""

MOST_TARGET = 8 * 1024
"""Bytes of the request target."""

MOST_FIELDS = 100
"""Headers of a request, and trailers."""

MOST_PARTS, MOST_TINY = 20_000, 1_000
"""Parts in which a body may arrive, and parts of less than TINY bytes on average: a chunk of one
byte costs as much time as a large one."""

TINY = 4
"""Bytes; a client that writes JSON token by token has more."""

MOST_FRAMING = 256 * 1024
"""Bytes beside the body that its chunks may need: their sizes and extensions."""

MOST_DROPPED = 1 << 20
"""Bytes that are read and dropped before a connection is closed."""

MOST_PIPELINED = 16
"""Requests that may wait for the answer to the one before them."""

SLICE = 4096
"""Bytes that the parser is given at a time, so that limits are seen in time."""

LINGER = 2.0
"""Seconds in which a client may go on sending after the last answer; it is ignored."""

LEAST_TAKEN = 16 * 1024
"""Bytes of an answer that a client takes within `write_within`, or all that there is."""

_METHOD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: [^ \r\n]+ HTTP/1\.[01]\r\n|\Z)")
"""A method with the rest of its line, or as much of a method as has come (RFC 9110, 9.1)."""

_unread = SparseLog()
"""For clients that do not take their answers: there may be any number of them."""


class Protocol(HttpToolsProtocol):
    """One connection of a client."""

    transport: Any  # a LingeringTransport, which is all that uvicorn uses of one

    def __init__(self, *arguments: Any, settings: Settings, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._settings = settings
        self._refusal: Refusal | None = None
        self._ignores_input = False
        """Whether what arrives is read and dropped."""
        self._running: RequestResponseCycle | None = None
        """The request that is being answered, or was answered last."""
        self._is_head = self._is_begun = self._made_progress = self._has_ended = False
        self._size = self._fields = self._parts = self._body = 0
        self._unparsed = self._framing = self._dropped = 0
        self._bodies = 0
        """Bytes of all bodies on this connection; those of one request are `_body`."""
        self._since = self.loop.time()
        """When the request began that is read, or when the last answer was complete."""
        self._taken_since = (self._since, 0)
        """When, and how many bytes of answers the client had taken by then."""
        self._closing_since = 0.0
        self._linger_for = LINGER

    # --- called by the event loop -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with a new connection, unless there are too many."""
        super().connection_made(LingeringTransport(transport))  # type: ignore[arg-type]
        if len(self.connections) > self._settings.most_connections:
            self._ignores_input = True
            self._write_refusal(Refusal(503, "too many connections", retry=1))
            transport.close()

    def data_received(self, data: bytes) -> None:
        """More of a request, or of the next one."""
        self._unset_keepalive_if_required()
        for start in range(0, len(data), SLICE):
            if self._ignores_input or self.transport.is_closing():
                self._drop(len(data) - start)
                return
            self._parse(data[start : start + SLICE] if len(data) > SLICE else data)

    def _drop(self, size: int) -> None:
        """Drop what arrives; from a client that goes on and on nothing more is read."""
        self._dropped += size
        if self._dropped > MOST_DROPPED:
            self.flow.pause_reading()

    def _parse(self, data: bytes) -> None:
        self._made_progress, before = False, self._bodies
        is_first, self._has_ended = not self._is_begun, False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._answer_and_close()  # what follows would be something else than HTTP/1.1
            return
        except httptools.HttpParserError:
            begins = data if is_first and not self._has_ended else b""
            self._answer_and_close(self._refusal or _not_a_request(begins))
            return
        # The parser keeps the beginning of a field, however long, until it ends.
        self._unparsed = 0 if self._made_progress else self._unparsed + len(data)
        if self._unparsed > MOST_HEAD:
            self._answer_and_close(_head_too_large())
        elif self._is_begun and not self._is_head:
            self._framing += len(data) - (self._bodies - before)
            if self._framing > MOST_FRAMING:
                self._answer_and_close(
                    Refusal(413, f"more than {MOST_FRAMING:,} bytes beside the body")
                )

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more; what it asked is answered all the same."""
        if not self._ignores_input and not self.transport.is_closing():
            self._answer_and_close(
                Refusal(400, "the request is not complete") if self._is_begun else None
            )
        return self._running is not None and not self._running.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for answers any more; uvicorn tells only the newest request."""
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    # --- called by the parser ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._made_progress = self._is_head = self._is_begun = True
        self._size = self._fields = self._parts = self._body = self._framing = 0
        self._since = self.loop.time()
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refuse(Refusal(503, "too many requests wait on this connection", retry=1))
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the request target."""
        self._made_progress = True
        super().on_url(url)
        if len(self.url) > MOST_TARGET:
            self._refuse(Refusal(414, f"the path is longer than {MOST_TARGET:,} bytes"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer: those are counted and ignored."""
        self._made_progress = True
        self._fields += 1
        self._size += len(name) + len(value) + 4
        if self._size > MOST_HEAD or self._fields > MOST_FIELDS:
            self._refuse(_head_too_large())
        if self._is_head:
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Check the head of a request, which is complete now."""
        self._made_progress, self._is_head = True, False
        self._size = self._fields = 0
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._refuse(Refusal(505, "expected version 1.1 or 1.0"))
        if version == "1.0":
            self.expect_100_continue = False  # RFC 9110, 10.1.1
        if not self.url.startswith(b"/"):
            self._take_absolute()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body; it is counted even when the answer was given already."""
        self._made_progress = True
        self._parts += 1
        self._body += len(body)
        self._bodies += len(body)
        if self._parts > (MOST_TINY if self._body < TINY * self._parts else MOST_PARTS):
            self._refuse(Refusal(413, "the body comes in too many small parts"))
        if self._body > self._settings.most_body:
            most = self._settings.most_body
            self._refuse(Refusal(413, f"the body is larger than {most:,} bytes"))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self._made_progress, self._is_begun = True, False
        self._has_ended = True
        super().on_message_complete()

    def _take_absolute(self) -> None:
        """The host of a target in absolute form stands for the header (RFC 9112, 3.2.2)."""
        try:
            target = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError:
            self._refuse(_no_path())
        if not target.schema or not target.host or target.userinfo:
            self._refuse(_no_path())
        if target.schema.lower().decode("latin-1") != self.scheme:
            self._refuse(Refusal(421, f"this is {self.scheme}://"))
        places = [k for k, (name, _) in enumerate(self.headers) if name == b"host"]
        if len(places) == 1:  # a header that is missing, or there twice, is still wrong
            host = b"[%s]" % target.host if b":" in target.host else target.host
            port = b"" if target.port is None else b":%d" % target.port
            self.headers[places[0]] = (b"host", host + port)
        if target.path is None:
            self.url += b"/"

    def _refuse(self, refusal: Refusal) -> NoReturn:
        """Read no further: the parser hands the error on to `data_received`."""
        self._refusal = refusal
        raise refusal

    # --- answering --------------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if cycle.scope["http_version"] == "1.0":
            cycle.send = until_close(cycle)  # type: ignore[method-assign, assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Note that an answer was given."""
        self._since = self.loop.time()
        super().on_response_complete()

    def _answer_and_close(self, refusal: Refusal | None = None) -> None:
        """Answer the requests that are complete, then the refusal, if there is one, and close.

        A refusal is written in its turn or not at all: never inside the answer to an earlier
        request.
        """
        self._ignores_input = True
        broken = self.cycle if self._is_begun and not self._is_head else None
        if self.pipeline and self.pipeline[0][0] is broken:
            self.pipeline.popleft()
        last = self.pipeline[0][0] if self.pipeline else self._running
        if last is not None and last is broken and not last.response_started:
            self._write_refusal(refusal or Refusal(400, "the request is not complete"))
            last.disconnected = True
            last.message_event.set()
        elif last is not None and not last.response_complete:
            last.keep_alive = False  # uvicorn closes after its answer
            return
        elif refusal is not None and broken is None:
            self._write_refusal(refusal)
        self.transport.close()

    def _is_idle(self) -> bool:
        running = self._running
        return not self._is_begun and (running is None or running.response_complete)

    def _write_refusal(self, refusal: Refusal) -> None:
        response = refused(refusal)
        head = STATUS_LINE[response.status]
        for name, value in self.server_state.default_headers:
            head += b"%s: %s\r\n" % (name, value)
        for text, said in response.headers:
            head += f"{text}: {said}\r\n".encode("latin-1")
        head += b"content-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (
            response.content_type.encode("ascii"),
            len(response.body),
        )
        self.transport.write(head + response.body)

    # --- closing ----------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """The server ends: answer what was asked, then close without lingering."""
        self._linger_for = 0.0
        super().shutdown()

    def enforce_time_limits(self, now: float) -> None:
        """Close the connection if a client takes too long; called every second."""
        transport, settings = self.transport, self._settings
        unsent = transport.unsent()
        taken = transport.written - unsent
        since, before = self._taken_since
        if not unsent:
            self._taken_since = (now, taken)
        elif now - since > settings.write_within:
            if taken - before < LEAST_TAKEN:
                _unread.log("info", "a client did not take its answer, and was dropped")
                transport.abort()
                return
            self._taken_since = (now, taken)
        if transport.is_closing():
            self._closing_since = self._closing_since or now
            if not unsent and now - self._closing_since >= self._linger_for:
                transport.abort()
        elif self._is_begun and now - self._since > settings.read_within:
            within = f"the request did not arrive within {settings.read_within:g} s"
            self._answer_and_close(Refusal(408, within))
        elif self._is_idle() and now - self._since > settings.idle_within:
            transport.close()


def _not_a_request(begins: bytes) -> Refusal:
    """What is said of a request that cannot be parsed, by its first bytes, if they are known."""
    named = _METHOD.match(begins)
    if named is None or named[1].decode("ascii") in HTTPMethod.__members__:
        return Refusal(400, "this is not a request of HTTP/1.1")
    shown = named[1].decode("ascii")
    return Refusal(501, f"there is no method {shown[:20]!r} here, expected GET, HEAD or POST")


def _no_path() -> Refusal:
    return Refusal(400, "the request line does not name a path")


def _head_too_large() -> Refusal:
    return Refusal(
        431, f"more than {MOST_FIELDS} headers, or more than {MOST_HEAD:,} bytes of them"
    )
