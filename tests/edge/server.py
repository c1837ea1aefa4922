"""`askwise serve` in processes of its own, and what the system says of them."""

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from askwise.service.client import Client
from edge.wire import Answer, Talk, connect, exchange
from serving import PROBLEM
from waiting import PATIENCE, until

PROJECT = "clinic"
CASES = f"/v1/projects/{PROJECT}/cases"
MOST_BODY = 1 << 20
MOST_HEAD = 16 * 1024

SHORT: dict[str, float] = {"read_within": 3.0, "idle_within": 3.0, "write_within": 3.0}
"""Time-outs of the server that meets slow clients."""

FEW = 40
"""Connections that this server takes."""

_SERVES = """
import sys
import msgspec
from askwise.service.operations.processes import first_token, listen_all, serve
from askwise.service.settings import Settings
settings = msgspec.json.decode(sys.argv[1], type=Settings)
token = first_token(settings.db)
started = lambda port: print(f"http://127.0.0.1:{port}\\n{token}", flush=True)
serve(settings, listen_all(settings), started=started)
"""
_keys = itertools.count(1)


class Edge:
    """A server that runs, and a project in it."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.log = log
        """The file with its standard error."""
        self.port = int(process.stdout.readline().rpartition(":")[2])
        self.token = process.stdout.readline().rpartition(" ")[2].strip()
        with Client(f"http://127.0.0.1:{self.port}", self.token, timeout=PATIENCE) as client:
            client.create_project(PROJECT, PROBLEM)

    def filled(self, request: bytes) -> bytes:
        """A request with what only this server knows: $TOKEN, $PORT, a new key for each $KEY."""
        request = request.replace(b"$TOKEN", self.token.encode())
        request = request.replace(b"$PORT", str(self.port).encode())
        return re.sub(rb"\$KEY", lambda _: b"edge-%d" % next(_keys), request)

    def talk(self, *parts: bytes, methods: Sequence[str] = (), **options: Any) -> Talk:
        """What these bytes are answered, up to the end of the connection."""
        with connect(self.port) as connection:
            filled = [self.filled(part) for part in parts]
            return exchange(connection, filled, methods=methods, **options)

    def pour(self, parts: Iterable[bytes], **options: Any) -> Talk:
        """The same for more bytes than one wants to keep; nothing in them is filled in."""
        with connect(self.port) as connection:
            return exchange(connection, parts, **options)

    def ask(self, request: bytes) -> Answer:
        """The answer to a single request, on a connection of its own."""
        close = request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        talk = self.talk(close, methods=[request.partition(b" ")[0].decode()])
        (answer,) = talk.finals
        assert answer.is_complete
        return answer

    def newest(self) -> int:
        """The number of the newest case: how many were ever committed."""
        answer = self.ask(GET(CASES + "?limit=1", b"Authorization: Bearer $TOKEN\r\n"))
        assert answer.status == 200, answer
        cases = msgspec.json.decode(answer.body)["cases"]
        return int(cases[0]["case"]) if cases else 0

    # --- what the system says --------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """All processes of the server, by their numbers, with their commands."""
        found, new = {}, [self.process.pid]
        while new:
            pid = new.pop()
            with contextlib.suppress(OSError):  # it has just ended
                command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    new += [int(child) for child in children.read_text().split()]
                found[pid] = command
        return found

    def settle(self) -> None:
        """Wait until it has planned: whoever plans for the first time needs memory for good."""
        with Client(f"http://127.0.0.1:{self.port}", self.token, timeout=PATIENCE) as client:
            client.open(PROJECT)
            until(lambda: client.project(PROJECT).policy_version > 1)

    def memory(self) -> int:
        """Bytes of memory that all its processes have together."""
        total = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{pid}/status").read_text()
                found = re.search(r"VmRSS:\s+(\d+) kB", status)
                total += int(found[1]) * 1024 if found else 0
        return total

    def worked(self) -> float:
        """Seconds that processors have worked for it."""
        ticks = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])  # its own, and the system's for it
        return ticks / os.sysconf("SC_CLK_TCK")

    def holds(self, connection: socket.socket) -> bool:
        """Whether the server still has its end of a connection."""
        return connection.getsockname()[1] in self.held()

    def held(self) -> set[int]:
        """The connections that it has, by the ports of their other ends."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        ends = [line.split()[1:4] for line in lines]
        return {
            int(remote.rpartition(":")[2], 16)
            for local, remote, state in ends
            if local.endswith(f":{self.port:04X}")
            and state in ("01", "08")  # established, or only the other side has closed
        }


def GET(path: str, fields: bytes = b"", version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET %s %s\r\nHost: localhost\r\n%s\r\n" % (path.encode(), version, fields)


@contextlib.contextmanager
def edge_server(folder: Path, **settings: Any) -> Iterator[Edge]:
    """`askwise serve` as people start it; with settings that its command line does not have, the
    function that the command calls."""
    command = ["-m", "askwise", "serve", "--port", "0", "--no-warm-up"]
    if settings:
        settings = {"port": 0, "warms_up": False} | settings
        command = ["-c", _SERVES, msgspec.json.encode(settings).decode()]
    file = folder.parent / f"{folder.name}.log"
    with file.open("a") as log:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            yield Edge(process, file)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()
