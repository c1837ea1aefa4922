"""What a ledger promises, whatever database keeps it; `testing/ledgers.py` checks each promise.

**Atomic.** An event, the step of its case, what it adds to the counters and the answer to it are
written in one transaction, or none of them is. Each method of `Ledger` that writes is a transaction
of its own; several writes that belong together go through `Ledger.transaction`.

**Ordered.** A transaction that writes in a project locks that project until its commit. So the
events of a project are numbered 1, 2, 3 … without gaps, and a reader that sees event k sees all
events before it. An idempotency key is taken for ever within its project. Events are never changed
or removed: the database itself refuses both, but for what was erased (`Transaction.erase_case`) and
for projects that were removed as a whole (`Transaction.remove_project`).

**Durable.** When the block of a transaction has ended without an error, everything in it is on disk
and survives a crash of the process, of the machine or of the database. After a crash before that,
all of the transaction is there or nothing is; the same request with the same key finds out which.
Leases expire by themselves when their holder dies.

**Isolated.** Every read sees one moment, never half a transaction.

**Errors.** Three kinds, so that a caller knows who is at fault:

- `LedgerUnavailableError`: the database is gone, full, read-only or not migrated. Every request
  would fail alike. Any method may raise it. Nothing was written, unless the connection was lost
  while the commit was on its way: then all of it may be there, as after a crash.
- `LedgerDataError`: the database cannot hold what it was given (a key that is taken, a number
  beyond 64 bits). The transaction is taken back; the same one would fail again.
- `LedgerError`: anything else that the database says, such as a statement that took too long. The
  transaction is taken back.

An error that the caller's own block raises takes the transaction back too, and goes on as it is.

**Threads.** Any thread may call any method of a `Ledger`. A `Transaction` belongs to the thread
that began it. Transactions of one `Ledger` wait for each other; other processes wait only where
the database needs it: SQLite for its one writer, PostgreSQL for a project that is locked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from askwise.service.ledger.rows import (
    Event,
    Head,
    Increment,
    Lease,
    Project,
    Snapshot,
    StoredCase,
    StoredPolicy,
    StoredToken,
)


class Transaction(Protocol):
    """Reads and writes that are committed together, or not at all.

    What a method reads includes what the transaction itself has written. A method that raises
    leaves the transaction fit for nothing but being taken back: let the error leave the block.
    """

    def lock(self, projects: Sequence[int]) -> dict[int, Head]:
        """Lock these projects until the end of the transaction, and read where they stand.

        Locks are taken in the order of the numbers, so that two transactions never wait for each
        other in a circle; a transaction that locks more later names no lower number. Projects that
        do not exist are left out. What was read in a project before it was locked may be stale.
        """

    def events_with_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have taken these idempotency keys, by key; other keys are free."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """Those of the cases that exist, by number."""

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place); one that was never added to is left out."""

    def append(
        self,
        project: int,
        head: Head,
        events: Sequence[Event],
        cases: Sequence[StoredCase],
        increments: Sequence[Increment],
    ) -> None:
        """Write the events, put the cases in place of what was, add to the counters.

        `head` is where the project stands after it: its `seq` is that of the last event. The
        caller has locked the project. What is named twice is written in turn: of a counter all
        amounts are added, of a case the last one stands.

        Raises LedgerDataError if the number or the key of an event is taken, or a counter would
        not fit into 64 bits.
        """

    def move_counters(self, project: int, kind: str, into: str | None) -> None:
        """Add all counters of a kind to those of another, and remove them; None: just remove.

        The caller has locked the project. Raises LedgerDataError if a sum would not fit into 64
        bits.
        """

    def holds_lease(self, fence: int) -> bool:
        """Whether no newer lease was given than that of this number; it stays so until the end."""

    def create(self, project: Project, policy: StoredPolicy) -> int | None:
        """Write a new project with a first policy; returns its number, which replaces `id`.

        None if the name is taken: then nothing was written. The caller has locked `NO_PROJECT`, so
        that numbers are given out one at a time.
        """

    def add_policy(self, project: int, policy: StoredPolicy) -> None:
        """Write one more policy of a project that is being imported; which is current stays.

        Raises LedgerDataError if the project has that version already.
        """

    def add_token(self, token: StoredToken) -> None:
        """Write a token.

        Raises LedgerDataError if its id is taken.
        """

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too, in the order of their creation."""

    def change_token(self, token: StoredToken) -> None:
        """Put this in place of the token of the same id; nothing happens if there is none."""

    def project(self, name: str) -> Project | None:
        """The project of that name."""

    def change_project(self, project: Project) -> None:
        """Give the project of this number this name, problem and `archived`; the rest stays.

        The caller has locked it. Raises LedgerDataError if another project has the name.
        """

    def remove_project(self, project: int) -> None:
        """Remove a project; its name is free. `Ledger.purge` removes what it leaves behind.

        The caller has locked it and `NO_PROJECT`. Its number is never given out again.
        """

    def replace_policy(self, project: int, version: int, blob: bytes) -> None:
        """Put these bytes in place of those of a policy, which no case will follow any more."""

    def erase_case(self, project: int, case: int, events: Sequence[int]) -> None:
        """Blank what a case holds, and the bodies, answers and keys of its events; for ever.

        `events` are their numbers. The caller has locked the project.
        """

    def publish(self, project: int, policy: StoredPolicy) -> bool:
        """Make a policy the current one, and clear the failure of the last plan; locks the project.

        False, and nothing is written, if the version before it is not current any more, or a newer
        lease was given since `policy.fence`: another planner was faster, or took over.
        """


class Ledger(Protocol):
    """Durable events, and what follows from them."""

    def migrate(self) -> None:
        """Bring the schema up to date; many processes may do so at once.

        Atomic: a crash leaves the old schema or the new one. Raises LedgerError if the schema is
        newer than this version of askwise knows.
        """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction: durable once the block has ended, taken back if it raises."""

    # --- reads; each sees one moment --------------------------------------------------------------

    def projects(self) -> list[Project]:
        """All projects, in the order of their creation."""

    def project(self, name: str) -> Project | None:
        """The project of that name."""

    def case(self, project: int, id: int) -> StoredCase | None:
        """One case, if it exists."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """Those of the cases that exist, by number."""

    def latest_cases(self, project: int, before: int, limit: int) -> list[StoredCase]:
        """The newest cases with a number below `before`, the newest first, at most `limit`."""

    def cases_in(self, project: int, status: int, numbers: range, limit: int) -> list[StoredCase]:
        """The first cases of that status among these numbers, in order, at most `limit`."""

    def events(self, project: int, after: int, limit: int) -> list[Event]:
        """The events with a number above `after`, in order, at most `limit`."""

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place); one that was never added to is left out."""

    def snapshot(self, project: int) -> Snapshot:
        """All counters of a project that exists, and the event up to which they count."""

    def policy(self, project: int, version: int) -> StoredPolicy | None:
        """One policy, if it exists."""

    def policy_sizes(self, project: int) -> list[tuple[int, int]]:
        """All versions of a project's policy, in order, and how many bytes each has."""

    def events_of_kind(self, project: int, kind: str) -> list[Event]:
        """All events of a kind, in order; it takes as long as there are events."""

    def events_of_case(self, project: int, case: int) -> list[tuple[Event, int]]:
        """The events of a case, in order; with each, how many cases were opened up to it."""

    def size(self) -> int:
        """Bytes of the whole database on disk."""

    def policies(self, project: int) -> Iterator[StoredPolicy]:
        """All policies of a project, in order; each is read when it is asked for."""

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too, in the order of their creation."""

    def lease(self) -> Lease:
        """The lease of the replanner as it stands, whether good or expired."""

    # --- writes; each is a transaction of its own -------------------------------------------------

    def record_plan_failure(self, project: int, failure: str) -> None:
        """Write why the project got no new policy; `publish` clears it.

        Raises LedgerDataError if the database cannot hold the text: PostgreSQL takes no NUL.
        """

    def take_lease(self, holder: str) -> Lease:
        """Take or renew the right to plan, unless another holder's lease is good.

        Returns the lease that is good now, whosever it is. A new holder gets a fencing number that
        was never given before; a renewal keeps its number. Of several who ask at once, one gets it.
        """

    def release_lease(self, holder: str) -> None:
        """Let the lease expire now, if it is this holder's; else change nothing."""

    def add_token(self, token: StoredToken) -> None:
        """Write a token.

        Raises LedgerDataError if its id is taken.
        """

    def revoke_token(self, id: str, at: int) -> bool:
        """Mark a token as revoked; False if there is none of that id that is still good."""

    def purge(self, rows: int) -> bool:
        """Remove up to so many rows that removed projects left; whether there may be more."""

    # --- care -------------------------------------------------------------------------------------

    def looks_unwritable(self) -> bool:
        """Whether there are signs that a commit would fail; nothing is written to find out."""

    def probe(self) -> None:
        """Commit a write that has no meaning, as durably as any other.

        Raises LedgerError if the ledger cannot be written now.
        """

    def checkpoint(self) -> None:
        """Shorten the database's own log, if it is long; called every fraction of a second.

        What was committed stays committed, whatever becomes of this.
        """

    def compact(self) -> None:
        """Give back the space that was freed; others may have to wait while it lasts."""

    def close(self) -> None:
        """Close all connections. No method may be called after this, but for `close` itself."""
