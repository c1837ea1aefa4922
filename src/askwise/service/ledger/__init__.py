"""Durable events: SQLite in a file by default, PostgreSQL when one machine is not enough.

| module | what |
| --- | --- |
| `contract.py` | what every ledger promises: `Ledger` and `Transaction` |
| `rows.py`, `counters.py`, `case_blocks.py` | what is kept, as types |
| `schema.py` | the tables, as steps from version to version |
| `sql.py`, `administration.py` | the statements, which all SQL databases share |
| `session.py` | `Session`, in which `SqlLedger` sends them |
| `sqlite.py`, `postgres.py` | how each database connects, locks, inserts and fails |
| `address.py` | which database an address names |

**Where would I add a new database?** One that speaks SQL is a module like `postgres.py`: a
`Session` (how statements are sent and rows are inserted), and a subclass of `SqlLedger` with
`migrate`, `read_session`, `write_session`, `looks_unwritable`, `checkpoint` and `close`, that turns
the database's errors into the three kinds of `contract.py`. One that does not speak SQL is a class
with the methods of `contract.Ledger`. Either way: add a branch to `open_ledger` below, have
`address.py` recognise its addresses, and add it to the fixture `database` in `tests/serving.py`:
every test of the service, `tests/testing/test_ledgers.py` first, then runs on it as on the
others.
"""

from __future__ import annotations

from askwise._support.extras import need
from askwise.service.ledger.address import is_postgres
from askwise.service.ledger.contract import Ledger


def open_ledger(where: str, *, migrate: bool = True) -> Ledger:
    """The ledger at a file name or a postgresql:// address, its schema up to date."""
    ledger: Ledger
    if is_postgres(where):
        need("psycopg", "service")
        from askwise.service.ledger.postgres import PostgresLedger

        ledger = PostgresLedger(where)
    else:
        need("apsw", "service")
        from askwise.service.ledger.sqlite import SqliteLedger

        ledger = SqliteLedger(where)
    if migrate:
        ledger.migrate()
    return ledger
