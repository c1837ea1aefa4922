"""Durable events: SQLite in a file by default, PostgreSQL when one machine is not enough."""

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
