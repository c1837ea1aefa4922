"""What the tests of the service share: databases, a server in a thread, and a small problem."""

import asyncio
import contextlib
import functools
import secrets
import socket
import threading

import httpx
import msgspec
import psycopg
import pytest

import askwise as aw
from askwise.service.api.messages import ChosenLearner, NewProject
from askwise.service.client.requests import http_options
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.creation import project_creation
from askwise.service.ledger import open_ledger
from askwise.service.operations.warm_up import warm_up
from askwise.service.operations.worker import listen, run, work
from askwise.service.settings import Settings
from askwise.service.tokens import new_token
from waiting import PATIENCE

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
    ],
    actions=["wait", "treat"],
    reward_value=100.0,
)


@pytest.fixture(scope="session", name="postgres")
def postgres_fixture(postgres_of_all_tests):
    """The address of a real server; each test makes a database of its own in it."""
    return postgres_of_all_tests


@pytest.fixture(params=["sqlite", "postgresql"], name="database")
def database_fixture(request, tmp_path):
    """A database that is empty, of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    address = request.getfixturevalue("postgres")
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield address.replace("/postgres?", f"/{name}?")


@pytest.fixture(name="ledger")
def ledger_fixture(database):
    ledger = open_ledger(database)
    yield ledger
    ledger.close()


def create(writer, name="clinic", problem=PROBLEM, learner="learner", **options):
    """A project, written."""
    body = NewProject(name, problem, ChosenLearner(learner, options))
    (result,) = writer.commit([project_creation(secrets.token_hex(8), body)[1]])
    return result


def ask(writer, body, case=0, *, key=None, project="clinic"):
    """One request about a case, committed."""
    (result,) = writer.commit([Operation(project, key or secrets.token_hex(8), case, body)])
    return result


def decoded(result):
    return msgspec.json.decode(result.body)


warm_up_once = functools.cache(warm_up)
"""A server in a thread has no warm-up beside it, and requests in tests do not wait for ever."""


class Served:
    """A server in a thread of this process."""

    def __init__(self, db, **settings):
        warm_up_once()
        ledger = open_ledger(db)
        self.token, kept = new_token("admin")
        ledger.add_token(kept)
        ledger.close()
        self._settings = Settings(**({"db": db, "port": 0} | settings))
        self._socket = listen(self._settings)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(**http_options(self.url, "", PATIENCE, None))
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: run(self._run()))

    async def _run(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await work(self._settings, 0, self._socket, started=self._ready.set, stop=self._stop)

    def start(self):
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()
            self.http.close()

    def raw(self, request, *, reads=True):
        """What these very bytes are answered, up to the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            parts = []
            if reads:
                with contextlib.suppress(ConnectionResetError):
                    while part := connection.recv(65536):
                        parts.append(part)
            return b"".join(parts)


@contextlib.contextmanager
def served(db, **settings):
    server = Served(db, **settings)
    server.start()
    try:
        yield server
    finally:
        server.http.close()  # an idle connection is given a second
        server.stop()
