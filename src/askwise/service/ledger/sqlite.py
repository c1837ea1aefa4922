"""The ledger in one SQLite file: WAL, and every commit on disk before it counts.

SQLite lets one writer in at a time, and those that wait poll for their turn. Here processes take
turns by a lock on the file that wakes the next one, so waiting costs nothing. It is taken with
flock, which SQLite does not use, on a descriptor that stays open as long as any connection: closing
it sooner would drop the locks that SQLite holds.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import apsw
import msgspec

from askwise.errors import LedgerDataError, LedgerError, LedgerUnavailableError
from askwise.service.ledger.schema import NEWEST, STEPS
from askwise.service.ledger.sql import Row, SqlLedger

WORDS = {
    "int": "INTEGER",
    "blob": "BLOB",
    "rowless": " WITHOUT ROWID",
    "kept": """
        CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        BEGIN SELECT raise(ABORT, 'events are never changed'); END;
        CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
        BEGIN SELECT raise(ABORT, 'events are never removed'); END""",
}
WAIT = 30_000
"""Milliseconds to wait for somebody who writes without taking turns, such as a backup."""

UNFIT = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, apsw.RangeError)
"""What SQLite raises for what it is given. All else is about the file, whoever asks."""

STATEMENTS = 256
"""Prepared ones that are kept."""

MEMORY = 64 * 1024
"""Kibibytes of pages that the writing connection keeps. Keys are found in no order: with the 2,000
of SQLite it would read most pages of their index anew for every group."""

TOGETHER = (256, 32, 4, 1)
"""Rows of one statement: as many as there are kinds of statements to keep prepared."""

ROOM = 1 << 20
"""Bytes: with less on the disk, a commit may find none."""

LONG, TOO_LONG = 1_000, 16_000
"""Pages of the log: from LONG on `tend` copies them into the file, aside; from TOO_LONG on, since
nobody did, whoever commits."""


class SqliteSession:
    """A connection to the file."""

    locking = ""
    sum = (
        "CASE typeof(counters.amount + excluded.amount) WHEN 'integer' "
        "THEN counters.amount + excluded.amount END"
    )
    """Where it does not fit, SQLite would go on with a float: NULL is refused instead."""
    now = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"

    def __init__(self, path: str) -> None:
        self.connection = apsw.Connection(path, statementcachesize=STATEMENTS)
        self.connection.set_busy_timeout(WAIT)
        self.connection.pragma("synchronous", "FULL")
        self.connection.pragma("foreign_keys", True)

    def all(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a query."""
        return self.connection.execute(sql, values).fetchall()

    def each(
        self, columns: str, table: str, key: str, project: int, keys: Sequence[Any]
    ) -> list[Row]:
        """The rows of a project that have one of the keys: one statement, a search for each key.

        `key IN (…)` would be read as a reason to go through the whole project.
        """
        sql = (
            f"SELECT {columns} FROM (SELECT value AS wanted FROM json_each(?)) "  # noqa: S608
            f"CROSS JOIN {table} WHERE project = ? AND {key} = wanted"
        )
        return self.connection.execute(sql, (_list(keys), project)).fetchall()

    def change(self, sql: str, *values: Any) -> None:
        """A statement that has no rows."""
        self.connection.execute(sql, values)

    def together(self, rows: int) -> AbstractContextManager[None]:
        """There is nobody to wait for."""
        return nullcontext()

    def insert(self, table: str, rows: Sequence[Row], then: str = "") -> None:
        """Many new rows, a few hundred with each statement.

        A statement gives up the interpreter while it runs. One for each row would have to get it
        back so often that, with another thread at work, it took twenty times as long.
        """
        done = 0
        for together in TOGETHER:
            while len(rows) - done >= together:
                part = rows[done : done + together]
                places = f"({', '.join('?' * len(part[0]))})"
                sql = f"INSERT INTO {table} VALUES {', '.join([places] * together)}{then}"  # noqa: S608
                try:
                    self.connection.execute(sql, list(chain.from_iterable(part)))
                except OverflowError as error:
                    raise LedgerDataError(f"{table}: {error}") from error
                done += together


