"""The processes of a server: the first one is a worker itself, and supervises its children.

Children are the further workers, the replanner, a warm-up that ends by itself, and simulated
patients if they were asked for. One that dies is started again. They read their settings from
standard input and keep it open: when the first process is gone, for whatever reason, they notice,
finish what they have accepted, and end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence

import msgspec

from askwise.service.ledger import open_ledger
from askwise.service.logging import log, log_as_json, log_failure
from askwise.service.operations.worker import listen, run, work
from askwise.service.priority import lower_priority
from askwise.service.replanning.replanner import Replanner
from askwise.service.settings import Settings
from askwise.service.tokens import new_link, new_token

RESTARTED_AFTER = 0.5
"""Seconds before a process that died is started again."""

SWITCH_INTERVAL = 0.0005
"""Seconds that a thread of a worker keeps the interpreter when another wants it. The default is ten
times as long, and the loop would wait that long for the writer at every read and every write."""

GC_THRESHOLDS = (50_000, 20, 50)
"""The thresholds of garbage collection. A worker makes thousands of small objects a request, none
of them in cycles, and holds many.
"""

END_WITHIN = 30.0
"""Seconds for children to end by themselves, before they are killed."""


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


def sign_in_link(db: str, address: str) -> str:
    """An address that opens the dashboard signed in, once.

    What the link is stands behind the #, which no browser sends to a server, so no log has it.
    """
    ledger = open_ledger(db)
    try:
        text, kept = new_link()
        ledger.add_token(kept)
    finally:
        ledger.close()
    return f"{address}/#/sign-in/{text}"


def listen_all(settings: Settings) -> list[socket.socket]:
    """A socket for each worker, all on one port; connections wait there from now on."""
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
    log_as_json()
    first, *more = sockets
    port = first.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="askwise-metrics-") if more else ""
    settings = msgspec.structs.replace(settings, port=port, metrics_folder=folder)
    workers = {f"worker {k}": listening for k, listening in enumerate(more, 1)}
    beside = [*(["warm-up"] if settings.warms_up else []), *(["demo"] if demo else [])]
    roles = [*workers, "replanner", *beside]
    children = ChildProcesses(settings, roles, workers)

    def ready() -> None:
        children.start()
        started(port)

    tune_interpreter()
    try:
        run(work(settings, 0, first, started=ready))
    finally:
        children.stop()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


class ChildProcesses:
    """Starts and supervises the children of the first process."""

    def __init__(
        self, settings: Settings, roles: list[str], sockets: dict[str, socket.socket]
    ) -> None:
        self._settings = msgspec.json.encode(settings) + b"\n"
        self._roles = roles
        self._sockets = sockets
        """On which each of the workers among them listens."""
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._missing: set[str] = set()
        """The workers that died and are not started again yet."""
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start them, and again whenever one dies."""
        for role in self._roles:
            self._start(role)
        self._supervisor.start()

    def stop(self) -> None:
        """Ends the processes after they have finished what they accepted."""
        self._stop.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        for process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()
        for role, process in self._running.items():
            try:
                process.wait(END_WITHIN)
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

    def _supervise(self) -> None:
        while not self._stop.wait(RESTARTED_AFTER):
            for role, process in list(self._running.items()):
                if process.poll() is not None:
                    self._note_end(role, process)
            for role in sorted(self._missing):
                try:
                    self._start(role)
                except Exception as error:  # no memory, no process to be had: later there may be
                    log_failure(f"{role} could not be started", error)

    def _note_end(self, role: str, process: subprocess.Popen[bytes]) -> None:
        """A process has ended; all but the warm-up are missing then."""
        del self._running[role]
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # the last message may not have been sent yet
            process.stdin.close()
        if role != "warm-up":
            self._missing.add(role)
            log("error", "a process died", role=role, code=process.returncode)


def main(role: str, number: str = "0") -> None:
    """Run one of the children."""
    log_as_json()
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    if role == "worker":
        listening = socket.socket(fileno=int(sys.stdin.buffer.readline()))
        _when_parent_ends(lambda: os.kill(os.getpid(), signal.SIGTERM))
        tune_interpreter()
        run(work(settings, int(number), listening))
        end_process()
    if role == "demo":
        from askwise.service.operations.demo import SimulatedPatients

        patients = SimulatedPatients(settings)
        _on_stop(patients.stop)
        patients.run()
        return
    if role == "warm-up":
        from askwise.service.operations.warm_up import warm_up

        _on_stop(lambda: os._exit(0))  # the compiler cannot be interrupted otherwise
        lower_priority()
        warm_up()
        end_process()  # a thread still reads standard input
    ledger = open_ledger(settings.db)
    replanner = Replanner(ledger)
    _on_stop(replanner.stop)
    replanner.run()
    ledger.close()
    end_process()


def end_process() -> None:
    """Ends this process at once: all is written, and reports that are being made are not needed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def tune_interpreter() -> None:
    """Set the interpreter up for a worker: short turns of its threads, and rare collections."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _on_stop(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop())
    _when_parent_ends(stop)


def _when_parent_ends(stop: Callable[[], None]) -> None:
    """Call it when the process that started this one is gone."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        stop()

    threading.Thread(target=watch, name="watch", daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
