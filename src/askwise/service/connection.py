"""A connection: requests in, answers out, one after the other.

httptools (Node's parser) reads the wire. What is here is what a server adds to it: limits while a
request arrives, an order among answers, and an end that loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import httptools

from askwise.service.errors import Refusal
from askwise.service.http import Handler, Request, Response, head_of, refused
from askwise.service.logs import log_failure

MOST_HEAD = 16 * 1024
"""Bytes of a request line and its headers that are kept while waiting for the rest."""

READ_WITHIN = 30.0
"""Seconds from the first byte of a request to its last."""

IDLE = 75.0
"""Seconds that a connection may be open without a request."""

LINGER = 2.0
"""Seconds in which somebody who was refused may go on sending, unheard."""

PIPELINE = 16
"""Requests that may wait for the answer to the one before them; then no more is read."""

_SINGLE = frozenset((b"host", b"authorization", b"idempotency-key", b"content-type"))


class Connection(asyncio.Protocol):
    """Reads a request to its end, hands it over, writes the answer, and goes on to the next.

    The handler raises nothing, and a future that it returns is resolved with an answer.
    """

    def __init__(self, handler: Handler, most_body: int, connections: set[Connection]) -> None:
        self._handler = handler
        self._most_body = most_body
        self._all = connections
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Request] = deque()
        """Read, and not handed over yet."""
        self._headers: dict[bytes, bytes] = {}
        self._url, self._body = b"", b""
        self._head = 0
        """Bytes of a head that is not complete."""
        self._is_head = self._is_begun = False
        self._refusal: Refusal | None = None
        self._is_busy = False
        """Whether an answer is being made or written."""
        self._is_deaf = self._is_bodiless = False
        self._keeps_alive = True
        self._since = self._loop.time()
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._stream: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport

    # --- what asyncio tells ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._transport = transport  # type: ignore[assignment]
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more; what was accepted is finished all the same."""
        self._all.discard(self)
        self._can_write.set()
        self._waiting.clear()
        if self._stream is not None:
            self._stream.cancel()

    def pause_writing(self) -> None:
        """The other side reads too slowly."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._can_write.set()

    def data_received(self, data: bytes) -> None:
        """More of a request, or of the next one."""
        if self._is_deaf:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._keeps_alive = False  # what follows would be something else than HTTP/1.1
        except httptools.HttpParserError:
            if self._refusal is None:
                self._refusal = Refusal(400, "this is not a request of HTTP/1.1")
        if self._is_head:
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._refusal = Refusal(431, f"the headers are larger than {MOST_HEAD:,} bytes")
        self._go_on()

    # --- what the parser tells -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._headers, self._url, self._body = {}, b"", b""
        self._is_head = self._is_begun = True
        self._since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        """A part of what is asked for."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        name = name.lower()
        if name in self._headers and name in _SINGLE:
            self._refuse(400, f"header {name.decode('latin-1')} is given twice")
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """The head is there; what its body is, is known."""
        self._is_head, self._head = False, 0
        headers = self._headers
        if not self._url.startswith(b"/") or not self._url.isascii():
            self._refuse(400, "the request line does not name a path")
        if b"host" not in headers and self._parser.get_http_version() != "1.0":
            self._refuse(400, "header Host is missing")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            self._refuse(400, "expected Transfer-Encoding: chunked, or none")
        length = headers.get(b"content-length", b"0")
        if len(length) > 15 or int(length) > self._most_body:
            self._refuse(413, f"the body is larger than {self._most_body:,} bytes")
        if b"expect" in headers:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        """A part of the body; it is counted as it comes."""
        self._body = self._body + part if self._body else part
        if len(self._body) > self._most_body:
            self._refuse(413, f"the body is larger than {self._most_body:,} bytes")

    def on_message_complete(self) -> None:
        """A request is complete."""
        path, _, query = self._url.decode("ascii").partition("?")
        method = self._parser.get_method().decode("ascii")
        keeps = self._parser.should_keep_alive()
        self._waiting.append(Request(method, path, query, self._headers, self._body, keeps))
        self._is_begun = False

    def _refuse(self, status: int, detail: str) -> None:
        """Read no further."""
        self._refusal = self._refusal or Refusal(status, detail)
        raise self._refusal

    # --- answering -------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Hand over what waits, then say what is wrong, if anything is."""
        while self._waiting and not self._is_busy and not self._transport.is_closing():
            self._handle(self._waiting.popleft())
        if self._is_busy:
            if len(self._waiting) >= PIPELINE:
                self._transport.pause_reading()
        elif self._refusal is not None and not self._is_deaf:
            self._say_refused(self._refusal)

    def _say_refused(self, refusal: Refusal) -> None:
        """Answer, and read no more: where the next request would begin is not known."""
        self._keeps_alive, self._is_busy, self._is_deaf = False, True, True
        response = refused(refusal)
        self._transport.write(head_of(response, keeps_alive=False) + response.body)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        # closing at once, with bytes unread, would reset the connection under the answer
        self._loop.call_later(LINGER, self._transport.close)

    def _handle(self, request: Request) -> None:
        self._is_busy = True
        self._keeps_alive = self._keeps_alive and request.keeps_alive
        self._is_bodiless = request.method == "HEAD"
        answer = self._handler(request)
        if isinstance(answer, Response):
            self._write(answer)
        else:
            answer.add_done_callback(self._answered)

    def _answered(self, future: asyncio.Future[Response]) -> None:
        if future.cancelled():
            self._transport.abort()
        elif not self._transport.is_closing():
            self._write(future.result())
            self._go_on()

    def _write(self, response: Response) -> None:
        head = head_of(response, keeps_alive=self._keeps_alive)
        if response.stream is not None:
            self._transport.write(head)
            self._stream = self._loop.create_task(self._write_stream(response))
            return
        self._transport.write(head if self._is_bodiless else head + response.body)
        self._done()

    async def _write_stream(self, response: Response) -> None:
        assert response.stream is not None
        try:
            async for part in response.stream:
                if self._transport.is_closing():
                    return
                self._transport.write(b"%x\r\n%s\r\n" % (len(part), part))
                await self._can_write.wait()
            self._transport.write(b"0\r\n\r\n")
        except Exception as error:
            log_failure("a stream broke off", error)
            self._transport.abort()  # so that nobody takes a part for the whole
            return
        finally:
            self._stream = None
            close: Any = getattr(response.stream, "aclose", None)
            if close is not None:
                await close()
        self._done()
        self._go_on()

    def _done(self) -> None:
        self._is_busy, self._since = False, self._loop.time()
        if not self._keeps_alive:
            self._transport.close()
        else:
            self._transport.resume_reading()

    # --- closing ---------------------------------------------------------------------------------

    def tidy(self, now: float) -> None:
        """Close if nothing has come for too long."""
        if not self._is_busy and now - self._since > (READ_WITHIN if self._is_begun else IDLE):
            self._transport.close()

    def shut_down(self) -> None:
        """Answer what was asked, then close."""
        self._keeps_alive = False
        if self._stream is not None:
            self._stream.cancel()
            self._transport.close()
        elif not self._is_busy:
            self._transport.close()