class SqliteLedger(SqlLedger):
    """One file, for as many processes of one machine as wanted."""

    def __init__(self, path: str) -> None:
        if not Path(path).resolve().parent.is_dir():
            raise LedgerError(f"{path}: there is no such folder")
        self.path = path
        self._turn = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._writer: SqliteSession | None = None
        self._local = threading.local()
        self._readers: list[SqliteSession] = []
        self._log = 0
        """Pages in the log."""

    def migrate(self) -> None:
        """Bring the schema up to date; safe when many processes do so at once."""
        with self._my_turn(), _clearly(self.path):
            session = SqliteSession(self.path)
            try:
                connection = session.connection
                connection.pragma("journal_mode", "wal")
                with connection:
                    version = connection.pragma("user_version")
                    if not 0 <= version <= NEWEST:
                        raise LedgerError(
                            f"{self.path}: its schema is of version {version}, "
                            f"expected at most {NEWEST}: it was written by a newer askwise"
                        )
                    for step in STEPS[version:]:
                        for statement in step:
                            connection.execute(statement.format(**WORDS))
                    connection.pragma("user_version", NEWEST)
            finally:
                connection.close()

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        """A session whose queries all see one moment."""
        with _clearly(self.path):
            session = self._reader()
            session.connection.execute("BEGIN")
            try:
                yield session
            finally:
                with suppress(apsw.Error):
                    session.connection.execute("COMMIT")

    @contextmanager
    def changing(self) -> Iterator[SqliteSession]:
        """A session that commits at the end, or takes all back."""
        with self._my_turn(), _clearly(self.path):
            session = self._writer
            if session is None:
                session = self._writer = SqliteSession(self.path)
                session.connection.pragma("cache_size", -MEMORY)
                session.connection.set_wal_hook(self._committed)
            session.connection.execute("BEGIN IMMEDIATE")
            try:
                yield session
                session.connection.execute("COMMIT")
            except BaseException as error:
                with suppress(apsw.Error):
                    session.connection.execute("ROLLBACK")
                if isinstance(error, apsw.Error) and not isinstance(error, UNFIT):
                    # whatever the disk did, a new connection believes only what is in the file
                    self._writer = None
                    session.connection.close(True)
                raise

    def is_doubtful(self) -> bool:
        """Whether the disk is nearly full or read-only, or the folder is gone."""
        try:
            disk = os.statvfs(Path(self.path).resolve().parent)
        except OSError:
            return True
        free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
        return bool(disk.f_flag & os.ST_RDONLY) or free * disk.f_frsize < ROOM

    def tend(self) -> None:
        """Copy a long log into the file: most of it while others write, so that they hardly wait
        for the rest; then the next commit begins the log anew.
        """
        if self._log < LONG:
            return
        with _clearly(self.path):
            connection = self._reader().connection
            connection.wal_checkpoint()
            with self._my_turn():
                connection.wal_checkpoint()
            self._log = 0

    def close(self) -> None:
        """Let go of the file, of our own descriptor last."""
        with self._lock:
            if self._turn < 0:
                return
            for session in (*self._readers, *filter(None, [self._writer])):
                session.connection.close(True)
            os.close(self._turn)
            self._turn = -1

    def _committed(self, connection: apsw.Connection, _: str, pages: int) -> int:
        self._log = pages
        if pages >= TOO_LONG:
            with suppress(apsw.Error):  # it is committed, whatever becomes of this
                connection.wal_checkpoint()
        return 0

    def _reader(self) -> SqliteSession:
        session: SqliteSession | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = SqliteSession(self.path)
            self._readers.append(session)
        return session

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        with self._lock:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._turn, fcntl.LOCK_UN)


def _list(keys: Sequence[Any]) -> str:
    return msgspec.json.encode(keys).decode()


@contextmanager
def _clearly(path: str) -> Iterator[None]:
    """What SQLite says, as one of our own errors."""
    try:
        yield
    except UNFIT as error:
        raise LedgerDataError(f"{path}: {error}") from error
    except apsw.Error as error:
        raise LedgerUnavailableError(f"{path}: {error}") from error
