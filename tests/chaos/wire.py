"""One connection to the server: a request, and its answer or none.

An answer that did not come says nothing about the request: it may have been written or not.
"""

import asyncio
import contextlib
from typing import NamedTuple

LOST_AFTER = 20.0
"""Seconds to wait for an answer, before it counts as lost."""


class Reply(NamedTuple):
    """What was answered."""

    status: int
    body: bytes


class NoAnswerError(Exception):
    """The connection was refused, broke, or stayed silent."""


class Wire:
    """A connection that is opened when it is needed."""

    def __init__(self, port: int, token: str, *, patience: float = LOST_AFTER) -> None:
        self.port = port
        self._patience = patience
        self._common = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes, key: str = "") -> Reply:
        """The answer to a request, if there is one."""
        keyed = f"Idempotency-Key: {key}\r\n" if key else ""
        head = (
            f"POST {path} HTTP/1.1\r\n{self._common}{keyed}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return await self._exchange(head.encode() + body)

    async def get(self, path: str) -> Reply:
        """What is to be read there."""
        return await self._exchange(f"GET {path} HTTP/1.1\r\n{self._common}\r\n".encode())

    async def _exchange(self, request: bytes) -> Reply:
        try:
            async with asyncio.timeout(self._patience):
                if self._writer is None or self._reader is None:
                    self._reader, self._writer = await asyncio.open_connection(
                        "127.0.0.1", self.port
                    )
                self._writer.write(request)
                return await self._read(self._reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self.close()
            raise NoAnswerError(repr(error)) from None
        except BaseException:  # an answer that is still on its way must not be taken for another's
            self.close()
            raise

    async def _read(self, reader: asyncio.StreamReader) -> Reply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
        first, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(first.split()[1]), body)

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.close()
        self._reader = self._writer = None
