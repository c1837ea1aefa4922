"""Ways to kill a server: all of it, parts of it, at work, while it plans, while it starts.

Only processes that this one started are ended, or that those did.
"""

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from chaos.databases import Database
from chaos.wire import NoAnswerError, Wire
from waiting import PATIENCE

START_WITHIN = PATIENCE
"""Seconds for a server to begin, however busy the machine is."""

TICKS = 2
"""Hundredths of a second of work in a twentieth: it plans, and does not just look around."""

WORKED, BORN = slice(11, 13), 19
"""Where in /proc/N/stat, after the name, it says so."""


class Part:
    """A process of the server."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.role = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
        self._born = self._fields()[BORN]

    def kill(self) -> None:
        """At once, unless it is gone and its number is another's."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            handle = os.pidfd_open(self.pid)
            try:
                if self._fields()[BORN] == self._born:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)

    @property
    def ticks(self) -> int:
        """Hundredths of a second that it has worked."""
        return sum(map(int, self._fields()[WORKED]))

    def _fields(self) -> list[str]:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()


class Reaper:
    """Starts a server on a ledger, and kills it in ever new ways."""

    def __init__(
        self, database: Database, folder: Path, rng: random.Random, plan_within: float
    ) -> None:
        self.database = database
        self.rng = rng
        self.plan_within = plan_within
        self.kills: Counter[str] = Counter()
        self.starts = 0
        self.log = folder / "server.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._wire = Wire(self.port, "")
        self._process: subprocess.Popen[bytes] | None = None
        self._orphans: list[Part] = []

    # --- life ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start a server, with one worker or two."""
        self.starts += 1
        command = [sys.executable, "-m", "askwise", "serve", "--db", self.database.address]
        command += ["--no-warm-up"]  # which is no part of what may be lost
        command += ["--port", str(self.port), "--workers", str(self.rng.choice([1, 2]))]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)

    async def start(self) -> None:
        """Start a server and wait until it answers; another, if the old one holds the port."""
        self.begin()
        deadline = time.monotonic() + START_WITHIN
        while not await self._is_ready():
            assert self._process is not None
            if self._process.poll() is not None:
                self.begin()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no server after {START_WITHIN:.0f} s, see {self.log}")
            await asyncio.sleep(0.1)

    async def _is_ready(self) -> bool:
        try:
            reply = await self._wire.get("/readyz")
        except NoAnswerError:
            return False
        finally:
            self._wire.close()
        return reply.status == 200 and self._process.poll() is None

    def parts(self) -> list[Part]:
        """The other processes of the server."""
        found = []
        assert self._process is not None
        for children in Path(f"/proc/{self._process.pid}/task").glob("*/children"):
            for pid in children.read_text().split():
                try:
                    found.append(Part(int(pid)))
                except (ProcessLookupError, FileNotFoundError):
                    continue
        return found

    # --- death -----------------------------------------------------------------------------------

    async def strike(self) -> None:
        """Kill something; afterwards a server answers again."""
        ways = [self.everything, self.everything, self.serving, self.worker]
        ways += [self.replanner, self.planning, self.starting]
        if self.database.name == "postgresql":
            ways.append(self.connections)
        await self.rng.choice(ways)()

    async def everything(self) -> None:
        """As when the machine loses power, but for what the kernel holds."""
        await self._fell("everything")
        await self.start()

    async def serving(self) -> None:
        """The first process alone: the others notice, finish and end while a new one starts."""
        self._orphans += self.parts()
        self._kill_first()
        self.kills["the first process"] += 1
        await self.start()

    async def worker(self) -> None:
        """The second worker, if there is one; it is started again by the first."""
        await self._kill_role("worker")

    async def replanner(self) -> None:
        """The replanner, whatever it does."""
        await self._kill_role("replanner")

    async def planning(self) -> None:
        """The replanner, in the middle of a plan; at times all others with it."""
        deadline = time.monotonic() + self.plan_within
        while time.monotonic() < deadline:
            found = [p for p in self.parts() if "replanner" in p.role and self._has_planned(p)]
            if found and await _is_at_work(found[0]):
                if self.rng.random() < 0.5:
                    await self._fell("everything, while planning")
                    await self.start()
                else:
                    found[0].kill()
                    self.kills["the replanner, while planning"] += 1
                return
            await asyncio.sleep(0.02)

    def _has_planned(self, part: Part) -> bool:
        """Whether it has, once: so that what it does next is no more its start."""
        with self.log.open() as lines:
            return any(f'"pid":{part.pid},' in line and '"planned"' in line for line in lines)

    async def starting(self) -> None:
        """All of it, twice: the second time before it is ready."""
        await self._fell("everything")
        self.begin()
        await asyncio.sleep(self.rng.uniform(0.0, 2.0))
        await self._fell("while starting")
        await self.start()

    async def migrating(self) -> None:
        """A server that has just come to its ledger, whose schema may be that of before."""
        self.begin()
        deadline = time.monotonic() + START_WITHIN
        while not self.database.is_in_use() and time.monotonic() < deadline:
            await asyncio.sleep(0.001)
        await asyncio.sleep(self.rng.uniform(0.0, 0.04))
        await self._fell("while migrating")

    async def connections(self) -> None:
        """What leads to the database."""
        self.database.drop_connections()
        self.kills["connections to the database"] += 1

    async def _kill_role(self, role: str) -> None:
        for part in self.parts():
            if role in part.role:
                part.kill()
                self.kills[f"a {role}" if role == "worker" else f"the {role}"] += 1

    async def _fell(self, how: str) -> None:
        parts = self.parts()
        self._kill_first()
        for part in parts:
            part.kill()
        self.kills[how] += 1

    def _kill_first(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    async def end(self) -> int:
        """Ask the server to finish, and clear up; what it exits with."""
        assert self._process is not None
        self._process.terminate()
        code = await asyncio.to_thread(self._process.wait, PATIENCE)
        for part in self._orphans:
            part.kill()
        return code


async def _is_at_work(part: Part) -> bool:
    try:
        before = part.ticks
        await asyncio.sleep(0.05)
        return part.ticks - before >= TICKS
    except FileNotFoundError:
        return False
