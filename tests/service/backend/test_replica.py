"""Reports that are read from a database which follows: how far behind, and what if it is gone."""

import secrets

import psycopg
import pytest

from askwise.errors import OptionError
from askwise.service.backend import replica as replicas
from askwise.service.operations.backup import backup, restore
from askwise.service.settings import Settings
from service_calls import CASES, as_json, get, post
from serving import PROBLEM, postgres_fixture, served  # noqa: F401
from waiting import until


@pytest.fixture(name="databases")
def databases_fixture(postgres):
    names = [f"test_{secrets.token_hex(6)}" for _ in range(2)]
    with psycopg.connect(postgres, autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name}")
    return tuple(postgres.replace("/postgres?", f"/{name}?") for name in names)


def test_reports_are_read_there_and_say_how_far_behind(databases, tmp_path, monkeypatch):
    monkeypatch.setattr(replicas, "LOOKED_EVERY", 0.05)
    ledger, follower = databases
    with served(ledger) as server:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": {"name": "seq-oos"}}
        assert post(server, "/v1/projects", body).status_code == 201
        assert post(server, CASES, {}).status_code == 201
        assert get(server, "/v1/projects/clinic/summary").json()["behind"] is None
    backup(ledger, tmp_path / "then.db")
    restore(tmp_path / "then.db", follower)  # a follower that has stopped to follow
    with served(ledger, read_db=follower) as server:

        def summary():
            return get(server, "/v1/projects/clinic/summary").json()

        until(lambda: summary()["behind"] == 0)
        assert post(server, CASES, {}).status_code == 201
        until(lambda: summary()["behind"] > 0.2)
        assert summary()["cases"] == 1  # as it was when it was last heard of
        assert len(get(server, CASES).json()["cases"]) == 1
        assert get(server, f"{CASES}/2").json()["case"] == 2  # a case by itself is never behind
        lag = [x for x in get(server, "/metrics").text.splitlines() if "replica_lag" in x][-1]
        assert float(lag.split()[-1]) > 0.2
        name = follower.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(ledger, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        # a request just then may be told to come again
        until(lambda: summary().get("behind", "come again") is None)
        assert summary()["cases"] == 2
        assert "replica_lag" not in get(server, "/metrics").text


@pytest.mark.parametrize("db", ["askwise.db", "postgresql://db/askwise"])
def test_only_a_postgresql_can_follow(db):
    with pytest.raises(OptionError, match="--read-db"):
        Settings(db=db, read_db="copy.db")
