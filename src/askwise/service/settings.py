"""The settings with which a server was started, for all its processes."""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from askwise._support.documents import prepare
from askwise.errors import OptionError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of every process of a server."""

    db: str = "askwise.db"
    read_db: str = ""
    """A PostgreSQL that follows `db` and is only read: reports are asked there. Empty: of `db`."""
    host: str = "127.0.0.1"
    port: int = 8350
    workers: int = 1
    hosts: tuple[str, ...] = ()
    """Names in the header Host that are answered, beside loopback's and `host`."""
    warms_up: bool = True
    """Whether a process of its own compiles ahead what is not compiled yet."""
    authenticates: bool = True
    """Whether requests need a token; without, only loopback is listened to."""
    metrics_folder: str = ""
    """The folder in which workers share their counts; empty if there is one worker."""
    tls: tuple[str, str] = ("", "")
    """The files of a certificate and its key; empty: plain HTTP."""
    most_body: int = 1 << 20
    most_items: int = 1000
    """Requests in a batch."""
    most_connections: int = 1000
    """The most connections of a worker at a time."""
    read_within: float = 30.0
    """Seconds from the first byte of a request to its last."""
    write_within: float = 30.0
    """Seconds in which a client that is sent an answer must take a part of it."""
    idle_within: float = 75.0
    """Seconds that a connection may be open without a request."""

    def __post_init__(self) -> None:
        if not self.authenticates and not is_loopback(self.host):
            raise OptionError(
                f"host {self.host!r} can be reached from elsewhere: without tokens the server "
                "listens on 127.0.0.1 only"
            )
        both = (self.db, self.read_db)
        if self.read_db and not all(db.startswith(("postgresql://", "postgres://")) for db in both):
            raise OptionError(
                "a database that is only read must be a PostgreSQL that follows another one: "
                "--db and --read-db are addresses, postgresql://user@host/database"
            )
        if bool(self.tls[0]) != bool(self.tls[1]):
            raise OptionError("a certificate needs its key, and a key its certificate: give both")
        for name, least, most in (
            ("port", 0, 65_535),
            ("workers", 1, 64),
            ("most_connections", 1, 100_000),
        ):
            value: Any = getattr(self, name)
            if not least <= value <= most:
                raise OptionError(f"{name} must be from {least} to {most:,}, got {value}")

    @property
    def answers_to(self) -> frozenset[str]:
        """The hosts that requests may name, in lower case."""
        bare = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(host.lower() for host in (*LOOPBACK, bare, *self.hosts))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


prepare(Settings)
