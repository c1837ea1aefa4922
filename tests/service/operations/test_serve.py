"""`askwise serve` as people start it, in processes of its own, and the commands beside it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from askwise.cli import app
from askwise.errors import LedgerError, OptionError, ServiceError
from askwise.service.client import Client
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from askwise.service.tokens import new_token
from serving import PROBLEM
from waiting import PATIENCE, until

SOURCE = os.pathsep.join(sys.path)


@contextlib.contextmanager
def serving(folder, *options):
    """`askwise serve` in a folder; yields the process, its address and what it printed."""
    log = (folder.parent / f"{folder.name}.log").open("a")
    process = subprocess.Popen(
        [sys.executable, "-m", "askwise", "serve", "--port", "0", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": SOURCE},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        first = process.stdout.readline()
        address = re.search(r"http://\S+", first)
        assert address, first
        yield process, address[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        process.stdout.close()
        log.close()


def children_of(process):
    threads = Path(f"/proc/{process.pid}/task").iterdir()  # each has the children that it started
    roles = {}
    pids = []
    for thread in threads:
        with contextlib.suppress(OSError):  # it has just ended
            pids += [int(pid) for pid in (thread / "children").read_text().split()]
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "askwise.service.operations.processes" in words:
                roles[
                    " ".join(
                        words[words.index("askwise.service.operations.processes") + 1 :]
                    ).strip()
                ] = pid
    return roles


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_serve_needs_nothing_and_leaves_one_file(folder):
    with serving(folder) as (process, url):
        said = process.stdout.readline()
        token = re.search(r"askw_\S+", said)[0]
        with Client(url, token, timeout=PATIENCE) as client:
            client.create_project("clinic", PROBLEM)
            case = client.open("clinic")
            client.cancel("clinic", case.case)
            until(lambda: client.project("clinic").policy_version > 1)  # the replanner works
        assert {p.name.removeprefix("askwise.db") for p in folder.iterdir()} <= {"", "-wal", "-shm"}
        replanner = children_of(process)["replanner"]
        until(lambda: "warm-up" not in children_of(process))
    assert process.returncode == 0
    logged = (folder.parent / "work.log").read_text().splitlines()
    assert all("what" in json.loads(line) for line in logged)
    assert [p.name for p in folder.iterdir()] == ["askwise.db"]
    assert not Path(f"/proc/{replanner}").exists()
    with serving(folder, "--no-warm-up") as (process, url):
        assert "warm-up" not in children_of(process)
        assert httpx.get(url + "/healthz", timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGINT)
        assert "askw_" not in process.stdout.read()  # it is shown once
    assert process.returncode == 0


def test_the_first_start_prints_a_token_for_everything_if_there_is_none_yet(folder):
    ledger = open_ledger(str(folder / "askwise.db"))
    ledger.add_token(new_token("decide", "clinic")[1])  # as `askwise ledger create` makes one
    ledger.close()
    with serving(folder, "--no-warm-up") as (process, url):
        token = re.search(r"askw_\S+", process.stdout.readline())[0]
        with Client(url, token, timeout=PATIENCE) as client:
            assert client.token().scope == "admin"


def test_workers_that_are_killed_lose_nothing_and_come_back(folder):
    with serving(folder, "--workers", "2", "--no-warm-up") as (process, url):
        token = re.search(r"askw_\S+", process.stdout.readline())[0]
        with Client(url, token, timeout=PATIENCE) as client:
            client.create_project("clinic", PROBLEM)
        until(lambda: {"worker 1", "replanner"} <= set(children_of(process)))
        opened, done = [], threading.Event()

        def ask():
            with Client(url, token, retries=20, timeout=PATIENCE) as client:
                while not done.is_set():
                    opened.append(client.open("clinic").case)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        before = children_of(process)
        for role in ("worker 1", "replanner"):
            time.sleep(0.5)
            os.kill(before[role], signal.SIGKILL)
        until(lambda: {"worker 1", "replanner"} <= set(children_of(process)))
        time.sleep(1.0)
        done.set()
        for thread in threads:
            thread.join()
        after = children_of(process)
        assert all(after[role] != before[role] for role in ("worker 1", "replanner"))
        # killed outright: the others notice, and end by themselves
        process.kill()
        process.wait()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in after.values()))
    ledger = open_ledger(str(folder / "askwise.db"))
    verdict = verify(ledger, "clinic")
    assert verdict.differences == []
    assert sorted(opened) == list(range(1, verdict.cases + 1))
    assert len(opened) > 10
    ledger.close()


def test_simulated_patients_come(folder):
    with serving(folder, "--demo", "--no-warm-up") as (process, url):
        token = re.search(r"askw_\S+", process.stdout.readline())[0]
        with Client(url, token, timeout=PATIENCE) as client:

            def rewarded():
                with contextlib.suppress(ServiceError):
                    return client.summary("demo").statuses["rewarded"] >= 3
                return False

            until(rewarded)


def askwise(*arguments):
    return CliRunner().invoke(app, arguments, catch_exceptions=True)


def test_commands_about_tokens_and_ledgers(folder, monkeypatch):
    monkeypatch.chdir(folder)
    missing = askwise("token", "list")
    assert isinstance(missing.exception, LedgerError)
    assert f"{folder}/askwise.db': name it with --db" in str(missing.exception)
    assert list(folder.iterdir()) == []
    open_ledger("askwise.db").close()
    shown = askwise("token", "create", "--scope", "read").stdout
    number, token = shown.split(": ")
    assert token.startswith("askw_")
    listed = askwise("token", "list").stdout
    assert number in listed
    assert token.strip() not in listed
    assert "is revoked" in askwise("token", "revoke", number).stdout
    assert isinstance(askwise("token", "revoke", number).exception, LedgerError)
    assert isinstance(askwise("token", "create", "--project", "no").exception, LedgerError)
    before = askwise("token", "list").stdout
    for option in ("--expires-in", "--rate"):  # 0 is not a token for ever, or without a limit
        refused = askwise("token", "create", option, "0").exception
        assert isinstance(refused, OptionError)
        assert f"{option} must be at least 1, got 0: leave it out" in str(refused)
    assert askwise("token", "list").stdout == before
    assert askwise("ledger", "verify").stdout == "askwise.db holds no projects\n"
    assert isinstance(askwise("ledger", "verify", "none").exception, LedgerError)
    assert isinstance(
        askwise("ledger", "export", "none", "--output", "x.ndjson").exception, LedgerError
    )
    assert not Path("x.ndjson").exists()
    assert askwise("serve", "--host", "0.0.0.0", "--no-tokens").exception is not None
