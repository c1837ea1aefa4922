"""A whole ledger in one file, and back: projects, events, cases, counters, policies, tokens.

A backup is a ledger in SQLite, whatever database it is of: `askwise ledger verify --db` checks it,
and `askwise serve --db` could even serve it. It is of one moment, and is made while servers run.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from askwise.errors import LedgerError
from askwise.service.ledger import open_ledger
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


def backup(db: str, file: Path) -> int:
    """Write the backup; how many rows it has."""
    if file.exists():
        raise LedgerError(f"{file} is there already: a backup replaces nothing")
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        rows = _copy(db, str(partial))
        os.link(partial, file)  # unlike a renaming it never replaces what came meanwhile
    finally:
        for leftover in partial.parent.glob(f"{partial.name}*"):
            leftover.unlink()
    return rows


def restore(file: Path, db: str) -> int:
    """Write a backup into a ledger that holds nothing yet; how many rows it has."""
    if not file.is_file():
        raise LedgerError(f"there is no backup at {str(file)!r}")
    return _copy(str(file), db)


def _copy(source: str, target: str) -> int:
    before, after = open_ledger(source), open_ledger(target)
    assert isinstance(before, SqlLedger)
    assert isinstance(after, SqlLedger)
    try:
        if after.projects() or after.tokens():
            raise LedgerError("the ledger to restore into holds something: give an empty one")
        with before.read_session() as reading, after.write_session() as writing:
            return sum(_copy_table(reading, writing, table) for table in TABLES)
    finally:
        before.close()
        after.close()


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
