"""Reads logs in files, or in a DuckDB relation, of any size.

DuckDB reads every row once and returns groups of equal rows. It uses at most `MEMORY`; the rest
goes to a temporary folder that is removed afterwards.
"""

# ruff: noqa: S608 (every name and every text in a query is quoted by `askwise.logs.sql`)

from __future__ import annotations

import csv
import errno
import glob
import gzip
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from askwise._support.extras import need
from askwise._support.frames import twice
from askwise._support.progress import polled
from askwise.errors import TableError
from askwise.logs.file_errors import not_utf8, read_errors
from askwise.logs.sql import quoted, text

MEMORY = "1GiB"

SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}


class Part(NamedTuple):
    """Files of a log with the same columns, as SQL can read them."""

    files: tuple[str, ...]
    function: str
    options: str

    def scan(self, files: Sequence[str]) -> str:
        """Returns the SQL that reads some of its files."""
        return f"{self.function}([{', '.join(map(text, files))}], {self.options})"


class Query:
    """A log that can be queried with SQL. Every query calls it `log`."""

    def __init__(self, connection: Any, relation: Any, parts: Sequence[Part] = ()) -> None:
        self.connection = connection
        """The DuckDB connection, to compute with what was read."""
        self._relation = relation
        self._parts = parts
        self.columns: list[str] = list(relation.columns)
        self.kinds = {n: str(t) for n, t in zip(relation.columns, relation.types, strict=True)}
        """The type of each column."""

    def ask(self, sql: str) -> Any:
        """Returns the result of a query as a PyArrow table."""
        with read_errors():
            return self._relation.query("log", sql).to_arrow_table()

    def keep(self, name: str, sql: str) -> None:
        """Keeps the result of a query as a table with this name."""
        with read_errors():
            if self._parts:  # on disk, if it does not fit
                log = f"WITH log AS ({_union(self._parts)})"
                with polled("reading the log", self.connection.query_progress):
                    self.connection.execute(f"CREATE TEMP TABLE {name} AS {log} {sql}")
            else:
                self.connection.register(name, self.ask(sql))

    def first(self, condition: str, column: str) -> tuple[str, str | None]:
        """Returns the first row in which a condition holds, and its cell, for an error message."""

        def sql(scan: str) -> str:
            numbered = f"SELECT row_number() OVER () - 1 AS askwise_row, * FROM {scan}"
            cells = f"SELECT askwise_row, {quoted(column)}::VARCHAR FROM ({numbered})"
            return f"{cells} WHERE {condition} ORDER BY askwise_row LIMIT 1"

        with read_errors():
            if not self._parts:
                found = self._relation.query("log", sql("log")).fetchall()
                return f"column {column!r}, row {found[0][0]}", found[0][1]
            self.connection.execute("SET preserve_insertion_order = true")
            for part in self._parts:
                for file in part.files:
                    found = self.connection.sql(sql(part.scan([file]))).fetchall()
                    if found:
                        row, cell = found[0]
                        return f"{file}: column {column!r}, row {row}", cell
        raise TableError(f"column {column!r} changed while it was read: read it again")


@contextmanager
def opened(log: Any) -> Iterator[Query]:
    """Opens a log for queries."""
    duckdb = need("duckdb", "logs")
    need("pyarrow", "logs")
    with tempfile.TemporaryDirectory(prefix="askwise-") as folder:
        config = {
            "memory_limit": MEMORY,
            "threads": os.cpu_count() or 1,
            "temp_directory": folder,
            "preserve_insertion_order": False,
        }
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = true")  # it knows how far it is,
            connection.execute("SET enable_progress_bar_print = false")  # and prints nothing
            if isinstance(log, duckdb.DuckDBPyRelation):
                yield Query(connection, log)
                return
            parts = _parts(connection, paths_of(log))
            with read_errors():
                yield Query(connection, connection.sql(_union(parts)), parts)


def is_relation(log: Any) -> bool:
    """Whether it is a DuckDB relation, without importing DuckDB."""
    return type(log).__name__ == "DuckDBPyRelation"


def are_paths(log: Any) -> bool:
    """Whether it is a path, or a list of paths."""
    if isinstance(log, str | os.PathLike):
        return True
    is_list = isinstance(log, list | tuple) and len(log) > 0
    return is_list and all(isinstance(path, str | os.PathLike) for path in log)


def paths_of(log: Any) -> list[str]:
    """The files that paths and patterns name, in order."""
    given = [log] if isinstance(log, str | os.PathLike) else log
    found = []
    for path in map(os.fspath, given):
        files = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        for file in files:
            _format(file)
        found += files
    return found


def _format(file: str) -> str:
    name = Path(file).name.lower()
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise TableError(f"{file}: expected a name ending in {', '.join(SUFFIXES)}")


def _parts(connection: Any, files: Sequence[str]) -> list[Part]:
    """Neighbouring files with the same columns; every file must have the columns of the first."""
    parts: list[Part] = []
    first: set[str] | None = None
    for file in files:
        if _format(file) == "csv":
            header = _header(file)
            columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
            reads = (
                "read_csv",
                "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
                f"columns = {{{columns}}}",
            )
        else:
            with read_errors():
                header = connection.sql(f"SELECT * FROM read_parquet({text(file)})").columns
            reads = ("read_parquet", "union_by_name = true")
        if first is None:
            first = set(header)
        elif set(header) != first:
            odd = sorted(first ^ set(header))[0]
            has, other = (file, files[0]) if odd in header else (files[0], file)
            raise TableError(
                f"{has} has a column {odd!r}, but {other} has none: all files of a log need the "
                "same columns"
            )
        if parts and parts[-1][1:] == reads:
            parts[-1] = Part((*parts[-1].files, file), *reads)
        else:
            parts.append(Part((file,), *reads))
    return parts


def _union(parts: Sequence[Part]) -> str:
    selects = [f"SELECT * FROM {part.scan(part.files)}" for part in parts]
    return " UNION ALL BY NAME ".join(selects)


def _header(file: str) -> list[str]:
    unpacked: Any = gzip.open if file.lower().endswith(".gz") else open
    try:
        with unpacked(file, "rt", newline="", encoding="utf-8-sig") as stream:
            header = next(csv.reader(stream), [])
    except UnicodeDecodeError:
        raise TableError(not_utf8(file)) from None
    except gzip.BadGzipFile as error:
        raise TableError(f"{file}: not a compressed CSV: {error}") from None
    if not header:
        raise TableError(f"{file} is empty")
    check_header(file, header)
    return header


def check_header(file: str, header: Sequence[str], *, is_path: bool = True) -> None:
    """Raises an error unless a CSV has commas between its columns, and distinct names.

    is_path: Whether `file` is a path, which other libraries can read too.
    """
    for separator, words in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            said = (
                f"{file}: its cells are separated by {words}, expected commas: save it with commas"
            )
            other = f", or hand over pandas.read_csv({file!r}, sep={separator!r})"
            raise TableError(said + other if is_path else said)
    folded = [name.casefold() for name in header]
    for place, name in enumerate(header, start=1):
        if not name.strip():
            raise TableError(f"{file}: column {place} has no name: give it one, or leave it out")
        if folded.count(name.casefold()) > 1:
            raise TableError(f"{file}: {twice(repr(name))}")


def named(log: Any) -> str:
    """What a message calls a log: its files, if it has any."""
    if not are_paths(log):
        return "the log"
    given = [log] if isinstance(log, str | os.PathLike) else list(log)
    more = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return f"{os.fspath(given[0])}{more}"
