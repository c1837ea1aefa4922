"""Helpers for the checks of ledgers: entries, refusals, and writes from many processes."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

from askwise.errors import LedgerDataError
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.rows import (
    NO_PROJECT,
    Event,
    Head,
    Increment,
    Project,
    StoredCase,
    StoredPolicy,
)

MakesLedger: TypeAlias = Callable[[str], Ledger]
"""Opens the database of that name, which is new and empty when the name is. One that is open or was
closed is opened once more by its name; the schema is left to `migrate`."""

PATIENCE = 60
"""Seconds until a process that waits in vain is ended."""

FIRST = StoredPolicy(version=1, watermark=0, fence=0, at=5, blob=b"\x00policy")


def new_name() -> str:
    """A name that no database has."""
    return f"check_{secrets.token_hex(6)}"


@contextmanager
def opened(make: MakesLedger, name: str = "") -> Iterator[Ledger]:
    """A ledger that is ready, closed in the end."""
    ledger = make(name or new_name())
    try:
        ledger.migrate()
        yield ledger
    finally:
        ledger.close()


def new_project(ledger: Ledger, name: str = "clinic") -> int:
    """The number of a project that was created."""
    with ledger.transaction() as transaction:
        number = create(transaction, name)
    assert number is not None, f"there is no {name!r} yet, but its name was taken"
    return number


def create(transaction: Transaction, name: str) -> int | None:
    """A project without events."""
    transaction.lock([NO_PROJECT])
    row = Project(NO_PROJECT, name, b"{}", "learner", b"{}", 7, 1, 0, 0, 1, 0, 5, "")
    return transaction.create(row, FIRST)


def event(seq: int, key: str = "", body: bytes = b"{}") -> Event:
    """The event of that number; its key is its own, if none is said."""
    key = key or f"key {seq}"
    return Event(seq, key, "open", seq, body, 201, b'{"case":%d}' % seq, 1_000 + seq)


def append(ledger: Ledger, project: int, *events: Event, amount: int = 1) -> None:
    """Write events, a case for each, and count them, in one transaction."""
    with ledger.transaction() as transaction:
        append_to(transaction, project, *events, amount=amount)


def append_to(transaction: Transaction, project: int, *events: Event, amount: int = 1) -> None:
    """The same in a transaction that goes on."""
    head = transaction.lock([project])[project]
    transaction.append(
        project,
        Head(events[-1].seq, head.opened + len(events), head.version),
        events,
        [StoredCase(e.case, e.seq % 5, b"case \x00\xff%d" % e.seq) for e in events],
        [Increment("visits", 3, 0, amount * len(events))],
    )


def append_next(ledger: Ledger, project: int, key: str, amount: int = 1) -> None:
    """Write one more event, with the number that follows from what is there."""
    with ledger.transaction() as transaction:
        seq = transaction.lock([project])[project].seq + 1
        append_to(transaction, project, event(seq, key), amount=amount)


def contents(ledger: Ledger) -> dict[str, Any]:
    """All that can be read in a ledger."""
    projects = ledger.projects()
    return {
        "projects": projects,
        "events": {p.id: ledger.events(p.id, 0, 10**6) for p in projects},
        "cases": {p.id: ledger.latest_cases(p.id, 2**62, 10**6) for p in projects},
        "counters": {p.id: ledger.snapshot(p.id) for p in projects},
        "policies": {p.id: list(ledger.policies(p.id)) for p in projects},
        "tokens": ledger.tokens(),
        "lease": ledger.lease()[:2],
    }


@contextmanager
def changes_nothing(ledger: Ledger) -> Iterator[None]:
    """Checks that the block changes nothing that can be read."""
    before = contents(ledger)
    yield
    after = contents(ledger)
    for name, was in before.items():
        assert after[name] == was, f"{name} has changed from {was} to {after[name]}"


@contextmanager
def refused(what: str) -> Iterator[None]:
    """The block is refused as something that the database cannot hold."""
    try:
        yield
    except LedgerDataError:
        return
    raise AssertionError(f"{what} was written")


class Abandoned(Exception):  # noqa: N818
    """The error that the checks raise to abandon a transaction."""


@contextmanager
def abandoned(ledger: Ledger) -> Iterator[Transaction]:
    """A transaction whose block raises in the end."""
    try:
        with ledger.transaction() as transaction:
            yield transaction
            raise Abandoned
    except Abandoned:
        pass


def in_processes(processes: int, work: Callable[[int], None]) -> list[int]:
    """Do the work in so many processes that begin together; what each ended with, 0 if all went
    well. The ledgers that they use must be opened in there.
    """
    start, go = os.pipe()
    children = []
    for number in range(processes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
            child = os.fork()
        if not child:
            os.close(go)
            _work(start, lambda number=number: work(number))  # type: ignore[misc]
        children.append(child)
    os.close(go)
    os.close(start)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _work(start: int, work: Callable[[], None]) -> NoReturn:
    """Runs in a child process, without the parent's exit handlers."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        os.read(start, 1)  # until the parent has closed its end
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
