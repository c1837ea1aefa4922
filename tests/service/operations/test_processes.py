"""Processes of a server: they listen before they say so, come back, and end in order."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from askwise.service.client import Client
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from askwise.service.operations import processes
from askwise.service.operations.processes import ChildProcesses, listen_all
from askwise.service.settings import Settings
from service.operations.test_serve import children_of, serving
from serving import PROBLEM
from waiting import PATIENCE, until

BUSY = "import time; end = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def busy_machine():
    """Other work for every processor."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    yield
    for other in others:
        other.kill()
        other.wait()


def connected(port):
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)):
        return True


def test_whoever_connects_before_a_worker_is_there_waits_and_is_not_refused():
    sockets = listen_all(Settings(port=0, workers=3))
    (port,) = {listening.getsockname()[1] for listening in sockets}
    try:
        assert all(connected(port) for _ in range(50))
    finally:
        for listening in sockets:
            listening.close()


@pytest.mark.usefixtures("busy_machine")
def test_the_address_is_printed_when_it_can_be_called(folder):
    with serving(folder, "--workers", "2", "--no-warm-up") as (_, url):
        port = int(url.rpartition(":")[2])
        assert all(connected(port) for _ in range(50))


def test_a_worker_that_is_started_again_refuses_nobody(folder):
    with serving(folder, "--workers", "2", "--no-warm-up") as (process, url):
        port = int(url.rpartition(":")[2])
        until(lambda: "worker 1" in children_of(process))
        worker = children_of(process)["worker 1"]
        os.kill(worker, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while children_of(process).get("worker 1", worker) == worker:
            assert connected(port)  # the kernel gives every second of these to the one that is gone
            assert time.monotonic() < end


def test_what_was_accepted_is_finished_before_the_end(folder):
    with serving(folder, "--no-warm-up") as (process, url):
        token = re.search(r"askw_\S+", process.stdout.readline())[0]
        answered, done = [], threading.Event()
        with Client(url, token, timeout=PATIENCE) as client:
            client.create_project("clinic", PROBLEM)

        def ask():
            with (
                contextlib.suppress(Exception),
                Client(url, token, retries=0, timeout=PATIENCE) as client,
            ):
                while not done.is_set():
                    answered.append(client.open("clinic").case)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(answered) > 20)
        process.send_signal(signal.SIGHUP)  # as SIGINT and SIGTERM, which other tests send
        assert process.wait(PATIENCE) == 0
        done.set()
        for thread in threads:
            thread.join()
    ledger = open_ledger(str(folder / "askwise.db"))
    verdict = verify(ledger, "clinic")
    ledger.close()
    assert verdict.differences == []
    assert set(answered) <= set(range(1, verdict.cases + 1))


def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch, capfd):
    """A guard that gave up at the first failure would leave the server without a planner."""
    started, real = [], subprocess.Popen

    def popen(command, **more):
        started.append(command[-1])
        if len(started) in (2, 3):
            raise BlockingIOError("no process to be had")
        return real([sys.executable, "-c", "input()"], **more)

    monkeypatch.setattr(processes, "RESTARTED_AFTER", 0.01)
    monkeypatch.setattr(subprocess, "Popen", popen)
    others = ChildProcesses(Settings(), ["replanner"], {})
    others.start()
    try:
        until(lambda: len(started) >= 5)
    finally:
        others.stop()
    assert set(started) == {"replanner"}
    said = capfd.readouterr().err
    assert said.count('"replanner could not be started"') == 2
    assert '"a process died"' in said
