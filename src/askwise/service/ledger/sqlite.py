"""The ledger in one SQLite file, with a write-ahead log and every commit synced to disk.

SQLite allows one writer at a time, and processes that wait for it poll. Here they wait for a lock
on the file instead, which wakes the next one, so waiting costs nothing. The lock is taken with
flock, which SQLite does not use. Its descriptor stays open as long as any connection: closing it
sooner would drop the locks that SQLite holds.
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
from askwise.service.ledger.session import Row
from askwise.service.ledger.sql import SqlLedger

DIALECT = {
    "int": "INTEGER",
    "blob": "BLOB",
    "rowless": " WITHOUT ROWID",
    "kept": """
        CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        BEGIN SELECT raise(ABORT, 'events are never changed'); END;
        CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
        BEGIN SELECT raise(ABORT, 'events are never removed'); END""",
    "removable": """
        DROP TRIGGER events_are_not_changed;
        CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        WHEN NOT (NEW.body = x'' AND NEW.answer = x'' AND NEW.project = OLD.project AND
            NEW.seq = OLD.seq AND NEW.kind = OLD.kind AND NEW.case_id = OLD.case_id AND
            NEW.status = OLD.status AND NEW.at = OLD.at)
        BEGIN SELECT raise(ABORT, 'events are never changed'); END;
        DROP TRIGGER events_are_not_removed;
        CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
        WHEN NOT EXISTS (SELECT 1 FROM removed WHERE project = OLD.project)
        BEGIN SELECT raise(ABORT, 'events are never removed'); END""",
}
WRITES = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
"""How a file is opened that is also written."""

BUSY_TIMEOUT = 30_000
"""Milliseconds to wait for a writer that does not take our lock, such as a backup."""

DATA_ERRORS = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, apsw.RangeError)
"""Errors about what SQLite was given. All other errors are about the file: every request fails."""

CACHED_STATEMENTS = 256
"""Prepared statements that are kept."""

CACHE_SIZE = 64 * 1024
"""Kibibytes of pages that the writing connection caches. Keys come in random order: with SQLite's
default of 2,000 it would read most pages of their index again for every group."""

ROWS_PER_STATEMENT = (256, 32, 4, 1)
"""Rows of one insert. There are few sizes, so that all statements stay prepared."""

LEAST_FREE = 1 << 20
"""Bytes that must be free on the disk; with fewer, a commit may fail."""

LONG_LOG, LONGEST_LOG = 1_000, 16_000
"""Pages of the write-ahead log. From LONG_LOG on, `checkpoint` copies them into the file while
others write. From LONGEST_LOG on, if no checkpoint has run, a commit copies them."""


class SqliteSession:
    """A connection to the file."""

    locking = ""
    sum = (
        "CASE typeof(counters.amount + excluded.amount) WHEN 'integer' "
        "THEN counters.amount + excluded.amount END"
    )
    """SQLite would turn a sum beyond 64 bits into a float; this makes it NULL, which is refused."""
    now = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"

    def __init__(self, path: str, flags: int = WRITES) -> None:
        self.connection = apsw.Connection(path, flags, statementcachesize=CACHED_STATEMENTS)
        self.connection.set_busy_timeout(BUSY_TIMEOUT)
        self.connection.pragma("synchronous", "FULL")
        self.connection.pragma("foreign_keys", True)

    def all(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a query."""
        return self.connection.execute(sql, values).fetchall()

    def each(
        self, columns: str, table: str, key: str, project: int, keys: Sequence[Any]
    ) -> list[Row]:
        """The rows of a project that have one of the keys: one statement, a search for each key.

        With `key IN (…)` SQLite would scan the whole project.
        """
        sql = (
            f"SELECT {columns} FROM (SELECT value AS wanted FROM json_each(?)) "  # noqa: S608
            f"CROSS JOIN {table} WHERE project = ? AND {key} = wanted"
        )
        return self.connection.execute(sql, (_json_list(keys), project)).fetchall()

    def change(self, sql: str, *values: Any) -> None:
        """Run a statement that returns no rows."""
        self.connection.execute(sql, values)

    def together(self, rows: int) -> AbstractContextManager[None]:
        """A block that does nothing, because there is no server to wait for."""
        return nullcontext()

    def insert(self, table: str, rows: Sequence[Row], then: str = "") -> None:
        """Insert rows, a few hundred with each statement.

        A statement releases the GIL while it runs. One statement for each row would have to take
        it back so often that, with another busy thread, it took twenty times as long.
        """
        done = 0
        for together in ROWS_PER_STATEMENT:
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
    """A ledger in one file, for any number of processes of one machine."""

    def __init__(self, path: str) -> None:
        if not Path(path).resolve().parent.is_dir():
            raise LedgerError(
                f"{path}: the folder of this file does not exist: create it, or name another file"
            )
        self._begin(path, os.O_RDWR | os.O_CREAT)

    def _begin(self, path: str, flags: int) -> None:
        self.path = path
        self._lock_file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._writer: SqliteSession | None = None
        self._local = threading.local()
        self._readers: list[SqliteSession] = []
        self._log_pages = 0
        """Pages of the write-ahead log after the last commit."""

    def migrate(self) -> None:
        """Bring the schema up to date; safe when many processes do so at once."""
        with self._write_lock(), _translated_errors(self.path):
            connection = SqliteSession(self.path).connection
            try:
                connection.pragma("journal_mode", "wal")
                with connection:
                    version = connection.pragma("user_version")
                    if not 0 <= version <= NEWEST:
                        raise LedgerError(
                            f"{self.path}: its schema is of version {version}, "
                            f"expected at most {NEWEST}: it was written by a newer askwise, "
                            "so upgrade askwise here"
                        )
                    for step in STEPS[version:]:
                        for statement in step:
                            connection.execute(statement.format(**DIALECT))
                    connection.pragma("user_version", NEWEST)
            finally:
                connection.close()

    def schema_version(self) -> int:
        """The version of the schema as it is stored; 0 if there are no tables."""
        with self.read_session() as session:
            ((version,),) = session.all("PRAGMA user_version")
        return int(version)

    @contextmanager
    def read_session(self) -> Iterator[SqliteSession]:
        """A session whose queries all see one moment."""
        with _translated_errors(self.path):
            session = self._reader()
            session.connection.execute("BEGIN")
            try:
                yield session
            finally:
                with suppress(apsw.Error):
                    session.connection.execute("COMMIT")

    @contextmanager
    def write_session(self) -> Iterator[SqliteSession]:
        """A session in a transaction: committed when the block ends, rolled back if it raises."""
        with self._write_lock(), _translated_errors(self.path):
            session = self._writer
            if session is None:
                session = self._writer = SqliteSession(self.path)
                session.connection.pragma("cache_size", -CACHE_SIZE)
                session.connection.set_wal_hook(self._committed)
            session.connection.execute("BEGIN IMMEDIATE")
            try:
                yield session
                session.connection.execute("COMMIT")
            except BaseException as error:
                with suppress(apsw.Error):
                    session.connection.execute("ROLLBACK")
                if isinstance(error, apsw.Error) and not isinstance(error, DATA_ERRORS):
                    # after a failure of the disk, a new connection reads only what is in the file
                    self._writer = None
                    session.connection.close(True)
                raise

    def looks_unwritable(self) -> bool:
        """Whether the disk is nearly full or read-only, or the folder is gone."""
        try:
            disk = os.statvfs(Path(self.path).resolve().parent)
        except OSError:
            return True
        free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
        return bool(disk.f_flag & os.ST_RDONLY) or free * disk.f_frsize < LEAST_FREE

    def checkpoint(self) -> None:
        """Copy a long write-ahead log into the file.

        Most of it is copied while others write, so that they wait only briefly for the rest. The
        next commit then starts the log from its beginning.
        """
        if self._log_pages < LONG_LOG:
            return
        with _translated_errors(self.path):
            connection = self._reader().connection
            connection.wal_checkpoint()
            with self._write_lock():
                connection.wal_checkpoint()
            self._log_pages = 0

    def size(self) -> int:
        """Bytes of the file and of its log."""
        files = (Path(f"{self.path}{end}") for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def compact(self) -> None:
        """Rewrite the file without its free pages."""
        with self._write_lock(), _translated_errors(self.path):
            connection = self._reader().connection
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Close all connections, and then the descriptor of our own lock."""
        with self._lock:
            if self._lock_file < 0:
                return
            for session in (*self._readers, *filter(None, [self._writer])):
                session.connection.close(True)
            os.close(self._lock_file)
            self._lock_file = -1

    def _committed(self, connection: apsw.Connection, _: str, pages: int) -> int:
        self._log_pages = pages
        if pages >= LONGEST_LOG:
            with suppress(apsw.Error):  # the commit stands, even if this fails
                connection.wal_checkpoint()
        return 0

    def _reader(self) -> SqliteSession:
        session: SqliteSession | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = self._new_reader()
            self._readers.append(session)
        return session

    def _new_reader(self) -> SqliteSession:
        return SqliteSession(self.path)

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        with self._lock:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)


def _json_list(keys: Sequence[Any]) -> str:
    return msgspec.json.encode(keys).decode()


@contextmanager
def _translated_errors(path: str) -> Iterator[None]:
    """Turn errors of SQLite into the three kinds of the contract."""
    try:
        yield
    except DATA_ERRORS as error:
        raise LedgerDataError(f"{path}: {error}") from error
    except apsw.Error as error:
        raise LedgerUnavailableError(f"{path}: {error}") from error
