"""The ledger in PostgreSQL, for processes on any number of machines.

The row of a project is locked before anything is read in the project. So two processes never change
the same case or the same counters at once, and nothing else needs a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from askwise.errors import LedgerDataError, LedgerError, LedgerUnavailableError
from askwise.service.ledger.address import checked, hidden
from askwise.service.ledger.schema import NEWEST, STEPS
from askwise.service.ledger.session import Row
from askwise.service.ledger.sql import SqlLedger

DIALECT = {
    "int": "BIGINT",
    "blob": "BYTEA",
    "rowless": "",
    "kept": """
        CREATE FUNCTION askwise_events_are_kept() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'events are never changed or removed'; END $$;
        CREATE TRIGGER events_are_kept BEFORE UPDATE OR DELETE ON events
        FOR EACH ROW EXECUTE FUNCTION askwise_events_are_kept()""",
    "removable": """
        CREATE OR REPLACE FUNCTION askwise_events_are_kept() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
            IF TG_OP = 'DELETE' THEN
                IF EXISTS (SELECT 1 FROM removed WHERE project = OLD.project) THEN
                    RETURN OLD;
                END IF;
            ELSIF NEW.body = ''::bytea AND NEW.answer = ''::bytea AND
                (NEW.project, NEW.seq, NEW.kind, NEW.case_id, NEW.status, NEW.at) =
                (OLD.project, OLD.seq, OLD.kind, OLD.case_id, OLD.status, OLD.at) THEN
                RETURN NEW;
            END IF;
            RAISE EXCEPTION 'events are never changed or removed';
        END $$""",
}
TYPES = {int: "bigint", str: "text", bytes: "bytea"}

COPIED_FROM = 200
"""Rows from which on COPY is used: faster than arrays, but slower to start."""

UNAVAILABLE_CODES = ("08", "25", "28", "3D", "42501", "42P01", "53", "57", "58")
"""Prefixes of the codes of errors that every request would get. The server cannot be reached, is
read-only or shutting down; the account or the tables are missing; or the disk is full or broken.
"""

DATA_CODES = ("22", "23", "54")
"""Prefixes of the codes of errors about what the server was given."""

TOOK_TOO_LONG = "57014"
"""The code of a statement that took longer than the server allows; a smaller one may succeed."""

CONNECTION_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""How soon a connection notices that the server has disappeared."""

MIGRATION_LOCK = 0x61736B77
"""The number of the advisory lock that migrations hold."""


