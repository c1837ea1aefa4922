"""The contract of every ledger, in any database. `testing/ledgers.py` checks each promise.

**Atomic.** An event, the step of its case, what it adds to the counters and the answer to it are
written in one transaction, or none of them is. Each method of `Ledger` that writes is a transaction
of its own. Several writes that belong together go through `Ledger.transaction`.

**Ordered.** A transaction that writes in a project locks that project until its commit. So the
events of a project are numbered 1, 2, 3 … without gaps, and a reader that sees event k sees all
events before it. An idempotency key is taken for ever within its project. Events are never changed
or removed, and the database itself refuses both. There are two exceptions: cases that are erased
(`Transaction.erase_case`), and projects that are removed as a whole (`Transaction.remove_project`).

**Durable.** After the block of a transaction has ended without an error, everything in it is on
disk. It survives a crash of the process, of the machine or of the database. After a crash before
that, all of the transaction is there or nothing is. The same request with the same key finds out
which. Leases expire by themselves when their holder dies.

**Isolated.** Every read sees one moment, never half a transaction.

**Errors.** There are three kinds, so that a caller knows what is at fault:

- `LedgerUnavailableError`: the database is gone, full, read-only or not migrated. Every request
  would fail in the same way. Any method may raise it. Nothing was written, with one exception: if
  the connection was lost during the commit, all of the transaction may be there, as after a crash.
- `LedgerDataError`: the database cannot hold what it was given (a key that is taken, a number
  beyond 64 bits). The transaction is rolled back. The same transaction would fail again.
- `LedgerError`: any other error of the database, such as a statement that took too long. The
  transaction is rolled back.

An error that the caller's own block raises rolls the transaction back too, and is raised again.

**Threads.** Any thread may call any method of a `Ledger`. A `Transaction` belongs to the thread
that began it. Transactions of one `Ledger` wait for each other. Other processes wait only where
the database needs it: in SQLite for its one writer, in PostgreSQL for a locked project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from askwise.service.ledger.rows import (
    Event,
    Head,
    Increment,
    Lease,
    PolicyHead,
    Project,
    Snapshot,
    StoredCase,
    StoredPolicy,
    StoredToken,
)


class Transaction(Protocol):
    """Reads and writes that are committed together, or not at all.

    What a method reads includes what the transaction itself has written. After a method has
    raised, the transaction can only be rolled back: let the error leave the block.
    """

    def lock(self, projects: Sequence[int]) -> dict[int, Head]:
        """Lock these projects until the end of the transaction, and read where they stand.

        Locks are taken in the order of the numbers, so two transactions never wait for each other
        in a circle. A later call in the same transaction names no lower number. Projects that do
        not exist are left out. What was read in a project before it was locked may be stale.
        """

    def events_with_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have taken these idempotency keys, by key; other keys are free."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """The cases with these numbers, by number; numbers without a case are left out."""

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place); counters that were never used are left out."""

    def append(
        self,
        project: int,
        head: Head,
        events: Sequence[Event],
        cases: Sequence[StoredCase],
        increments: Sequence[Increment],
    ) -> None:
        """Write the events, replace the cases, and add to the counters.

        `head` is where the project stands afterwards: its `seq` is that of the last event. The
        caller has locked the project. If a counter is named twice, both amounts are added. If a
        case is named twice, the last one is kept.

        Raises LedgerDataError if the number or the key of an event is taken, or a counter would
        not fit into 64 bits.
        """

    def move_counters(self, project: int, kind: str, into: str | None) -> None:
        """Add all counters of a kind to those of another and remove them; None only removes them.

        The caller has locked the project. Raises LedgerDataError if a sum would not fit into 64
        bits.
        """

    def holds_lease(self, fence: int) -> bool:
        """Whether the lease with this fencing number is the newest one.

        The answer stays true until the end of the transaction.
        """

    def create(self, project: Project, policy: StoredPolicy) -> int | None:
        """Write a new project with a first policy; returns its number, which replaces `id`.

        Returns None, and writes nothing, if the name is taken. The caller has locked `NO_PROJECT`,
        so that numbers are given out one at a time.
        """

    def add_policy(self, project: int, policy: StoredPolicy) -> None:
        """Write one more policy of a project that is being imported; the current version stays.

        Raises LedgerDataError if the project has that version already.
        """

    def add_token(self, token: StoredToken) -> None:
        """Write a token.

        Raises LedgerDataError if its id is taken.
        """

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too, in the order of their creation."""

    def change_token(self, token: StoredToken) -> None:
        """Replace the token with the same id; does nothing if there is none."""

    def project(self, name: str) -> Project | None:
        """The project of that name."""

    def change_project(self, project: Project) -> None:
        """Change the name, the problem and `archived` of the project with this number.

        The caller has locked the project. Raises LedgerDataError if another project has the name.
        """

    def remove_project(self, project: int) -> None:
        """Remove a project and free its name; `Ledger.purge` later removes its rows.

        The caller has locked the project and `NO_PROJECT`. Its number is never given out again.
        """

    def replace_policy(self, project: int, version: int, blob: bytes) -> None:
        """Replace the bytes of a policy that no case will follow any more."""

    def erase_case(self, project: int, case: int, keys: Mapping[int, str]) -> None:
        """Blank what a case holds, and the bodies and answers of its events, for ever.

        `keys` has the numbers of its events, and what takes the place of the key of each. The
        caller has locked the project.
        """

    def publish(self, project: int, policy: StoredPolicy) -> bool:
        """Make a policy the current one and clear the failure of the last plan; locks the project.

        Returns False, and writes nothing, if another planner was faster or took over. Then the
        version before this one is no longer current, or a newer lease than `policy.fence` was
        given.
        """


class Ledger(Protocol):
    """Durable events, and what follows from them."""

    def migrate(self) -> None:
        """Bring the schema up to date; many processes may do so at once.

        This is atomic: a crash leaves the old schema or the new one. Raises LedgerError if the
        schema is newer than this version of askwise knows.
        """

    def schema_version(self) -> int:
        """The version of the schema as it is stored; 0 if there are no tables."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begins a transaction: durable once the block has ended, rolled back if it raises."""

    # --- reads; each sees one moment --------------------------------------------------------------

    def projects(self) -> list[Project]:
        """All projects, in the order of their creation."""

    def project(self, name: str) -> Project | None:
        """The project of that name."""

    def case(self, project: int, id: int) -> StoredCase | None:
        """One case, if it exists."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """The cases with these numbers, by number; numbers without a case are left out."""

    def events_with_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have taken these idempotency keys, by key; other keys are free."""

    def latest_cases(
        self, project: int, before: int, limit: int, *, with_erased: bool = True
    ) -> list[StoredCase]:
        """The newest cases with a number below `before`, the newest first, at most `limit`.

        An erased case has no data. Without `with_erased`, older cases take the place of these.
        """

    def cases_in(self, project: int, status: int, numbers: range, limit: int) -> list[StoredCase]:
        """The first cases with this status among these numbers, in order, at most `limit`."""

    def events(self, project: int, after: int, limit: int) -> list[Event]:
        """The events with a number above `after`, in order, at most `limit`."""

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place); counters that were never used are left out."""

    def counters_of(self, project: int, kinds: Sequence[str]) -> list[Increment]:
        """The counters of some kinds, all of one moment, in no order."""

    def snapshot(self, project: int) -> Snapshot:
        """All counters of a project, and the event up to which they count.

        Raises LedgerError if the project was removed.
        """

    def policy(self, project: int, version: int) -> StoredPolicy | None:
        """One policy, if it exists."""

    def policy_sizes(self, project: int) -> list[tuple[int, int]]:
        """All versions of a project's policy, in order, and how many bytes each has."""

    def latest_policies(self, project: int, before: int, limit: int) -> list[PolicyHead]:
        """The newest versions planned before a moment, the newest first, at most `limit`.

        `before` is in microseconds since 1970.
        """

    def events_of_kind(self, project: int, kind: str) -> list[Event]:
        """All events of a kind, in order; reads all events of the project."""

    def events_of_case(self, project: int, case: int) -> list[tuple[Event, int]]:
        """The events of a case, in order, each with the number of cases opened up to it."""

    def size(self) -> int:
        """Bytes of the whole database on disk."""

    def policies(self, project: int) -> Iterator[StoredPolicy]:
        """All policies of a project, in order; each is read when it is asked for."""

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too, in the order of their creation."""

    def lease(self) -> Lease:
        """The lease of the replanner, valid or expired."""

    # --- writes; each is a transaction of its own -------------------------------------------------

    def record_plan_failure(self, project: int, failure: str) -> None:
        """Write why the newest plan of a project failed; `publish` clears it.

        Raises LedgerDataError if the database cannot hold the text: PostgreSQL takes no NUL.
        """

    def record_outlook(self, project: int, outlook: str) -> None:
        """Write what a project's alarms go by, in place of what was written before."""

    def take_lease(self, holder: str) -> Lease:
        """Take or renew the lease, unless another holder's lease is valid.

        Returns the valid lease, with its holder. A new holder gets a fencing number that was never
        given before; a renewal keeps its number. If several ask at once, one of them gets it.
        """

    def release_lease(self, holder: str) -> None:
        """End the lease now if this holder has it; otherwise change nothing."""

    def add_token(self, token: StoredToken) -> None:
        """Write a token.

        Raises LedgerDataError if its id is taken.
        """

    def revoke_token(self, id: str, at: int) -> bool:
        """Mark a token as revoked; returns False if no valid token has this id.

        If several revoke a token at once, only one of them gets True.
        """

    def purge(self, rows: int) -> bool:
        """Remove up to `rows` rows of removed projects; returns whether there may be more."""

    # --- care -------------------------------------------------------------------------------------

    def looks_unwritable(self) -> bool:
        """Whether a commit would probably fail; writes nothing to find out."""

    def probe(self) -> None:
        """Commit a write without meaning, as durably as any other.

        Raises LedgerError if the ledger cannot be written now.
        """

    def checkpoint(self) -> None:
        """Shorten the database's own log if it is long; called several times a second.

        What was committed stays committed, even if this fails.
        """

    def compact(self) -> None:
        """Releases the space that was freed. Other writers may wait until it is done."""

    def close(self) -> None:
        """Close all connections. Afterwards no method but `close` may be called."""
