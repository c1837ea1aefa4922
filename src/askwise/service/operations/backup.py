"""A whole ledger in one file, and back: projects, events, cases, counters, policies, tokens.

A backup is a ledger in SQLite, whatever database it is of: `askwise ledger verify --db` checks it,
and `askwise serve --db` could even serve it. It is of one moment, and is made while servers run.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from askwise.errors import LedgerError
from askwise.service.ledger import open_ledger
from askwise.service.ledger.address import is_postgres
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.schema import NEWEST
from askwise.service.ledger.session import Row, Session
from askwise.service.ledger.sql import SqlLedger

TABLES = {
    "projects": ("id",),
    "events": ("project", "seq"),
    "cases": ("project", "id"),
    "counters": ("project", "kind", "cell", "place"),
    "policies": ("project", "version"),
    "tokens": ("id",),
    "removed": ("project",),
}
"""All tables but that of leases, which are of the moment; and the columns of their keys."""

NO_PROJECT_IS_THERE = " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, opened = excluded.opened"

PROJECT_BYTES = (2, 4)
"""The columns of a project's row that have bytes: its problem, and the options of its learner."""

PAGE = 1000

NOT_EMPTY = "the ledger to restore into holds something: give an empty one"


def backup(db: str, file: Path) -> int:
    """Write the backup; how many rows it has."""
    if file.exists():
        raise LedgerError(f"{file} is there already: a backup replaces nothing")
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        rows = _copy(open_ledger(db), str(partial))
        os.link(partial, file)  # unlike a renaming it never replaces what came meanwhile
    finally:
        for leftover in partial.parent.glob(f"{partial.name}*"):
            leftover.unlink()
    return rows


def restore(file: Path, db: str) -> int:
    """Write a backup into a ledger that holds nothing yet; how many rows it has.

    The backup is only read. If its schema is older, a temporary copy of it is upgraded.
    """
    if not file.is_file():
        raise LedgerError(f"there is no backup at {str(file)!r}")
    if not is_postgres(db) and Path(db).exists() and file.samefile(db):
        raise LedgerError(NOT_EMPTY)
    backup = open_ledger(str(file), migrate=False, reads_only=True)
    with closing(backup), TemporaryDirectory(prefix="askwise-") as folder:
        if not 0 < backup.schema_version() < NEWEST:
            backup.migrate()  # which refuses what cannot be read
            return _copy(backup, db)
        from askwise.service.ledger.sqlite_reading import SqliteReading

        assert isinstance(backup, SqliteReading)
        copy = str(Path(folder) / "ledger.db")
        backup.copy_to(copy)
        return _copy(open_ledger(copy), db)


def _copy(before: Ledger, target: str) -> int:
    """Writes all rows of a ledger into an empty one, and closes both."""
    assert isinstance(before, SqlLedger)
    with closing(before), closing(open_ledger(target)) as after:
        assert isinstance(after, SqlLedger)
        if after.projects() or after.tokens():
            raise LedgerError(NOT_EMPTY)
        with before.read_session() as reading, after.write_session() as writing:
            return sum(_copy_table(reading, writing, table) for table in TABLES)


def _with_bytes(project: Row) -> Row:
    """A project with bytes where it has them: SQLite keeps the empty text of no project as text."""
    return tuple(
        value.encode() if place in PROJECT_BYTES and isinstance(value, str) else value
        for place, value in enumerate(project)
    )


def _copy_table(reading: Session, writing: Session, table: str) -> int:
    keys, rows = TABLES[table], 0
    order, marks = ", ".join(keys), ", ".join("?" * len(keys))
    then = NO_PROJECT_IS_THERE if table == "projects" else ""
    page = reading.all(f"SELECT * FROM {table} ORDER BY {order} LIMIT {PAGE}")  # noqa: S608
    while page:
        writing.insert(table, [_with_bytes(row) for row in page] if then else page, then)
        rows += len(page)
        last = page[-1][: len(keys)]  # the columns of a key stand first
        page = reading.all(
            f"SELECT * FROM {table} WHERE ({order}) > ({marks}) ORDER BY {order} LIMIT {PAGE}",  # noqa: S608
            *last,
        )
    return rows
