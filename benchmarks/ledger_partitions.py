"""Whether partitions would make the events of a PostgreSQL ledger cheaper to write.

    python benchmarks/ledger_partitions.py --db postgresql://askwise@localhost/x --rows 1000000

A key is taken for ever within its project, and events are numbered within their project. Both are
unique indexes, and a partitioned table needs its partition's column in each: so events can be
partitioned by project, and by nothing else. This writes the same events into one table and into 16
partitions, with keys in the order of time and with random ones, and prints what the server's
process spent on an event, at a tenth of the rows and at all of them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import psycopg

COLUMNS = """project BIGINT NOT NULL, seq BIGINT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL,
    case_id BIGINT NOT NULL, body BYTEA NOT NULL, status BIGINT NOT NULL, answer BYTEA NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (project, seq)"""
PARTITIONS = 16
PROJECTS = 64
TRIED = 20_000
"""Events that are timed."""

KEYS = {
    "in the order of time": "lpad(to_hex(n), 14, '0') || '-000000000000000000000000'",
    "random": "md5(n::text)",
}


def main() -> None:
    """Fill both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", required=True, help="of this machine; tables are made and removed")
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    with psycopg.connect(given.db, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")  # the disk is not what is compared
        for order, key in KEYS.items():
            for parts in (1, PARTITIONS):
                make(connection, parts)
                costs, last = [], 0
                for rows in (given.rows // 10, given.rows):
                    write(connection, last, rows, key)
                    costs.append(timed(connection, rows, key))
                    last = rows + TRIED
                row = connection.execute(SIZE).fetchone()
                assert row is not None
                shown = " and ".join(f"{1e6 * cost:.1f}" for cost in costs)
                size = f"indexes {float(row[0]) / last:.0f} bytes an event"
                print(f"keys {order}, {parts:2} tables: {shown} µs an event, {size}", flush=True)
                connection.execute("DROP TABLE events_tried")


SIZE = """SELECT sum(pg_indexes_size(oid)) FROM pg_class
    WHERE relname LIKE 'events_tried%' AND relkind = 'r'"""


def make(connection: psycopg.Connection[tuple[object, ...]], parts: int) -> None:
    """One table, or one in parts, with both indexes of a ledger."""
    by = "" if parts == 1 else " PARTITION BY HASH (project)"
    connection.execute(f"CREATE TABLE events_tried ({COLUMNS}){by}".encode())
    for k in range(parts if parts > 1 else 0):
        connection.execute(
            f"CREATE TABLE events_tried_{k} PARTITION OF events_tried "
            f"FOR VALUES WITH (MODULUS {parts}, REMAINDER {k})".encode()
        )
    connection.execute("CREATE UNIQUE INDEX ON events_tried (project, key)")


def write(
    connection: psycopg.Connection[tuple[object, ...]], first: int, last: int, key: str
) -> None:
    """Events with these numbers, spread over the projects."""
    connection.execute(
        f"""INSERT INTO events_tried SELECT n % {PROJECTS}, n, {key}, 'observe', n / 3,
            repeat('x', 40)::bytea, 200, repeat('y', 90)::bytea, n
            FROM generate_series({first + 1}, {last}) AS n""".encode()
    )


def timed(connection: psycopg.Connection[tuple[object, ...]], rows: int, key: str) -> float:
    """Seconds of the server's processor for an event more."""
    before = spent(connection.info.backend_pid)
    write(connection, rows, rows + TRIED, key)
    return (spent(connection.info.backend_pid) - before) / TRIED


def spent(process: int) -> float:
    """Seconds of a processor that it has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
