"""The ledger in PostgreSQL, for processes on as many machines as wanted.

The row of a project is locked before anything is read in it, so two processes never step the same
case or count in the same cells at once; there is nothing else to take turns at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import psycopg

from askwise.errors import LedgerError
from askwise.service.ledger.schema import NEWEST, STEPS
from askwise.service.ledger.sql import Row, SqlLedger

WORDS = {
    "int": "BIGINT",
    "blob": "BYTEA",
    "rowless": "",
    "kept": """
        CREATE FUNCTION askwise_events_are_kept() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'events are never changed or removed'; END $$;
        CREATE TRIGGER events_are_kept BEFORE UPDATE OR DELETE ON events
        FOR EACH ROW EXECUTE FUNCTION askwise_events_are_kept()""",
}
TYPES = {int: "bigint", str: "text", bytes: "bytea"}

MANY = 200
"""Rows that are copied rather than sent as arrays, which is faster, but takes longer to begin."""

MIGRATING = 0x61736B77
"""The number of the advisory lock that migrations hold."""


class PostgresSession:
    """A connection to the server."""

    locking = " FOR UPDATE"

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection = connection

    def all(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a query."""
        return self.connection.execute(_statement(sql), values, prepare=True).fetchall()

    def each(
        self, columns: str, table: str, key: str, project: int, keys: Sequence[Any]
    ) -> list[Row]:
        """The rows of a project that have one of the keys: one round trip."""
        if not keys:
            return []
        sql: Any = f"SELECT {columns} FROM {table} WHERE project = %b AND {key} = ANY(%b)"  # noqa: S608
        return self.connection.execute(sql, (project, list(keys)), prepare=True).fetchall()

    def change(self, sql: str, *values: Any) -> None:
        """A statement that has no rows."""
        self.connection.execute(_statement(sql), values, prepare=True)

    def together(self, rows: int) -> AbstractContextManager[Any]:
        """What is sent in the block is sent at once, without waiting for each answer; but nothing
        can be copied meanwhile.
        """
        return nullcontext() if rows >= MANY else self.connection.pipeline()

    def insert(self, table: str, rows: Sequence[Row], then: str = "") -> None:
        """Many new rows at once: copied, or as one array for each column."""
        if not rows:
            return
        if not then and len(rows) >= MANY:
            with (
                self.connection.cursor() as cursor,
                cursor.copy(f"COPY {table} FROM STDIN") as copy,
            ):
                for row in rows:
                    copy.write_row(row)
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        arrays = ", ".join(f"%b::{TYPES[type(column[0])]}[]" for column in columns)
        sql: Any = f"INSERT INTO {table} SELECT * FROM unnest({arrays}){then}"  # noqa: S608
        self.connection.execute(sql, columns, prepare=True)


class PostgresLedger(SqlLedger):
    """A database of a server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._writer: psycopg.Connection[Row] | None = None
        self._local = threading.local()
        self._readers: list[psycopg.Connection[Row]] = []

    def migrate(self) -> None:
        """Bring the schema up to date; safe when many processes do so at once."""
        with self._clearly(), self._connect() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            connection.execute(
                "CREATE TABLE IF NOT EXISTS askwise_schema (version BIGINT NOT NULL)"
            )
            found = connection.execute("SELECT version FROM askwise_schema").fetchone()
            version = 0 if found is None else found[0]
            if not 0 <= version <= NEWEST:
                raise LedgerError(
                    f"the schema of the database is of version {version}, expected at most "
                    f"{NEWEST}: it was written by a newer askwise"
                )
            for step in STEPS[version:]:
                for statement in step:
                    connection.execute(statement.format(**WORDS).encode())
            connection.execute("DELETE FROM askwise_schema")
            connection.execute("INSERT INTO askwise_schema VALUES (%s)", (NEWEST,))

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A session whose queries all see one moment."""
        with self._clearly():
            connection = getattr(self._local, "connection", None)
            if connection is None or connection.closed:
                connection = self._local.connection = self._connect()
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                self._readers.append(connection)
            with connection.transaction():
                yield PostgresSession(connection)

    @contextmanager
    def changing(self) -> Iterator[PostgresSession]:
        """A session that commits at the end, or takes all back."""
        with self._lock, self._clearly():
            if self._writer is None or self._writer.closed:
                self._writer = self._connect()
            connection = self._writer
            try:
                with connection.transaction():
                    yield PostgresSession(connection)
            except psycopg.Error:
                self._writer = None
                with suppress(psycopg.Error):
                    connection.close()
                raise

    def tend(self) -> None:
        """The server does so itself."""

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            for connection in (*self._readers, *filter(None, [self._writer])):
                with suppress(psycopg.Error):
                    connection.close()

    def _connect(self) -> psycopg.Connection[Row]:
        return psycopg.connect(self.address, connect_timeout=10, application_name="askwise")

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """What the server says, as one of our own errors; the address may hold a password."""
        try:
            yield
        except psycopg.Error as error:
            raise LedgerError(f"the database: {' '.join(str(error).split())}") from error


def _statement(sql: str) -> Any:
    return sql.replace("?", "%s")
