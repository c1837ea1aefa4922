"""Reads addresses of databases, with error messages that never show a password.

libpq quotes parts of an address that it cannot read. If a password has a character with a meaning
in addresses, libpq takes a part of the password for a host or a database, and would show it. So an
address is read here first, and the errors repeat nothing of it.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from askwise.errors import LedgerError

EXPECTED = "expected postgresql://user:password@host:port/database"
ESCAPED = "in a password, @ is written %40, / %2F, ? %3F, # %23 and % %25"

POSTGRES = ("postgresql://", "postgres://")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_PASSWORD = re.compile(r"\bpassword\s*=|:.*@", re.IGNORECASE)


def is_postgres(where: str) -> bool:
    """Whether it is the address of a PostgreSQL server; anything else is the name of a file."""
    if where.startswith(POSTGRES):
        return True
    scheme = _SCHEME.match(where)
    if scheme is not None or _PASSWORD.search(where):
        begins = f"begins with {scheme[1]}:/ and" if scheme is not None else "has a password but"
        raise LedgerError(
            f"the address of the database {begins} is not one of PostgreSQL: {EXPECTED}, "
            "or the name of a file"
        )
    return False


def checked(address: str) -> str:
    """Returns the address, or raises LedgerError if its parts cannot be told apart."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error:
        raise LedgerError(f"the address of the database cannot be read: {_advice()}") from None
    rest = (str(value) for name, value in parts.items() if name not in ("user", "password"))
    if any("@" in value for value in rest):
        raise LedgerError(f"the address of the database has one @ too many: {_advice()}")
    ports = str(parts.get("port") or "0").split(",")
    if not all(port.isascii() and port.isdigit() for port in ports):
        raise LedgerError(f"the port in the address of the database is not a number: {_advice()}")
    return address


def hidden(address: str, text: str) -> str:
    """The text without the password of the address."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(address)
    for name in ("password", "sslpassword"):
        secret = str(parts.get(name) or "")
        if secret:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
    return text


def shown(where: str) -> str:
    """A database as it may be printed: the address without its password, or the name of the file.

    >>> shown("postgresql://clinic:secret@db/askwise")
    'postgresql://clinic:***@db/askwise'
    """
    if not where.startswith(POSTGRES):
        return where
    where = re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1***", where)
    return re.sub(r"(://[^:/@?]*):[^@]*@", r"\1:***@", where)


def _advice() -> str:
    return f"{EXPECTED}; {ESCAPED}"
