"""What /readyz says: whether decisions can be made, and what is wrong though they are."""

import time

import psycopg
import pytest

from askwise.service.api.messages import Opening
from askwise.service.backend.backend import Backend
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from askwise.service.settings import Settings
from chaos.databases import clean_up, start_postgres
from service.decisions.test_faults import FULL, NEW, NO_SYNC, client, disk, post  # noqa: F401
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    postgres_fixture,
    served,
)
from waiting import PATIENCE


def until(http, status):
    """What /readyz says as soon as it has this status."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = http.get("/readyz")
        if answer.status_code == status:
            return answer.json()
        time.sleep(0.02)
    raise TimeoutError(f"/readyz was never {status}, but {answer.status_code} {answer.text}")


@pytest.mark.parametrize("fault", [FULL, NO_SYNC])
def test_a_disk_that_takes_nothing_is_said_until_it_does(tmp_path, disk, fault):  # noqa: F811
    with served(str(tmp_path / "ledger.db")) as server, client(server) as http:
        assert until(http, 200) == {"status": "ready"}
        assert post(http, "", NEW, "project").status_code == 201
        disk.fails_after[fault] = 0
        assert post(http, "/clinic/cases", {}, "one").status_code == 503
        answer = http.get("/readyz")  # at once
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert answer.json()["detail"] == "the ledger cannot be written now"
        assert http.get("/healthz").status_code == 200
        assert b"askwise_ready" in http.get("/metrics").content
        disk.fails_after.clear()
        assert until(http, 200) == {"status": "ready"}  # though nobody asks for anything
        assert post(http, "/clinic/cases", {}, "one").status_code == 201


def test_a_full_disk_is_noticed_though_nobody_writes(tmp_path, disk, monkeypatch):  # noqa: F811
    monkeypatch.setattr("askwise.service.backend.readiness.PROBED_EVERY", 0.3)
    with served(str(tmp_path / "ledger.db")) as server, client(server) as http:
        until(http, 200)
        disk.fails_after[FULL] = 0
        assert until(http, 503)["detail"] == "the ledger cannot be written now"
        disk.fails_after.clear()
        until(http, 200)


def test_asking_writes_nothing(tmp_path):
    where = tmp_path / "ledger.db"
    with served(str(where)) as server, client(server) as http:
        until(http, 200)
        log = where.with_name("ledger.db-wal")
        before = log.stat().st_size, log.stat().st_mtime_ns
        for _ in range(200):
            assert http.get("/readyz").status_code == 200
        assert (log.stat().st_size, log.stat().st_mtime_ns) == before


def test_a_server_that_lets_nobody_write_is_said(monkeypatch):
    monkeypatch.setattr("askwise.service.backend.readiness.PROBED_IN_DOUBT_EVERY", 0.1)
    postgres = start_postgres()
    try:
        address = postgres.get_uri()
        with served(address) as server, client(server) as http:
            until(http, 200)
            assert post(http, "", NEW, "project").status_code == 201
            read_only(address, "on")
            assert until(http, 503)["detail"] == "the ledger cannot be written now"
            assert http.get("/v1/projects/clinic").status_code == 200
            assert post(http, "/clinic/cases", {}, "one").status_code == 503
            read_only(address, "off")
            until(http, 200)
            assert post(http, "/clinic/cases", {}, "one").status_code == 201
            postgres.stop()
            assert "the ledger cannot be read now" in until(http, 503)["detail"]
            postgres.ensure_postgres_running()
            until(http, 200)
            assert post(http, "/clinic/cases", {}, "two").status_code == 201
    finally:
        clean_up(postgres)


def read_only(address, value):
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")


# --- planning ------------------------------------------------------------------------------------


def test_it_says_when_nobody_plans(database, monkeypatch):
    monkeypatch.setattr("askwise.service.backend.readiness.LATE", 0.5)
    with served(database) as server, client(server) as http:  # in a thread: nobody plans there
        assert post(http, "", NEW, "project").status_code == 201
        assert until(http, 200) == {"status": "ready"}
        assert post(http, "/clinic/cases", {}, "one").status_code == 201
        warns(http, ["nobody plans: 1 of the projects wait for a policy"])
        assert 'askwise_plan_late{project="clinic"} 1.0' in http.get("/metrics").text
        ledger = open_ledger(database)
        ledger.take_lease("somebody")
        warns(http, ["planning is behind: 1 of the projects wait for a policy"])
        ledger.release_lease("somebody")
        assert Replanner(ledger).step() == 1
        warns(http, None)
        assert 'askwise_plan_late{project="clinic"} 0.0' in http.get("/metrics").text
        ledger.close()


def warns(http, expected):
    deadline = time.monotonic() + PATIENCE
    while (answer := http.get("/readyz")).json().get("warnings") != expected:
        assert time.monotonic() < deadline, answer.text
        assert answer.status_code == 200  # what is there can be followed
        time.sleep(0.02)


# --- policies that cannot be read ----------------------------------------------------------------


def damage(ledger, project, versions):
    with ledger.write_session() as session:
        for version in versions:
            session.change(
                "UPDATE policies SET blob = ? WHERE project = ? AND version = ?",
                *(b"damaged", project, version),
            )


@pytest.fixture(name="three")
def three_fixture(database):
    """A ledger with three projects, each with a second policy."""
    ledger = open_ledger(database)
    writer = Writer(ledger, PolicyCache(ledger))
    for name in ("alpha", "clinic", "omega"):
        create(writer, name)
        ask(writer, Opening(), project=name)
    replanner = Replanner(ledger)
    assert replanner.step() == 3
    ledger.release_lease(replanner._holder)
    yield ledger
    ledger.close()


def test_a_policy_that_cannot_be_read_stops_nobody_else(three, database):
    damage(three, 1, [2])
    with served(database) as server, client(server) as http:
        until(http, 200)
        warns(http, ["1 of the projects cannot follow the newest policy"])
        text = http.get("/metrics").text
        for name in ("alpha", "clinic", "omega"):
            assert f'askwise_policy_version{{project="{name}"}} 2.0' in text
        assert 'askwise_policy_unreadable{project="alpha"} 1.0' in text
        assert 'askwise_policy_unreadable{project="omega"} 0.0' in text
        with http.stream("GET", "/v1/projects/omega/live") as live:
            assert "policy_version" in next(live.iter_text())
        versions = {
            name: post(http, f"/{name}/cases", {}, "new").json()["policy_version"]
            for name in ("alpha", "clinic", "omega")
        }
        assert versions == {"alpha": 1, "clinic": 2, "omega": 2}  # the last that can be read
        # new versions of the others are taken up, and the next of its own, too
        assert Replanner(three).step() == 3
        warns(http, None)
        for name in versions:  # each is taken up in its own time
            deadline, version, key = time.monotonic() + PATIENCE, 0, 0
            while version != 3 and time.monotonic() < deadline:
                key += 1
                answer = post(http, f"/{name}/cases", {}, f"newer-{key}")
                version = answer.json()["policy_version"]
            assert version == 3


def test_a_worker_that_starts_says_what_it_waits_for(three, database):
    backend = Backend(Settings(db=database))
    (said,) = backend.readiness.obstacles()
    assert "the projects and their policies are being read" in said
    backend.refresh()
    assert backend.readiness.obstacles() == []
    backend.ledger.close()


def test_without_any_policy_a_project_is_refused_by_itself(three, database):
    damage(three, 1, [1, 2])
    backend = Backend(Settings(db=database))
    backend.refresh()
    assert list(backend.projects) == ["alpha", "clinic", "omega"]
    assert list(backend.readiness.unreadable) == ["alpha"]
    assert backend.readiness.obstacles() == []
    before = backend.writer.groups
    refused, *written = [
        ask(backend.writer, Opening(), project=name) for name in ("alpha", "clinic", "omega")
    ]
    assert refused.status == 503
    assert refused.detail == "the policy of version 2 cannot be read; nothing was written"
    assert [decoded(w)["policy_version"] for w in written] == [2, 2]
    assert backend.writer.groups - before == 3  # nobody had to be tried again
    assert Replanner(three).step() == 2  # the others'
    backend.ledger.close()


def test_a_project_whose_row_is_damaged_stops_nobody_else(three, database):
    with three.write_session() as session:
        session.change("UPDATE projects SET problem = 'damaged' WHERE id = 1")
    backend = Backend(Settings(db=database))
    backend.refresh()
    assert list(backend.projects) == ["alpha", "clinic", "omega"]
    assert list(backend.readiness.unreadable) == ["alpha"]
    backend.ledger.close()
