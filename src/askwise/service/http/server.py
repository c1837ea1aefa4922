"""The HTTP server: uvicorn, with the limits of `service/http/protocol.py`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from askwise.service.http.protocol import Protocol
from askwise.service.settings import Settings

CHECKED_EVERY, CHECKED_AT_THE_END = 1.0, 0.05
"""Seconds between two checks of the time limits of all connections: usually, and when it ends."""


class Server(uvicorn.Server):
    """uvicorn's server, which enforces time limits until its last connection is closed.

    `started` is called when connections are taken.
    """

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell_started = started
        self._is_ending = asyncio.Event()

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the worker that runs the server."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections, and to enforce their time limits."""
        await super().startup(sockets)
        self._time_limits = asyncio.create_task(self._enforce_time_limits())
        self._tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was asked, and close all connections."""
        self._is_ending.set()  # idle connections are closed now
        await super().shutdown(sockets)
        self._time_limits.cancel()

    async def _enforce_time_limits(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if self._is_ending.is_set():
                await asyncio.sleep(CHECKED_AT_THE_END)
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._is_ending.wait(), CHECKED_EVERY)
            now = loop.time()
            for connection in list(self.server_state.connections):
                connection.enforce_time_limits(now)  # type: ignore[union-attr]


def server_of(
    app: Any, settings: Settings, finish_within: float, started: Callable[[], None]
) -> Server:
    """A server of this application; `finish_within` seconds are left to answers when it ends."""

    def protocol(*arguments: Any, **named: Any) -> Protocol:
        return Protocol(*arguments, settings=settings, **named)

    # What uvicorn says of a request may quote it, and a client could fill the log with it.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)
    config = uvicorn.Config(
        app,
        http=protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ssl_certfile=settings.tls[0] or None,
        ssl_keyfile=settings.tls[1] or None,
        timeout_keep_alive=math.ceil(settings.idle_within),
        timeout_graceful_shutdown=math.ceil(finish_within),
    )
    return Server(config, started)
