"""The SQL statements that all databases share.

A `?` stands for a value. The statements run in a `Session`, and each database has its own.
`contract.py` says what each method promises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from askwise.errors import LedgerError
from askwise.service.ledger.administration import PROJECT, AdministrationStatements
from askwise.service.ledger.rows import (
    LEASE,
    NO_PROJECT,
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
from askwise.service.ledger.session import Row, Session

EVENT = "seq, key, kind, case_id, body, status, answer, at"
ADD = " ON CONFLICT (project, kind, cell, place) DO UPDATE SET amount = {sum}"
REPLACE = " ON CONFLICT (project, id) DO UPDATE SET status = excluded.status, data = excluded.data"


class SqlTransaction(AdministrationStatements):
    """`contract.Transaction` in SQL, in one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._add = ADD.format(sum=session.sum)

    def lock(self, projects: Sequence[int]) -> dict[int, Head]:
        """Lock these projects, in the order of their numbers, and read where they stand."""
        heads = {}
        for project in sorted(set(projects)):
            found = self._session.all(
                "SELECT seq, opened, version, name, archived FROM projects "  # noqa: S608
                f"WHERE id = ?{self._session.locking}",
                project,
            )
            if found:
                heads[project] = Head(*found[0])
        return heads

    def events_with_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have taken these idempotency keys, by key."""
        rows = self._session.each(EVENT, "events", "key", project, keys)
        return {row[1]: Event(*row) for row in rows}

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """The cases with these numbers, by number; numbers without a case are left out."""
        rows = self._session.each("id, status, data", "cases", "id", project, ids)
        return {row[0]: StoredCase(*row) for row in rows}

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place)."""
        sql = "SELECT cell, place, amount FROM counters WHERE project = ? AND kind = ?"
        found = self._session.all(sql, project, kind)
        return {(cell, place): amount for cell, place, amount in found}

    def append(
        self,
        project: int,
        head: Head,
        events: Sequence[Event],
        cases: Sequence[StoredCase],
        increments: Sequence[Increment],
    ) -> None:
        """Write the events, replace the cases, and add to the counters."""
        session, insert = self._session, self._session.insert
        # a statement may change a row only once, so rows that are named twice are merged here
        last = {case.id: case for case in cases}
        added: dict[tuple[str, int, int], int] = {}
        for kind, cell, place, amount in increments:
            added[kind, cell, place] = added.get((kind, cell, place), 0) + amount
        with session.together(len(events)):
            insert("events", [(project, *event) for event in events])
            insert("cases", [(project, *case) for case in last.values()], REPLACE)
            insert("counters", [(project, *c, amount) for c, amount in added.items()], self._add)
            sql = "UPDATE projects SET seq = ?, opened = ? WHERE id = ?"
            session.change(sql, head.seq, head.opened, project)

    def move_counters(self, project: int, kind: str, into: str | None) -> None:
        """Add all counters of a kind to another kind and remove them; None only removes them."""
        if into is not None:
            found = self.counter_values(project, kind).items()
            rows = [(project, into, *cell, amount) for cell, amount in found]
            self._session.insert("counters", rows, self._add)
        sql = "DELETE FROM counters WHERE project = ? AND kind = ?"
        self._session.change(sql, project, kind)

    def holds_lease(self, fence: int) -> bool:
        """Whether the lease with this fencing number is the newest one."""
        sql = f"SELECT fence FROM leases WHERE name = 'replanner'{self._session.locking}"  # noqa: S608
        return bool(self._session.all(sql)[0][0] == fence)

    def create(self, project: Project, policy: StoredPolicy) -> int | None:
        """Write a project and its first policy; returns its number, None if the name is taken."""
        session = self._session
        if session.all("SELECT 1 FROM projects WHERE name = ?", project.name):
            return None
        # the row of NO_PROJECT keeps in `opened` the highest number of a removed project
        removed = session.all("SELECT opened FROM projects WHERE id = ?", NO_PROJECT)[0][0]
        number = int(max(session.all("SELECT max(id) FROM projects")[0][0], removed)) + 1
        session.insert("projects", [project._replace(id=number)])
        self.add_policy(number, policy)
        return number

    def add_policy(self, project: int, policy: StoredPolicy) -> None:
        """Write one more policy; the current version stays."""
        self._session.insert("policies", [(project, *policy)])

    def publish(self, project: int, policy: StoredPolicy) -> bool:
        """Make the policy current, if the one before it still is and its lease is the newest."""
        head = self.lock([project]).get(project)
        is_ours = self.holds_lease(policy.fence)
        if head is None or head.version != policy.version - 1 or not is_ours:
            return False
        self.add_policy(project, policy)
        self._session.change(
            "UPDATE projects SET version = ?, watermark = ?, planned = ?, failure = '' "
            "WHERE id = ?",
            *(policy.version, policy.watermark, policy.at, project),
        )
        return True


