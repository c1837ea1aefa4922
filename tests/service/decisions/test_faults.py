"""A disk that is full, and one that cannot promise anything: clear answers, and nothing lost."""

import contextlib
import resource
import secrets
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import apsw
import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askwise.service.api.messages import Opening
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.export import export_project
from askwise.service.replanning.policy_versions import PolicyCache
from chaos.databases import Postgres, clean_up, start_postgres
from serving import PROBLEM, create, database_fixture, postgres_fixture, served  # noqa: F401
from waiting import PATIENCE

FULL, NO_SYNC = "xWrite", "xSync"
WHY = {FULL: apsw.FullError("no space left"), NO_SYNC: apsw.IOError("the disk said no")}


class Disk(apsw.VFS):
    """SQLite's way to the disk, with an obstacle: from the n-th call on, every such call fails."""

    def __init__(self):
        self.fails_after = {}
        super().__init__("faulty", "unix", makedefault=True)

    def xOpen(self, name, flags):
        return File(self, name, flags)

    def calls(self, what):
        """One more call, which may be one too many."""
        if what in self.fails_after:
            self.fails_after[what] -= 1
            if self.fails_after[what] < 0:
                raise WHY[what]


class File(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data, offset):
        self._disk.calls(FULL)
        super().xWrite(data, offset)

    def xSync(self, flags):
        self._disk.calls(NO_SYNC)
        super().xSync(flags)


@pytest.fixture
def disk():
    disk = Disk()
    hook = lambda connection: connection.wal_autocheckpoint(20)  # noqa: E731
    apsw.connection_hooks.append(hook)  # so that moving pages into the file fails, too
    yield disk
    apsw.connection_hooks.remove(hook)
    disk.unregister()


def keys_of(db):
    """The keys of all events; that counters equal events is checked on the way."""
    ledger = open_ledger(db)
    try:
        assert verify(ledger, "clinic").differences == []
        lines = [msgspec.json.decode(line) for line in export_project(ledger, "clinic")]
        return [line["key"] for line in lines if line["type"] == "event"]
    finally:
        ledger.close()


@pytest.mark.parametrize("fault", [FULL, NO_SYNC])
def test_a_broken_disk_is_said_clearly_and_the_server_recovers(tmp_path, disk, fault):
    db = str(tmp_path / "ledger.db")
    with served(db) as server:
        http = httpx.Client(
            base_url=server.url,
            headers={"authorization": f"Bearer {server.token}"},
            timeout=PATIENCE,
        )

        def post(path, body, key):
            return http.post(path, json=body, headers={"idempotency-key": key})

        body = {"name": "clinic", "problem": msgspec.to_builtins(PROBLEM)}
        assert post("/v1/projects", body, "project").status_code == 201
        cases = "/v1/projects/clinic/cases"
        acknowledged = {f"before {k}": post(cases, {}, f"before-{k}").content for k in range(3)}
        disk.fails_after[fault] = 0
        for k in range(3):
            answer = post(cases, {}, f"during-{k}")
            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["retry-after"]
            assert "try again with the same key" in answer.json()["detail"]
        assert http.get(f"{cases}/1").status_code == 200  # what is there can be read
        disk.fails_after.clear()
        for k in range(3):
            assert post(cases, {}, f"during-{k}").status_code == 201
            assert post(cases, {}, f"before-{k}").content == acknowledged[f"before {k}"]
        http.close()
    expected = [f"{when}-{k}" for when in ("before", "during") for k in range(3)]
    assert sorted(keys_of(db)) == sorted(expected)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fault=st.sampled_from([FULL, NO_SYNC]),
    after=st.integers(0, 60),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6),
)
def test_whichever_write_fails_nothing_acknowledged_is_lost(
    tmp_path_factory, disk, fault, after, sizes
):
    db = str(tmp_path_factory.mktemp("ledger") / "ledger.db")
    ledger = open_ledger(db)
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    groups = [[secrets.token_hex(8) for _ in range(size)] for size in sizes]
    answers = {}

    def commit(keys):
        jobs = [Operation("clinic", key, 0, Opening()) for key in keys]
        results = writer.commit(jobs)
        for key, result in zip(keys, results, strict=True):
            if isinstance(result, Refusal):
                assert result.status == 503
            else:
                assert answers.setdefault(key, result.body) == result.body

    disk.fails_after[fault] = after
    for keys in groups:
        commit(keys)
    disk.fails_after.clear()
    before = set(answers)
    assert before <= set(keys_of(db))
    for keys in groups:
        commit(keys)
    sent = [key for keys in groups for key in keys]
    assert set(answers) == set(sent)
    assert sorted(keys_of(db)) == sorted(sent)
    ledger.close()


