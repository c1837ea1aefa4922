"""A connection: requests in, answers out, one after the other."""

from __future__ import annotations

import asyncio
from typing import Any

from askwise.service.errors import Refusal
from askwise.service.http import (
    MOST_HEAD,
    Chunks,
    Handler,
    Request,
    Response,
    body_length,
    head_of,
    parse_head,
    refused,
    too_large,
)
from askwise.service.logs import log_failure

READ_WITHIN = 30.0
"""Seconds from the first byte of a request to its last."""

IDLE = 75.0
"""Seconds that a connection may be open without a request."""


LINGER = 2.0
"""Seconds in which somebody who was refused may go on sending, unheard."""


class Connection(asyncio.Protocol):
    """Reads a request to its end, hands it over, writes the answer, and reads the next.

    The handler raises nothing, and a future that it returns is resolved with an answer.
    """

    def __init__(self, handler: Handler, most_body: int, connections: set[Connection]) -> None:
        self._handler = handler
        self._most_body = most_body
        self._all = connections
        self._loop = asyncio.get_running_loop()
        self._data = bytearray()
        self._request: Request | None = None
        """The one whose body is being read."""
        self._chunks: Chunks | None = None
        self._length = 0
        self._is_busy = False
        """Whether an answer is being made or written."""
        self._wants_body = True
        self._is_deaf = False
        self._keeps_alive = True
        self._since = self._loop.time()
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._stream: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport

    # --- what asyncio tells ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more; what was accepted is finished all the same."""
        self._all.discard(self)
        self._can_write.set()
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
        if not self._data and self._request is None:
            self._since = self._loop.time()
        self._data += data
        if not self._is_busy:
            self._read()
        elif len(self._data) > MOST_HEAD:
            self._transport.pause_reading()  # a pipeline that is long enough

    # --- reading ---------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while not self._is_busy and self._data and not self._transport.is_closing():
                request = self._take()
                if request is None:
                    return
                self._handle(request)
        except Refusal as refusal:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer, and read no more: where the next request would begin is not known."""
        self._keeps_alive, self._is_busy, self._is_deaf = False, True, True
        response = refused(refusal)
        self._transport.write(head_of(response, keeps_alive=False) + response.body)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        # closing at once, with bytes unread, would reset the connection under the answer
        self._loop.call_later(LINGER, self._transport.close)

    def _take(self) -> Request | None:
        """The next request, if all of it is there."""
        data = self._data
        if self._request is None:
            end = data.find(b"\r\n\r\n", 0, MOST_HEAD)
            if end < 0:
                if len(data) >= MOST_HEAD:
                    raise Refusal(431, f"the headers are larger than {MOST_HEAD:,} bytes")
                return None
            request = parse_head(bytes(data[:end]))
            del data[: end + 4]
            length = body_length(request)
            if length is not None and length > self._most_body:
                raise too_large(self._most_body)
            self._request, self._length = request, length or 0
            self._chunks = Chunks() if length is None else None
            self._keeps_alive = self._keeps_alive and request.keeps_alive
            if b"expect" in request.headers and length != 0:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = self._request
        if self._chunks is not None:
            if not self._chunks.feed(data, self._most_body):
                return None
            request.body = bytes(self._chunks.body)
        elif self._length:
            if len(data) < self._length:
                return None
            request.body = bytes(data[: self._length])
            del data[: self._length]
        self._request = self._chunks = None
        return request

    # --- answering -------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        self._is_busy, self._wants_body = True, request.method != "HEAD"
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
            self._read()

    def _write(self, response: Response) -> None:
        head = head_of(response, keeps_alive=self._keeps_alive)
        if response.stream is not None:
            self._transport.write(head)
            self._stream = self._loop.create_task(self._write_stream(response))
            return
        self._transport.write(head + response.body if self._wants_body else head)
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
        self._read()

    def _done(self) -> None:
        self._is_busy, self._since = False, self._loop.time()
        if not self._keeps_alive:
            self._transport.close()
        else:
            self._transport.resume_reading()

    # --- closing ---------------------------------------------------------------------------------

    def tidy(self, now: float) -> None:
        """Close if nothing has come for too long."""
        if not self._is_busy:
            begun = bool(self._data) or self._request is not None
            if now - self._since > (READ_WITHIN if begun else IDLE):
                self._transport.close()

    def shut_down(self) -> None:
        """Answer what was asked, then close."""
        self._keeps_alive = False
        if self._stream is not None:
            self._stream.cancel()
            self._transport.close()
        elif not self._is_busy:
            self._transport.close()
