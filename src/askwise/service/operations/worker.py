"""A worker: it listens, answers, and on SIGTERM finishes what it has accepted."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import signal
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from askwise.service.backend.backend import Backend
from askwise.service.http.app import App
from askwise.service.http.asgi import Asgi
from askwise.service.http.server import server_of
from askwise.service.logging import log
from askwise.service.settings import Settings

FINISH_WITHIN = 20.0
"""Seconds for connections to get their answers when the server ends."""

BACKLOG = 1024
"""Connections that may wait to be taken."""

SPARE = 128
"""File descriptors that a worker needs beside those of its connections."""


async def work(
    settings: Settings,
    worker: int,
    listening: socket.socket,
    *,
    started: Callable[[], None] = lambda: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serves on this socket until it is stopped."""
    loop = asyncio.get_running_loop()
    stop = stop or asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with contextlib.suppress(RuntimeError, ValueError):  # not in a thread of its own
            loop.add_signal_handler(number, stop.set)
    settings = msgspec.structs.replace(settings, most_connections=_make_room(settings))
    backend = Backend(settings, worker)
    backend.start()
    app = App(backend)

    def ready() -> None:
        log("info", "serving", worker=worker, port=listening.getsockname()[1])
        started()

    server = server_of(Asgi(app, settings), settings, FINISH_WITHIN, ready)
    backend.metrics.connections = lambda: len(server.server_state.connections)
    serving = asyncio.create_task(server.serve([listening]))
    waiting = asyncio.create_task(stop.wait())
    watching = asyncio.create_task(app.watch_alarms()) if worker == 0 else None
    await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    app.end_streams()
    server.should_exit = True
    await serving
    if watching is not None:
        await watching
    app.close()
    await asyncio.to_thread(backend.stop)
    log("info", "stopped", worker=worker)


def _make_room(settings: Settings) -> int:
    """Returns the number of connections that a worker can have. Each needs a file descriptor."""
    wanted = settings.most_connections + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and soft != resource.RLIM_INFINITY:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < wanted:
            most = max(1, allowed - SPARE)
            log("warning", "few file descriptors are allowed", connections=most)
            return most
    return settings.most_connections


def run(main: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run, on the faster loop where there is one."""
    factory = None
    with contextlib.suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


def listen(settings: Settings) -> socket.socket:
    """A socket on which connections wait from now on, until they are taken.

    Several workers have one each, and the kernel spreads connections over them. All are opened by
    the first process and stay open there, so that no connection is refused while a worker is
    started again.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the socket says that it is of TCP
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if settings.workers > 1:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        is_taken = error.errno == errno.EADDRINUSE
        remedy = "; choose another --port, or 0 for any that is free" if is_taken else ""
        raise OSError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}{remedy}"
        ) from None
    listening.setblocking(False)
    return listening
