"""A ledger in a SQLite file that is only read, so that no byte of the file changes.

SQLite writes to a file that it opens in the usual way, even if nothing is inserted. Setting the
version of the schema raises two counters in the header of the file. A copy of a backup would then
differ.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import closing
from pathlib import Path

import apsw

from askwise.errors import LedgerError
from askwise.service.ledger.schema import NEWEST
from askwise.service.ledger.sqlite import SqliteLedger, SqliteSession

READS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class SqliteReading(SqliteLedger):
    """A ledger in one file that is read while servers use it, or at rest.

    A file at rest has no write-ahead log beside it. SQLite then reads it as an immutable file, and
    creates no files of its own. A server that starts meanwhile waits with its first write.
    """

    def __init__(self, path: str) -> None:
        if not Path(path).is_file() or not Path(path).stat().st_size:
            raise LedgerError(f"{path}: this file is empty or missing, so it is not a ledger")
        self._begin(path, os.O_RDONLY)
        self._is_at_rest = not any(Path(f"{path}{end}").exists() for end in ("-wal", "-shm"))
        if self._is_at_rest:
            fcntl.flock(self._lock_file, fcntl.LOCK_SH)

    def migrate(self) -> None:
        """Checks that the schema is up to date, since it cannot be changed here."""
        version = self.schema_version()
        if version == NEWEST:
            return
        if version == 0:
            raise LedgerError(
                f"{self.path}: this database is not a ledger: it has no tables of one"
            )
        remedy = (
            "it was written by a newer askwise, so upgrade askwise here"
            if version > NEWEST
            else "start a server with it, or restore it into a new file (askwise ledger restore)"
        )
        raise LedgerError(
            f"{self.path}: its schema is of version {version}, expected {NEWEST}: {remedy}"
        )

    def copy_to(self, path: str) -> None:
        """Writes all that the file holds to a new file, which may then be changed."""
        with (
            self.read_session() as session,
            closing(apsw.Connection(path)) as copy,
            copy.backup("main", session.connection, "main") as copying,
        ):
            copying.step()

    def _new_reader(self) -> SqliteSession:
        address = Path(self.path).resolve().as_uri()
        return SqliteSession(f"{address}?immutable=1" if self._is_at_rest else address, READS)