class PostgresSession:
    """A connection to the server."""

    locking = " FOR UPDATE"
    sum = "counters.amount + excluded.amount"
    now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

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
        """Run a statement that returns no rows."""
        self.connection.execute(_statement(sql), values, prepare=True)

    def together(self, rows: int) -> AbstractContextManager[Any]:
        """A block whose statements are sent at once, without waiting for each answer.

        COPY does not work in such a block, so many rows are sent without one.
        """
        return nullcontext() if rows >= COPIED_FROM else self.connection.pipeline()

    def insert(self, table: str, rows: Sequence[Row], then: str = "") -> None:
        """Insert rows with COPY, or as one array for each column."""
        if not rows:
            return
        if not then and len(rows) >= COPIED_FROM:
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
    """A ledger in a database of a server."""

    def __init__(self, address: str) -> None:
        self._address = checked(address)
        self._lock = threading.Lock()
        self._writer: psycopg.Connection[Row] | None = None
        self._local = threading.local()
        self._readers: list[psycopg.Connection[Row]] = []
        self._readers_lock = threading.Lock()

    def migrate(self) -> None:
        """Bring the schema up to date; safe when many processes do so at once."""
        with self._translated_errors(), self._connect() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            connection.execute(
                "CREATE TABLE IF NOT EXISTS askwise_schema (version BIGINT NOT NULL)"
            )
            found = connection.execute("SELECT version FROM askwise_schema").fetchone()
            version = 0 if found is None else found[0]
            if not 0 <= version <= NEWEST:
                raise LedgerError(
                    f"the schema of the database is of version {version}, expected at most "
                    f"{NEWEST}: it was written by a newer askwise, so upgrade askwise here"
                )
            for step in STEPS[version:]:
                for statement in step:
                    connection.execute(statement.format(**DIALECT).encode())
            connection.execute("DELETE FROM askwise_schema")
            connection.execute("INSERT INTO askwise_schema VALUES (%s)", (NEWEST,))

    def schema_version(self) -> int:
        """The version of the schema as it is stored; 0 if there are no tables."""
        with self.read_session() as session:
            if session.all("SELECT to_regclass('askwise_schema')") == [(None,)]:
                return 0
            found = session.all("SELECT version FROM askwise_schema")
        return int(found[0][0]) if found else 0

    @contextmanager
    def read_session(self) -> Iterator[PostgresSession]:
        """A session whose queries all see one moment."""
        with self._translated_errors(), ExitStack() as stack:
            opened: psycopg.Connection[Row] | None = getattr(self._local, "connection", None)
            connection = self._in_transaction(stack, opened, self._new_reader)
            if connection is not opened:
                self._local.connection = connection
                with self._readers_lock:
                    self._readers = [c for c in self._readers if not c.closed]
                    self._readers.append(connection)
            yield PostgresSession(connection)

    @contextmanager
    def write_session(self) -> Iterator[PostgresSession]:
        """A session in a transaction: committed when the block ends, rolled back if it raises."""
        with self._lock, self._translated_errors():
            try:
                with ExitStack() as stack:
                    self._writer = self._in_transaction(stack, self._writer, self._connect)
                    yield PostgresSession(self._writer)
            except psycopg.Error:
                writer = self._writer
                if writer and writer.info.transaction_status != TransactionStatus.IDLE:
                    self._writer = None
                    with suppress(psycopg.Error):
                        writer.close()
                raise

    def _in_transaction(
        self,
        stack: ExitStack,
        opened: psycopg.Connection[Row] | None,
        connect: Callable[[], psycopg.Connection[Row]],
    ) -> psycopg.Connection[Row]:
        """Begin a transaction on the open connection, or on a new one if the server closed it.

        If the connection turns out to be lost at BEGIN, the server was restarted since. Nothing was
        sent to it in this transaction yet, so a new connection can be used.
        """
        if opened is not None and not opened.closed:
            try:
                stack.enter_context(opened.transaction())
                return opened
            except psycopg.OperationalError:
                if not opened.closed:
                    raise
        connection = connect()
        try:
            stack.enter_context(connection.transaction())
        except psycopg.Error:  # the server is going down again
            connection.close()
            raise
        return connection

    def looks_unwritable(self) -> bool:
        """Whether the server is a replica of another one, or is read-only."""
        sql = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')"
        with self.read_session() as session:
            (is_following, is_read_only), *_ = session.all(sql)
        return bool(is_following) or is_read_only == "on"

    def checkpoint(self) -> None:
        """Do nothing, because the server shortens its log itself."""

    def size(self) -> int:
        """Bytes of the database, its indexes included."""
        with self.read_session() as session:
            return int(session.all("SELECT pg_database_size(current_database())")[0][0])

    def compact(self) -> None:
        """Makes the freed space available. Other sessions need not wait."""
        with self._translated_errors():
            connection = self._connect()
            try:
                connection.autocommit = True
                connection.execute("VACUUM (ANALYZE)")
            finally:
                connection.close()

    def close(self) -> None:
        """Close all connections to the server."""
        with self._lock:
            for connection in (*self._readers, *filter(None, [self._writer])):
                with suppress(psycopg.Error):
                    connection.close()

    def _connect(self) -> psycopg.Connection[Row]:
        return psycopg.connect(self._address, application_name="askwise", **CONNECTION_OPTIONS)

    def _new_reader(self) -> psycopg.Connection[Row]:
        connection = self._connect()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return connection

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn errors of the server into the three kinds of the contract, without the password."""
        try:
            yield
        except psycopg.Error as error:
            said = hidden(self._address, " ".join(str(error).split()))
            raise _error_type(error)(f"the database: {said}") from None


def _error_type(error: psycopg.Error) -> type[LedgerError]:
    """The kind of the error: the database is unavailable, the data is at fault, or neither."""
    code = error.sqlstate
    if code is None:  # the error does not come from a server
        is_given = isinstance(error, psycopg.DataError)
        return LedgerDataError if is_given else LedgerUnavailableError
    if code.startswith(DATA_CODES):
        return LedgerDataError
    if code.startswith(UNAVAILABLE_CODES) and code != TOOK_TOO_LONG:
        return LedgerUnavailableError
    return LedgerError


def _statement(sql: str) -> Any:
    return sql.replace("?", "%s")
