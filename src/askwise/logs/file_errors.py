"""Messages of one line on why a file cannot be read.

The messages contain no cells of the file, because these may be personal data. Rows are counted from
0, without the header, as everywhere.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from askwise._support.extras import need
from askwise.errors import TableError


@contextmanager
def read_errors() -> Iterator[None]:
    """Replaces DuckDB's message for a file that cannot be read by one line of our own."""
    duckdb = need("duckdb", "logs")
    try:
        yield
    except duckdb.Error as error:
        raise TableError(_words_for(str(error))) from None


def _words_for(said: str) -> str:
    file, line = _found(r"^\s*file\s*=\s*(.+)$", said), _found(r"CSV Error on Line: (\d+)", said)
    if line is None:
        return "; ".join([*said.splitlines()[:1], *([f"file = {file}"] if file else [])])
    if file is not None and "not utf-8 encoded" in said:
        return not_utf8(file)
    where = f"{file or 'the file'}: row {int(line) - 2} (line {line} of the file)"
    cells = re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)$", said, re.MULTILINE)
    if cells is not None:
        expected, has = map(int, cells.groups())
        many = "too many" if has > expected else "too few"
        return (
            f"{where} has {has} cells, {many} for {expected} columns: put quotes around cells that "
            "hold commas, and write an empty cell where there is nothing"
        )
    if "unterminated quote" in said:
        return f"{where}: a quote is opened and never closed: close it, or double quotes in cells"
    return f"{where} is not as a CSV should be: check its commas and quotes"


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return None if found is None else found[1].strip()


def not_utf8(file: str) -> str:
    """Returns the message for a CSV that is not in UTF-8: the first such cell, and the remedy."""
    remedy = (
        f"save it as UTF-8, or hand over pandas.read_csv({file!r}, encoding='latin-1'), or "
        "whatever its encoding is"
    )
    return f"{file}: {_first_place(file)}not in UTF-8: {remedy}"


def _first_place(file: str) -> str:
    """Returns the place of the first cell that is not UTF-8, for the start of a message."""
    unpacked: Any = gzip.open if file.lower().endswith(".gz") else open
    header: list[str] = []
    with unpacked(file, "rb") as stream:
        for row, line in enumerate(stream, start=-1):
            try:
                cells = next(csv.reader([line.decode("latin-1")]), [])
            except csv.Error:  # the file has no lines of a CSV at all
                return "it is "
            odd = next((k for k, cell in enumerate(cells) if not _is_utf8(cell)), None)
            if row < 0:
                header = cells
            if odd is None:
                continue
            if row < 0:
                return f"the name of column {odd + 1} is "
            named = f"column {_as_utf8(header[odd])!r}, " if odd < len(header) else ""
            return f"{named}row {row} is "
    return "it is "


def _as_utf8(cell: str) -> str:
    """Decodes a text as UTF-8 that was read as Latin-1."""
    return cell.encode("latin-1").decode("utf-8-sig")


def _is_utf8(cell: str) -> bool:
    try:
        _as_utf8(cell)
    except UnicodeDecodeError:
        return False
    return True
