"""The processes of a server: this one serves too, and looks after the others.

Others are the further workers, the replanner, a rehearsal that ends by itself, and simulated
patients if they were asked for. One that dies is started again. They read their settings from
standard input and keep it open: when this process is gone, however that came, they notice, finish
what they have accepted, and end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

import msgspec

from askwise.service.ledger import open_ledger
from askwise.service.operations.logging import log, log_failure, say_all_in_lines
from askwise.service.operations.settings import Settings
from askwise.service.operations.tokens import new_token
from askwise.service.operations.worker import listen, run, work
from askwise.service.replanning.replanner import Replanner, stand_back

AGAIN = 0.5
"""Seconds before a process that died is started again."""

TURN = 0.0005
"""Seconds that a thread of a worker keeps the interpreter when another wants it. The default is ten
times as long, and the loop would wait that long for the writer at every read and every write."""

GARBAGE = (50_000, 20, 50)
"""How rarely garbage is looked for. A worker makes thousands of small objects a request, none of
them in circles, and holds many."""

PATIENCE = 30.0
"""Seconds for the others to end by themselves."""


def first_token(db: str) -> str | None:
    """A token for everything, if there never was one; it cannot be shown again."""
    ledger = open_ledger(db)
    try:
        if any(token.scope == "admin" and not token.project for token in ledger.tokens()):
            return None
        token, kept = new_token("admin")
        ledger.add_token(kept)
        return token
    finally:
        ledger.close()


def listen_all(settings: Settings) -> list[socket.socket]:
    """A socket for each worker, all on one port; whoever connects from now on waits."""
    first = listen(settings)
    same = msgspec.structs.replace(settings, port=first.getsockname()[1])
    return [first, *(listen(same) for _ in range(1, settings.workers))]


def serve(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    demo: bool = False,
    started: Callable[[int], None] = lambda port: None,
) -> None:
    """Serve on these sockets until SIGTERM, SIGINT or SIGHUP; `started` is told the port."""
    say_all_in_lines()
    first, *more = sockets
    port = first.getsockname()[1]
    settings = msgspec.structs.replace(settings, port=port)
    workers = {f"worker {k}": listening for k, listening in enumerate(more, 1)}
    roles = [*workers, "replanner", "rehearsal", *(["demo"] if demo else [])]
    others = Others(settings, roles, workers)

    def ready() -> None:
        others.start()
        started(port)

    _be_quick()
    try:
        run(work(settings, 0, first, started=ready))
    finally:
        others.stop()


class Others:
    """The other processes."""

    def __init__(
        self, settings: Settings, roles: list[str], sockets: dict[str, socket.socket]
    ) -> None:
        self._settings = msgspec.json.encode(settings) + b"\n"
        self._roles = roles
        self._sockets = sockets
        """On which each of the workers among them listens."""
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._missing: set[str] = set()
        """Those that died and are not started again yet."""
        self._stop = threading.Event()
        self._guard = threading.Thread(target=self._look_after, name="guard", daemon=True)

    def start(self) -> None:
        """Start them, and again whenever one dies."""
        for role in self._roles:
            self._start(role)
        self._guard.start()

    def stop(self) -> None:
        """Let them finish."""
        self._stop.set()
        if self._guard.is_alive():
            self._guard.join()
        for process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()
        for role, process in self._running.items():
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                log("error", "a process did not end and is killed", role=role)
                process.kill()
                process.wait()

    def _start(self, role: str) -> None:
        command = [sys.executable, "-m", "askwise.service.operations.processes", *role.split()]
        listening = self._sockets.get(role)
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[] if listening is None else [listening.fileno()],
        )
        self._running[role] = process
        self._missing.discard(role)
        assert process.stdin is not None
        try:
            process.stdin.write(self._settings)
            if listening is not None:
                process.stdin.write(b"%d\n" % listening.fileno())
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once, and is started again like any other

    def _look_after(self) -> None:
        while not self._stop.wait(AGAIN):
            for role, process in list(self._running.items()):
                if process.poll() is not None:
                    self._bury(role, process)
            for role in sorted(self._missing):
                try:
                    self._start(role)
                except Exception as error:  # no memory, no process to be had: later there may be
                    log_failure(f"{role} could not be started", error)

    def _bury(self, role: str, process: subprocess.Popen[bytes]) -> None:
        """A process has ended; all but the rehearsal are missing then."""
        del self._running[role]
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # what it was told last may not have been sent yet
            process.stdin.close()
        if role != "rehearsal":
            self._missing.add(role)
            log("error", "a process died", role=role, code=process.returncode)


def main(role: str, number: str = "0") -> None:
    """One of the others."""
    say_all_in_lines()
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    if role == "worker":
        listening = socket.socket(fileno=int(sys.stdin.buffer.readline()))
        _when_alone(lambda: os.kill(os.getpid(), signal.SIGTERM))
        _be_quick()
        run(work(settings, int(number), listening))
        return
    if role == "demo":
        from askwise.service.dashboard.demo import Patients

        patients = Patients(settings)
        _on_end(patients.stop)
        patients.run()
        return
    if role == "rehearsal":
        from askwise.service.replanning.warm_up import rehearse

        _on_end(lambda: os._exit(0))  # the compiler cannot be interrupted otherwise
        stand_back()
        rehearse()
        os._exit(0)  # a thread still reads standard input
    ledger = open_ledger(settings.db)
    replanner = Replanner(ledger)
    _on_end(replanner.stop)
    replanner.run()
    ledger.close()


def _be_quick() -> None:
    """What this process is from now on is a worker."""
    sys.setswitchinterval(TURN)
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def _on_end(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop())
    _when_alone(stop)


def _when_alone(stop: Callable[[], None]) -> None:
    """Call it when whoever started this process is gone."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        stop()

    threading.Thread(target=watch, name="watch", daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
