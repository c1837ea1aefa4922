"""The same application under Granian, for `benchmarks/service.py --servers`: one worker.

    python benchmarks/service_granian.py DB

Prints its address and an admin token like `askwise serve`. It has no replanner and no warm-up
beside it, which is to its advantage.
"""

import asyncio
import socket
import sys

import uvloop
from granian.constants import Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from askwise.service.backend.backend import Backend
from askwise.service.http.app import App
from askwise.service.http.asgi import Asgi
from askwise.service.operations.processes import first_token, tune_interpreter
from askwise.service.settings import Settings


async def main(db: str) -> None:
    token = first_token(db)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = Settings(db=db, port=port)
    backend = Backend(settings)
    backend.start()
    server = Server(
        Asgi(App(backend), settings),
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        log_enabled=False,
        http1_settings=HTTP1Settings(header_read_timeout=30_000, max_buffer_size=16 * 1024),
    )
    serving = asyncio.create_task(server.serve())
    await asyncio.sleep(0.5)
    print(f"askwise serves on http://127.0.0.1:{port}", flush=True)
    if token is not None:
        print(f"admin token, shown this once: {token}", flush=True)
    await serving


if __name__ == "__main__":
    tune_interpreter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
