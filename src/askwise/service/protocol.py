"""uvicorn's HTTP with two more limits: headers may not be endless, and must come in time."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 16 * 1024
"""Bytes of a request line and its headers that are kept while waiting for the rest."""

HEAD_WITHIN = 30.0
"""Seconds for them to come."""

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """Closes on those who never come to the end of their headers."""

    _head = 0
    """Bytes of a head that is not complete."""
    _is_head = False
    """Whether one has begun."""
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and has something to say."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_WITHIN, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """More of a request, or of the next one."""
        super().data_received(data)
        if self._is_head:
            self._head += len(data)
            if self._head > MOST_HEAD and not self.transport.is_closing():
                self.transport.write(TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_time()
        self._is_head = True
        self._late = self.loop.call_later(HEAD_WITHIN, self.transport.close)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_time()
        self._is_head, self._head = False, 0
        super().on_headers_complete()

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