class SqlLedger(ABC):
    """`contract.Ledger` in SQL; a subclass connects, and brings the schema up to date."""

    @abstractmethod
    def read_session(self) -> AbstractContextManager[Session]:
        """A session whose queries all see one moment."""

    @abstractmethod
    def write_session(self) -> AbstractContextManager[Session]:
        """A session in a transaction: committed when the block ends, rolled back if it raises."""

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """One transaction: committed when the block ends, rolled back if it raises."""
        with self.write_session() as session:
            yield SqlTransaction(session)

    def projects(self) -> list[Project]:
        """All projects, in the order of their creation."""
        sql = f"SELECT {PROJECT} FROM projects WHERE id <> ? ORDER BY id"  # noqa: S608
        return [Project(*row) for row in self._all(sql, NO_PROJECT)]

    def project(self, name: str) -> Project | None:
        """The project of that name."""
        with self.read_session() as session:
            return SqlTransaction(session).project(name)

    def case(self, project: int, id: int) -> StoredCase | None:
        """One case, if it exists."""
        sql = "SELECT id, status, data FROM cases WHERE project = ? AND id = ?"
        found = self._all(sql, project, id)
        return StoredCase(*found[0]) if found else None

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """The cases with these numbers, by number; numbers without a case are left out."""
        with self.read_session() as session:
            return SqlTransaction(session).cases(project, ids)

    def events_with_keys(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have taken these idempotency keys, by key."""
        with self.read_session() as session:
            return SqlTransaction(session).events_with_keys(project, keys)

    def latest_cases(
        self, project: int, before: int, limit: int, *, with_erased: bool = True
    ) -> list[StoredCase]:
        """The newest cases with a number below `before`, the newest first."""
        sql = (
            "SELECT id, status, data FROM cases WHERE project = ? AND id < ? "  # noqa: S608
            f"{'' if with_erased else 'AND length(data) > 0 '}ORDER BY id DESC LIMIT ?"
        )
        return [StoredCase(*row) for row in self._all(sql, project, before, limit)]

    def cases_in(self, project: int, status: int, numbers: range, limit: int) -> list[StoredCase]:
        """The first cases with this status among these numbers."""
        sql = (
            "SELECT id, status, data FROM cases WHERE project = ? AND id >= ? AND id < ? "
            "AND status = ? ORDER BY id LIMIT ?"
        )
        found = self._all(sql, project, numbers.start, numbers.stop, status, limit)
        return [StoredCase(*row) for row in found]

    def events(self, project: int, after: int, limit: int) -> list[Event]:
        """The events with a higher number, in order."""
        sql = f"SELECT {EVENT} FROM events WHERE project = ? AND seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
        return [Event(*row) for row in self._all(sql, project, after, limit)]

    def counter_values(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place)."""
        with self.read_session() as session:
            return SqlTransaction(session).counter_values(project, kind)

    def counters_of(self, project: int, kinds: Sequence[str]) -> list[Increment]:
        """The counters of some kinds, all of one moment, in no order."""
        with self.read_session() as session:
            rows = session.each("kind, cell, place, amount", "counters", "kind", project, kinds)
        return [Increment(*row) for row in rows]

    def snapshot(self, project: int) -> Snapshot:
        """All counters of a project, of one moment."""
        with self.read_session() as session:
            head = session.all("SELECT seq, opened, version FROM projects WHERE id = ?", project)
            rows = session.all(
                "SELECT kind, cell, place, amount FROM counters WHERE project = ? "
                "ORDER BY kind, cell, place",
                project,
            )
        if not head:
            raise LedgerError(f"there is no project with the number {project}: it was removed")
        seq, opened, version = head[0]
        return Snapshot(seq, opened, version, [Increment(*row) for row in rows])

    def policy(self, project: int, version: int) -> StoredPolicy | None:
        """One policy, if it exists."""
        sql = (
            "SELECT version, watermark, fence, at, blob FROM policies "
            "WHERE project = ? AND version = ?"
        )
        found = self._all(sql, project, version)
        return StoredPolicy(*found[0]) if found else None

    def policies(self, project: int) -> Iterator[StoredPolicy]:
        """All policies of a project, in order."""
        sql = "SELECT version FROM policies WHERE project = ? ORDER BY version"
        for (version,) in self._all(sql, project):
            policy = self.policy(project, version)
            assert policy is not None
            yield policy

    def policy_sizes(self, project: int) -> list[tuple[int, int]]:
        """All versions of a project's policy, and how many bytes each has."""
        sql = "SELECT version, length(blob) FROM policies WHERE project = ? ORDER BY version"
        return [(version, size) for version, size in self._all(sql, project)]

    def latest_policies(self, project: int, before: int, limit: int) -> list[PolicyHead]:
        """The newest versions that were planned before a moment, the newest first."""
        sql = (
            "SELECT version, watermark, at, substr(blob, 1, 16) FROM policies "
            "WHERE project = ? AND at < ? ORDER BY version DESC LIMIT ?"
        )
        return [PolicyHead(*row) for row in self._all(sql, project, before, limit)]

    def events_of_kind(self, project: int, kind: str) -> list[Event]:
        """All events of a kind, in order."""
        sql = f"SELECT {EVENT} FROM events WHERE project = ? AND kind = ? ORDER BY seq"  # noqa: S608
        return [Event(*row) for row in self._all(sql, project, kind)]

    def events_of_case(self, project: int, case: int) -> list[tuple[Event, int]]:
        """The events of a case, each with the number of cases opened up to it."""
        of_case = f"SELECT {EVENT} FROM events WHERE project = ? AND case_id = ? ORDER BY seq"  # noqa: S608
        opened = (
            "SELECT case_id FROM events WHERE project = ? AND seq <= ? AND kind = 'open' "
            "ORDER BY seq DESC LIMIT 1"
        )
        with self.read_session() as session:
            events = [Event(*row) for row in session.all(of_case, project, case)]
            return [(e, session.all(opened, project, e.seq)[0][0]) for e in events]

    @abstractmethod
    def size(self) -> int:
        """Bytes of the whole database on disk."""

    @abstractmethod
    def compact(self) -> None:
        """Releases the space that was freed."""

    def record_plan_failure(self, project: int, failure: str) -> None:
        """Write why the newest plan of a project failed."""
        with self.write_session() as session:
            session.change("UPDATE projects SET failure = ? WHERE id = ?", failure, project)

    def record_outlook(self, project: int, outlook: str) -> None:
        """Write what a project's alarms go by."""
        with self.write_session() as session:
            session.change("UPDATE projects SET outlook = ? WHERE id = ?", outlook, project)

    def lease(self) -> Lease:
        """The lease of the replanner, valid or expired."""
        with self.read_session() as session:
            return _lease(session)

    def take_lease(self, holder: str) -> Lease:
        """Take or renew the lease, unless another holder's lease is valid."""
        with self.write_session() as session:
            before = _lease(session, session.locking)
            if before.holder != holder and before.is_good:
                return before
            lease = Lease(holder, before.fence + (before.holder != holder), LEASE)
            session.change(
                "UPDATE leases SET holder = ?, fence = ?, "  # noqa: S608
                f"expires = {session.now} + ? WHERE name = 'replanner'",
                *lease,
            )
            return lease

    def release_lease(self, holder: str) -> None:
        """End the lease now if this holder has it."""
        sql = "UPDATE leases SET expires = 0 WHERE name = 'replanner' AND holder = ?"
        with self.write_session() as session:
            session.change(sql, holder)

    @abstractmethod
    def looks_unwritable(self) -> bool:
        """Whether a commit would probably fail; writes nothing to find out."""

    def probe(self) -> None:
        """Commit a write without meaning, or raise.

        It counts up, because SQLite writes nothing if a value stays the same.
        """
        again = " ON CONFLICT (name) DO UPDATE SET fence = leases.fence + 1"
        with self.write_session() as session:
            session.insert("leases", [("proof", "", 0, 0)], again)

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too."""
        with self.read_session() as session:
            return SqlTransaction(session).tokens()

    def add_token(self, token: StoredToken) -> None:
        """Write a new token."""
        with self.transaction() as transaction:
            transaction.add_token(token)

    def revoke_token(self, id: str, at: int) -> bool:
        """Mark a token as revoked; returns whether it was valid before."""
        with self.write_session() as session:
            of_good = f"SELECT 1 FROM tokens WHERE id = ? AND revoked = 0{session.locking}"  # noqa: S608
            good = session.all(of_good, id)
            session.change("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked = 0", at, id)
            return bool(good)

    def purge(self, rows: int) -> bool:
        """Remove up to `rows` rows of removed projects; returns whether there may be more."""
        if not self._all("SELECT 1 FROM removed LIMIT 1"):
            return False
        with self.write_session() as session:
            return SqlTransaction(session).purge(rows)

    def _all(self, sql: str, *values: Any) -> list[Row]:
        with self.read_session() as session:
            return session.all(sql, *values)


def _lease(session: Session, locking: str = "") -> Lease:
    sql = f"SELECT holder, fence, expires - {session.now} FROM leases WHERE name = 'replanner'"  # noqa: S608
    return Lease(*session.all(sql + locking)[0])
