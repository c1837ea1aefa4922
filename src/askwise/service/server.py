"""A worker: it listens, answers, and on SIGTERM finishes what it has accepted."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import uvicorn

from askwise.service.app import App
from askwise.service.asgi import Gateway
from askwise.service.house import House
from askwise.service.logs import log
from askwise.service.protocol import BoundedProtocol
from askwise.service.settings import Settings

FINISH_WITHIN = 20
"""Seconds for connections to get their answers when the server ends."""

IDLE = 75
"""Seconds that a connection may be open without a request."""

BACKLOG = 1024


class _Server(uvicorn.Server):
    """Told by us when to end, not by signals: the writer must end after the last answer."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


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
    server = _Server(_config(Gateway(app, settings.most_body)))
    serving = loop.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.005)
    log("info", "serving", worker=worker, port=listening.getsockname()[1])
    started()
    stopping = loop.create_task(stop.wait())
    await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    app.routes.is_closing.set()
    await serving
    app.routes.close()
    await asyncio.to_thread(house.stop)
    log("info", "stopped", worker=worker)


def _config(app: Gateway) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        access_log=False,
        backlog=BACKLOG,
        date_header=False,
        http=BoundedProtocol,
        interface="asgi3",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=FINISH_WITHIN,
        timeout_keep_alive=IDLE,
        ws="none",
    )


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
