"""The connection to a database in which the statements run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]


class Session(Protocol):
    """A connection to a database, as the statements need it."""

    locking: str
    """The end of a SELECT that locks its rows until the commit."""
    sum: str
    """The sum of `counters.amount` and `excluded.amount`; an error if it exceeds 64 bits."""
    now: str
    """Microseconds since 1970, by the database's clock."""

    def all(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a query."""

    def each(
        self, columns: str, table: str, key: str, project: int, keys: Sequence[Any]
    ) -> list[Row]:
        """The rows of a project that have one of the keys in the column `key`."""

    def change(self, sql: str, *values: Any) -> None:
        """Run a statement that returns no rows."""

    def together(self, rows: int) -> AbstractContextManager[Any]:
        """A block whose statements, with inserts of so many rows, may be sent together."""

    def insert(self, table: str, rows: Sequence[Row], then: str = "") -> None:
        """Insert rows; `then` says what to do with a row that exists already."""
