"""What hostile clients do to the others, for `benchmarks/service.py`.

A normal load (32 connections that think between their requests) is measured by itself, then beside
64 hostile clients (`service_hostile.py`), then by itself again. It notes every answer, and in the
end all that was acknowledged must be in the ledger, as it was answered, once.

    python benchmarks/service_beside.py PORT TOKEN PROJECT FILE --values JSON --seconds 10

is that load, in a process of its own: it appends what was acknowledged to the file.
"""

import argparse
import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import numpy as np
import uvloop

import service_load
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from service_server import HERE, PROJECT, Server, Values, serving

CONNECTIONS = 32
THINKS = 0.02
"""Seconds between an answer and the next request."""

PATIENCE = 30.0
"""Seconds without an answer before the load is given up."""

CLIENTS = 64
GROWS = 200 * 10**6
"""Bytes."""


class Acknowledged(msgspec.Struct, array_like=True, frozen=True):
    """An answer that says that something was done."""

    key: str
    status: int
    answer: str


# --- the load ------------------------------------------------------------------------------------


class Thinking(service_load.Connection):
    """One case after the other, without haste; every answer is noted."""

    notes: list[Acknowledged]

    def send(self) -> None:
        """What comes next, after a while."""
        asyncio.get_running_loop().call_later(THINKS, self._send)

    def _send(self) -> None:
        if not self.transport.is_closing():
            super().send()

    def write(self, path: bytes, keyed: bytes, body: bytes) -> None:
        """Send it, and remember its key."""
        self.key = keyed.partition(b": ")[2].strip().decode()
        super().write(path, keyed, body)

    def connection_lost(self, error: Exception | None) -> None:
        """The end; before its time, that is a failure."""
        if error is None and time.perf_counter() < self.load.ends and not self.load.failures:
            self.load.failures.append("the server closed a connection")
        super().connection_lost(error)

    def take(self, status: int, body: bytes) -> int:
        """Note it, and go on."""
        if status < 300:
            self.notes.append(Acknowledged(self.key, status, body.decode()))
        return super().take(status, body)


async def load(given: argparse.Namespace) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    shared = service_load.Load(given)
    Thinking.notes = []
    for _ in range(given.connections):
        await loop.create_connection(lambda: Thinking(shared), "127.0.0.1", given.port)
    try:
        await asyncio.wait_for(shared.done.wait(), service_load.WARM_UP + given.seconds + PATIENCE)
    except TimeoutError:
        shared.failures.append(f"no answer within {PATIENCE:.0f} s")
    with given.file.open("ab") as file:
        file.write(msgspec.json.Encoder().encode_lines(Thinking.notes))
    times = shared.times or [PATIENCE]
    return {
        "rate": shared.answered / given.seconds,
        "p50": float(np.percentile(times, 50)),
        "p99": float(np.percentile(times, 99)),
        "failures": shared.failures[:3],
    }


# --- beside --------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """What was measured."""

    calm: dict[str, Any]
    """The mean of the turns before and after."""
    hostile: dict[str, Any]
    grown: int
    """Bytes that the server had more at most, than before the hostile clients came."""
    acts: dict[str, int]
    acknowledged: int
    wrong: list[str]
    """What the audit found."""

    @property
    def ratio(self) -> float:
        """How much longer the slowest hundredth waits."""
        return float(self.hostile["p99"] / self.calm["p99"])


def beside_hostile(db: str, token: str, values: Values, seconds: float, folder: Path) -> Beside:
    """The same load without and with hostile clients; what it was told must be true in the end."""
    file = folder / "acknowledged.ndjson"
    file.unlink(missing_ok=True)
    with serving(db, 1, token) as server:
        before = _load(server, values, seconds / 4, file)
        start = server.memory()
        watch = _Watch(server)
        hostile = [sys.executable, str(HERE / "service_hostile.py"), str(server.port)]
        hostile += [server.token, PROJECT, "--clients", str(CLIENTS), "--seconds", f"{seconds}"]
        attack = subprocess.Popen(hostile, stdout=subprocess.PIPE, text=True)
        try:
            during = _load(server, values, seconds, file)
            said, _ = attack.communicate(timeout=seconds + PATIENCE)
        finally:
            attack.kill()
            attack.wait()
            most = watch.stop()
        after = _load(server, values, seconds / 4, file)
        turns = [turn for turn in (before, after) if not turn["failures"]] or [before]
        calm = {name: np.mean([t[name] for t in turns]) for name in ("rate", "p50", "p99")}
        found = [msgspec.json.decode(line, type=Acknowledged) for line in file.open("rb")]
        wrong = before["failures"] + during["failures"] + after["failures"]
        wrong += audit(server, found)
    wrong += _replayed(db)
    acts = msgspec.json.decode(said, type=dict[str, int])
    return Beside(calm, during, most - start, acts, len(found), wrong)


def _load(server: Server, values: Values, seconds: float, file: Path) -> dict[str, Any]:
    server.warmed_up()
    command = [sys.executable, str(HERE / "service_beside.py"), str(server.port), server.token]
    command += [PROJECT, str(file), "--values", msgspec.json.encode(values).decode()]
    command += ["--seconds", str(seconds), "--connections", str(CONNECTIONS)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return msgspec.json.decode(ended.stdout)  # type: ignore[no-any-return]


class _Watch:
    """How much memory a server has at most."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._most = server.memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(0.25):
            self._most = max(self._most, self._server.memory())

    def stop(self) -> int:
        """The most there was, in bytes."""
        self._stop.set()
        self._thread.join()
        return self._most


def audit(server: Server, found: list[Acknowledged]) -> list[str]:
    """Whatever was acknowledged and is not in the ledger as it was answered, just once."""
    events = {}
    wrong = []
    try:
        for event in server.client.events(PROJECT):
            if event.key in events:
                wrong.append(f"{event.key} is there twice")
            events[event.key] = (event.status, bytes(event.answer).decode())
    except httpx.HTTPError as error:
        return [f"the events cannot be read: {error!r}"]
    for note in found:
        if note.key not in events:
            wrong.append(f"{note.key} was acknowledged and is lost")
        elif events[note.key] != (note.status, note.answer):
            wrong.append(f"{note.key} was answered {note.answer}, not {events[note.key][1]}")
    return wrong


def _replayed(db: str) -> list[str]:
    ledger = open_ledger(db)
    try:
        return verify(ledger, PROJECT).differences
    finally:
        ledger.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("project")
    parser.add_argument("file", type=Path)
    parser.add_argument("--values", required=True)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.set_defaults(batch=0, requests=10_000_000)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(load(parser.parse_args()))).decode())


if __name__ == "__main__":
    main()
