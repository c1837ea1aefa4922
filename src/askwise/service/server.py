"""A worker: it listens, answers, and on SIGTERM finishes what it has accepted."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from askwise.service.app import App
from askwise.service.connection import Connection
from askwise.service.house import House
from askwise.service.logs import log
from askwise.service.settings import Settings

FINISH_WITHIN = 20.0
"""Seconds for connections to get their answers when the server ends."""

BACKLOG = 1024


async def work(
    settings: Settings,
    worker: int,
    listening: socket.socket,
    *,
    started: Callable[[], None] = lambda: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve on this socket until told to stop."""
    loop = asyncio.get_running_loop()
    stop = stop or asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(RuntimeError, ValueError):  # not in a thread of its own
            loop.add_signal_handler(number, stop.set)
    house = House(settings, worker)
    house.start()
    app = App(house)
    connections: set[Connection] = set()
    server = await loop.create_server(
        lambda: Connection(app, settings.most_body, connections), sock=listening, backlog=BACKLOG
    )
    log("info", "serving", worker=worker, port=listening.getsockname()[1])
    started()
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 1.0)
        now = loop.time()
        for connection in list(connections):
            connection.tidy(now)
    server.close()
    app.routes.is_closing.set()
    await _finish(connections, loop.time() + FINISH_WITHIN)
    app.routes.close()
    await asyncio.to_thread(house.stop)
    log("info", "stopped", worker=worker)


async def _finish(connections: set[Connection], deadline: float) -> None:
    """Wait until everybody who asked was answered."""
    while connections and asyncio.get_running_loop().time() < deadline:
        for connection in list(connections):
            connection.shut_down()
        await asyncio.sleep(0.01)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run, on the faster loop where there is one."""
    factory = None
    with contextlib.suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


def listen(settings: Settings) -> socket.socket:
    """A socket to serve on; several workers have one each, and the kernel spreads connections."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if settings.workers > 1:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise OSError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
        ) from None
    listening.setblocking(False)
    return listening
