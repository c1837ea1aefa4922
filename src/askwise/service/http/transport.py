"""The transport closes a connection in two steps, and sends answers as HTTP/1.0 requires."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class LingeringTransport:
    """A transport that closes in two steps, as RFC 9112, 9.6 advises.

    Closing with bytes unread would reset the connection, and the client might lose the answer. So
    only our side is closed first; the protocol closes the other when its time has come.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_closing = False
        self.written = 0
        # delegated as they are: these are called for every request
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.get_extra_info = transport.get_extra_info
        self.unsent = transport.get_write_buffer_size
        self.abort = transport.abort

    def write(self, data: bytes) -> None:
        """Send it, unless nothing more is sent."""
        if not self._is_closing:
            self.written += len(data)
            self._transport.write(data)

    def close(self) -> None:
        """Send what is left, and nothing more."""
        if not self._is_closing:
            self._is_closing = True
            with contextlib.suppress(OSError, RuntimeError):  # the client may be gone already
                if self._transport.can_write_eof():
                    self._transport.write_eof()
                    self._transport.resume_reading()
                else:  # TLS has no half of a connection
                    self._transport.close()

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
        return self._is_closing or self._transport.is_closing()


def until_close(cycle: RequestResponseCycle) -> Callable[[Any], Awaitable[None]]:
    """How answers are sent to HTTP/1.0: one without a length is ended by closing, not in chunks."""
    write = cycle.send
    has_length = True

    async def send(message: Any) -> None:
        nonlocal has_length
        if message["type"] == "http.response.start":
            has_length = any(name == b"content-length" for name, _ in message["headers"])
            if not has_length:
                cycle.chunked_encoding = False
        elif not has_length:
            cycle.expected_content_length = len(message.get("body", b""))
        await write(message)

    return send
