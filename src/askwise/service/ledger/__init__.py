"""Durable events: SQLite in a file by default, PostgreSQL when one machine is not enough.

| module | what |
| --- | --- |
| `contract.py` | what every ledger promises: `Ledger` and `Transaction` |
| `rows.py`, `counters.py`, `case_blocks.py` | types of what is kept |
| `schema.py` | the tables, as steps from version to version |
| `sql.py`, `administration.py` | the statements, which all SQL databases share |
| `session.py` | `Session`, the connection that they run in |
| `sqlite.py`, `postgres.py` | how each database connects, locks, inserts and fails |
| `sqlite_reading.py` | a SQLite file that is only read |
| `address.py` | which database an address names |

**Where would I add a new database?**

- A database that speaks SQL is a module like `postgres.py`. It has a `Session` (how statements are
  sent and rows are inserted) and a subclass of `SqlLedger` with `migrate`, `read_session`,
  `write_session`, `looks_unwritable`, `checkpoint`, `size`, `compact` and `close`. The subclass
  turns the database's errors into the three kinds of `contract.py`.
- A database that does not speak SQL is a class with the methods of `contract.Ledger`.
- In both cases, add a branch to `open_ledger` below, let `address.py` recognise its addresses, and
  add it to the fixture `database` in `tests/serving.py`. Every test of the service then runs on it;
  begin with `tests/testing/test_ledgers.py`.
"""

from __future__ import annotations

from askwise._support.extras import need
from askwise.service.ledger.address import is_postgres
from askwise.service.ledger.contract import Ledger


def open_ledger(where: str, *, migrate: bool = True, reads_only: bool = False) -> Ledger:
    """Open the ledger at a file name or a postgresql:// address, its schema up to date.

    reads_only: A file is not changed at all; it must be a ledger already.
    """
    ledger: Ledger
    if is_postgres(where):
        need("psycopg", "service")
        from askwise.service.ledger.postgres import PostgresLedger

        ledger = PostgresLedger(where)
    else:
        need("apsw", "service")
        from askwise.service.ledger.sqlite import SqliteLedger
        from askwise.service.ledger.sqlite_reading import SqliteReading

        ledger = SqliteReading(where) if reads_only else SqliteLedger(where)
    if migrate:
        try:
            ledger.migrate()
        except BaseException:
            ledger.close()
            raise
    return ledger