def test_connections_to_the_database_that_break_are_made_again(postgres):
    database = Postgres(postgres)
    with served(database.address) as server:
        http = httpx.Client(
            base_url=server.url,
            headers={"authorization": f"Bearer {server.token}"},
            timeout=PATIENCE,
        )
        body = {"name": "clinic", "problem": msgspec.to_builtins(PROBLEM)}
        keyed = {"headers": {"idempotency-key": "project"}}
        assert http.post("/v1/projects", json=body, **keyed).status_code == 201
        for k in range(3):
            assert database.drop_connections() > 0
            keyed = {"headers": {"idempotency-key": f"case-{k}"}}
            statuses = []
            while not statuses or statuses[-1] == 503:
                assert len(statuses) < 5
                statuses.append(
                    http.post("/v1/projects/clinic/cases", json={}, **keyed).status_code
                )
            assert statuses[-1] == 201
        http.close()
    database.close()
    assert sorted(keys_of(database.address)) == ["case-0", "case-1", "case-2"]


def client(server):
    """Somebody with the server's token."""
    headers = {"authorization": f"Bearer {server.token}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE)


def post(http, path, body, key):
    return http.post(f"/v1/projects{path}", json=body, headers={"idempotency-key": key})


NEW = {"name": "clinic", "problem": msgspec.to_builtins(PROBLEM)}


def test_after_a_restart_of_the_database_no_request_meets_a_connection_that_is_gone():
    with (
        restartable() as (address, restart),
        served(address) as server,
        client(server) as http,
        ThreadPoolExecutor(8) as clients,
    ):
        assert post(http, "", NEW, "project").status_code == 201

        def ask(k):
            if k % 8 == 7:
                return post(http, "/clinic/cases", {}, secrets.token_hex(8)).status_code
            return http.get("/v1/projects/clinic").status_code

        assert set(clients.map(ask, range(64))) == {200, 201}  # every reader is connected
        for _ in range(2):
            restart()
            assert list(map(ask, range(16))) == [200] * 7 + [201] + [200] * 7 + [201]
            assert set(clients.map(ask, range(64))) == {200, 201}


def test_what_is_held_goes_on_after_a_restart_of_the_database():
    """Every thread that reads, and the one that writes, has a connection of its own."""
    with restartable() as (address, restart):
        ledger = open_ledger(address)
        create(Writer(ledger, PolicyCache(ledger)))
        together = threading.Barrier(4)

        def read(_):
            together.wait(PATIENCE)
            return ledger.project("clinic").name

        with ThreadPoolExecutor(4) as readers:
            for _ in range(3):
                assert list(readers.map(read, range(4))) == ["clinic"] * 4
                with ledger.transaction() as transaction:
                    assert transaction.lock([1])
                restart()
        ledger.close()


@contextlib.contextmanager
def restartable():
    """The address of a server of its own, and what restarts it."""
    server = start_postgres()

    def restart():
        server.stop()
        server.ensure_postgres_running()

    try:
        yield server.get_uri(), restart
    finally:
        clean_up(server)


def test_a_path_that_names_what_cannot_be_is_not_found(database):
    """PostgreSQL cannot be asked for a NUL: the others in the group must not notice."""
    with served(database) as server, client(server) as http, ThreadPoolExecutor(8) as clients:
        assert post(http, "", NEW, "project").status_code == 201
        assert http.get("/v1/projects/cli%00nic").status_code == 404

        def open_one(k):
            name = "cli%00nic" if k % 4 == 0 else "clinic"
            return post(http, f"/{name}/cases", {}, f"case-{k}").status_code

        assert list(clients.map(open_one, range(80))) == [404, 201, 201, 201] * 20


def test_a_process_on_a_full_disk_answers_and_goes_on_when_there_is_room(tmp_path):
    """A real process, whose files may not grow; its log is a file, too."""
    db = str(tmp_path / "ledger.db")
    ledger = open_ledger(db)
    create(Writer(ledger, PolicyCache(ledger)))
    ledger.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "askwise", "serve", "--db", db, "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--no-tokens"], stdout=subprocess.DEVNULL, stderr=log, cwd=tmp_path
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as http:
            _wait_until_ready(http)

            def post(path, body, key):
                path = f"/v1/projects/clinic/cases{path}"
                return http.post(path, json=body, headers={"idempotency-key": key})

            first = post("", {}, "first")
            assert first.status_code == 201
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            for key in ("second", "third"):
                full = post("", {}, key)
                assert full.status_code == 503, full.text
                assert full.json()["status"] == 503
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
            assert post("", {}, "second").status_code == 201
            assert post("", {}, "first").content == first.content
            assert process.poll() is None
    finally:
        process.terminate()
        code = process.wait(PATIENCE)
    assert code == 0
    assert keys_of(db) == ["first", "second"]


def _wait_until_ready(http):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if http.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the server did not start")
