"""`askwise ledger verify` changes nothing of the file that it checks."""

import shutil
import sqlite3

import pytest
from typer.testing import CliRunner

from askwise.cli import app
from askwise.errors import LedgerError
from askwise.service.api.messages import Opening
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.backup import backup
from askwise.service.replanning.policy_versions import PolicyCache
from serving import ask, create


@pytest.fixture(name="live")
def live_fixture(tmp_path):
    """A ledger that is in use, with its write-ahead log."""
    path = tmp_path / "live.db"
    ledger = open_ledger(str(path))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    for _ in range(3):
        ask(writer, Opening())
    yield path
    ledger.close()


def verify(path):
    return CliRunner().invoke(app, ["ledger", "verify", "--db", str(path)])


def test_a_backup_is_the_same_bytes_after_it(live, tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    copy = folder / "monday.db"
    backup(str(live), copy)
    before = copy.read_bytes()
    result = verify(copy)
    assert (result.exit_code, result.stdout.endswith(": equal\n")) == (0, True)
    assert "3 events, 3 cases" in result.stdout
    assert copy.read_bytes() == before
    assert list(folder.iterdir()) == [copy]


def test_a_file_with_a_write_ahead_log_is_read_with_it(live, tmp_path):
    """All three cases may be in the log alone."""
    copied = tmp_path / "copied.db"
    shutil.copy(live, copied)
    shutil.copy(f"{live}-wal", f"{copied}-wal")
    for path in (live, copied):
        before = path.read_bytes()
        result = verify(path)
        assert result.exit_code == 0
        assert "3 events, 3 cases" in result.stdout
        assert path.read_bytes() == before


def test_what_is_no_ledger_is_an_error(tmp_path):
    empty, other, text = (tmp_path / name for name in ("empty.db", "other.db", "text.db"))
    empty.touch()
    text.write_text("not a database, and longer than a header " * 10)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path, said in {
        empty: "empty",
        other: "not a ledger",
        text: "not a database",
        tmp_path / "none.db": "there is no ledger",
    }.items():
        result = verify(path)
        assert result.exit_code == 1
        assert isinstance(result.exception, LedgerError)
        assert said in str(result.exception), path
    assert not (tmp_path / "none.db").exists()
