"""A backup is of one moment, and what is restored from it goes on."""

import secrets

import apsw
import psycopg
import pytest

from askwise.errors import LedgerError
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.schema import STEPS
from askwise.service.ledger.sqlite import DIALECT
from askwise.service.operations.backup import backup, restore
from askwise.service.replanning.policy_versions import PolicyCache
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

SEES = {"mammogram": "low", "mri": None}


def test_a_backup_is_restored_elsewhere(ledger, database, tmp_path):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    for k in range(30):
        case = decoded(ask(writer, Opening()))
        while case["wanted"]:
            values = {name: SEES[name] for name in case["wanted"]}
            case = decoded(ask(writer, Observing(values), case["case"]))
        ask(writer, Rewarding(k / 30), case["case"])
    copy, elsewhere = tmp_path / "copy.db", str(tmp_path / "elsewhere.db")
    assert backup(database, copy) > 60
    ask(writer, Opening())  # servers go on meanwhile
    with pytest.raises(LedgerError, match="replaces nothing"):
        backup(database, copy)
    restore(copy, elsewhere)
    for full in (elsewhere, database):
        with pytest.raises(LedgerError, match="holds something"):
            restore(copy, full)
    with pytest.raises(LedgerError, match="there is no backup"):
        restore(tmp_path / "nowhere.db", str(tmp_path / "new.db"))
    other = open_ledger(elsewhere)
    assert verify(other, "clinic").differences == []
    number = ledger.project("clinic").id
    assert other.events(number, 0, 1000) == ledger.events(number, 0, 1000)[:-1]
    assert other.tokens() == ledger.tokens()
    again = Writer(other, PolicyCache(other))
    assert ask(again, Opening()).status == 201
    create(again, "second")
    assert other.project("second").id == number + 1
    other.close()
    assert list(tmp_path.glob(".*part*")) == []


def older_ledger(path):
    """A ledger of the first schema, with a project."""
    ledger = open_ledger(str(path.with_name("new.db")))
    create(Writer(ledger, PolicyCache(ledger)))
    project = ledger.project("clinic")
    with ledger.read_session() as session:
        row = session.all("SELECT * FROM projects WHERE id = ?", project.id)[0]
        policy = session.all("SELECT * FROM policies WHERE project = ?", project.id)[0]
    ledger.close()
    connection = apsw.Connection(str(path))
    for statement in STEPS[0]:
        connection.execute(statement.format(**DIALECT))
    columns = len(connection.execute("SELECT * FROM projects").fetchone())
    for table, values in (("projects", row[:columns]), ("policies", policy)):
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    connection.pragma("user_version", 1)
    connection.close()
    return project


def test_a_backup_of_an_older_schema_stays_as_it_is(tmp_path):
    old, elsewhere = tmp_path / "old.db", str(tmp_path / "elsewhere.db")
    project = older_ledger(old)
    before = old.read_bytes()
    with pytest.raises(LedgerError, match="holds something"):
        restore(old, str(old))
    assert restore(old, elsewhere) > 1
    assert old.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("old*")) == ["old.db"]
    other = open_ledger(elsewhere)
    assert other.project("clinic") == project
    assert ask(Writer(other, PolicyCache(other)), Opening()).status == 201
    other.close()


def test_a_file_that_is_no_ledger_is_not_restored(tmp_path):
    for name, content in (("empty.db", b""), ("text.db", b"this is no database" * 99)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LedgerError, match=name):
            restore(tmp_path / name, str(tmp_path / "elsewhere.db"))
        assert (tmp_path / name).read_bytes() == content


def test_a_backup_of_either_database_is_restored_into_either(ledger, database, tmp_path, postgres):
    create(Writer(ledger, PolicyCache(ledger)))
    backup(database, tmp_path / "copy.db")
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    for elsewhere in (
        postgres.replace("/postgres?", f"/{name}?"),
        str(tmp_path / "elsewhere.db"),
    ):
        restore(tmp_path / "copy.db", elsewhere)
        other = open_ledger(elsewhere)
        assert other.projects() == ledger.projects()
        assert ask(Writer(other, PolicyCache(other)), Opening()).status == 201
        assert verify(other, "clinic").differences == []
        other.close()
