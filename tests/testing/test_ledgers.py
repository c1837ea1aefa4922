"""Both ledgers of the package pass their suite; broken ones do not."""

import inspect
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg
import pytest

from askwise.errors import LedgerDataError
from askwise.service.ledger.postgres import PostgresLedger
from askwise.service.ledger.sql import SqlTransaction
from askwise.service.ledger.sqlite import SqliteLedger, SqliteSession
from askwise.testing import (
    LEDGER_CHECKS,
    check_ledger,
    ledger_concurrency,
    ledger_policies,
    ledgers,
)
from askwise.testing.ledger_concurrency import WRITERS
from serving import postgres_fixture  # noqa: F401
from waiting import until


@pytest.fixture(params=["sqlite", "postgresql"], name="make")
def make_fixture(request, tmp_path):
    """Opens the database of a name, of each kind."""
    if request.param == "sqlite":
        return lambda name: SqliteLedger(str(tmp_path / f"{name}.db"))
    address = request.getfixturevalue("postgres")

    def make(name):
        with psycopg.connect(address, autocommit=True) as connection:
            which = "SELECT 1 FROM pg_database WHERE datname = %s"
            if not connection.execute(which, (name,)).fetchall():
                connection.execute(f"CREATE DATABASE {name}")
        return PostgresLedger(address.replace("/postgres?", f"/{name}?"))

    return make


@pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.__name__)
def test_conformance(make, check):
    check(make)


def test_no_check_is_left_out():
    checks = {
        function
        for module in (ledgers, ledger_policies, ledger_concurrency)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("check_") and function is not check_ledger
    }
    assert checks == set(LEDGER_CHECKS)


# --- doubles that are broken, each in one way ----------------------------------------------------


class Broken(SqliteLedger):
    """A ledger in SQLite whose transactions are spoilt."""

    spoilt = SqlTransaction

    @contextmanager
    def transaction(self):
        with self.write_session() as session:
            yield self.spoilt(session)


class ForgetsKeys(Broken):
    """It takes a key again."""

    def migrate(self):
        super().migrate()
        with self.write_session() as session:
            session.change("DROP INDEX IF EXISTS events_by_key")


class AnswersNoKey(Broken):
    """It does not find the key of what it has written."""

    class spoilt(SqlTransaction):
        def events_with_keys(self, project, keys):
            return {}


class AnswersForOthers(Broken):
    """It finds a key in any project."""

    class spoilt(SqlTransaction):
        def events_with_keys(self, project, keys):
            found = [super(type(self), self).events_with_keys(p, keys) for p in (1, 2)]
            return found[0] | found[1]


class PublishesStaleVersions(Broken):
    """It does not look at which version is current."""

    class spoilt(SqlTransaction):
        def publish(self, project, plan):
            fence = self._session.all("SELECT fence FROM leases WHERE name = 'replanner'")[0][0]
            if fence != plan.fence:
                return False
            self._session.change("DELETE FROM policies WHERE version = ?", plan.version)
            self.add_policy(project, plan)
            self._session.change(
                "UPDATE projects SET version = ?, watermark = ?, planned = ?, failure = '' "
                "WHERE id = ?",
                *(plan.version, plan.watermark, plan.at, project),
            )
            return True


class IgnoresFences(Broken):
    """It publishes under any lease."""

    class spoilt(SqlTransaction):
        def publish(self, project, plan):
            fence = self._session.all("SELECT fence FROM leases WHERE name = 'replanner'")[0][0]
            return super().publish(project, plan._replace(fence=fence))


class GivesTheLeaseAway(Broken):
    """It lets anybody take the lease."""

    def take_lease(self, holder):
        self.release_lease(self.lease().holder)
        return super().take_lease(holder)


class TakesTheLeaseInTwoSteps(Broken):
    """It looks whether the lease is free, and takes it a moment later."""

    def take_lease(self, holder):
        asked = Path(f"{self.path}.asked by {holder}")
        was_free = not self.lease().is_good
        asked.touch()
        until(lambda: len(list(asked.parent.glob("*.asked by *"))) == WRITERS, seconds=60)
        lease = super().take_lease(holder)
        while was_free and lease.holder != holder:
            self.release_lease(lease.holder)
            lease = super().take_lease(holder)
        return lease


class LosesTheFailure(Broken):
    """It does not say why no policy came."""

    def record_plan_failure(self, project, failure):
        pass


class CommitsInParts(Broken):
    """It commits the events before the rest."""

    class spoilt(SqlTransaction):
        def append(self, project, head, events, cases, increments):
            super().append(project, head, events, [], [])
            self._session.connection.execute("COMMIT; BEGIN IMMEDIATE")
            super().append(project, head, [], cases, increments)


class AcknowledgesEarly(Broken):
    """It writes events a moment after it has said that they are written."""

    @contextmanager
    def transaction(self):
        with super().transaction() as transaction:
            transaction.append = self.write_later
            yield transaction

    def write_later(self, *what):
        later = threading.Timer(60.0, self.write, what)
        later.daemon = True  # who is done need not wait for it
        later.start()

    def write(self, *what):
        with super().transaction() as transaction:
            transaction.append(*what)


class ForgetsWhenOpened(Broken):
    """It keeps tokens only until it is opened again."""

    def migrate(self):
        super().migrate()
        with self.write_session() as session:
            session.change("DELETE FROM tokens")


class ReadsTwoMoments(Broken):
    """It reads the head and the counters of a snapshot one after the other."""

    has_read = threading.Event()

    class spoilt(SqlTransaction):
        def append(self, project, head, events, cases, increments):
            if events[0].seq > 1:
                ReadsTwoMoments.has_read.wait(60)
            super().append(project, head, events, cases, increments)

    def snapshot(self, project):
        head = super().snapshot(project)
        self.has_read.set()
        until(lambda: super(ReadsTwoMoments, self).snapshot(project).seq > head.seq, seconds=60)
        return super().snapshot(project)._replace(seq=head.seq, opened=head.opened)


class LocksLate(Broken):
    """It holds a project only from the first write on."""

    @contextmanager
    def transaction(self):
        session = SqliteSession(self.path)
        try:
            with session.connection:  # BEGIN, which does not wait
                yield SqlTransaction(session)
        finally:
            session.connection.close()


class LetsOthersIn(Broken):
    """It lets go of a project between reading and writing."""

    class spoilt(SqlTransaction):
        def lock(self, projects):
            heads = super().lock(projects)
            self._session.connection.execute("COMMIT")
            time.sleep(0.05)
            self._session.connection.execute("BEGIN IMMEDIATE")
            return heads

    @contextmanager
    def write_session(self):
        session = SqliteSession(self.path)
        try:
            session.connection.execute("BEGIN IMMEDIATE")
            yield session
            session.connection.execute("COMMIT")
        finally:
            session.connection.close()


class CountsInFloats(Broken):
    """It adds up to the nearest number that a float holds."""

    def migrate(self):
        super().migrate()
        self.add = "CAST(CAST(counters.amount AS REAL) + excluded.amount AS INTEGER)"

    @contextmanager
    def write_session(self):
        with super().write_session() as session:
            session.sum = self.add
            yield session


class AddsTheLastOnly(Broken):
    """Of a counter that is named twice it adds the last amount."""

    class spoilt(SqlTransaction):
        def append(self, project, head, events, cases, increments):
            last = {increment[:3]: increment for increment in increments}
            super().append(project, head, events, cases, list(last.values()))


class MixesProjects(Broken):
    """It shows the counters of all projects in each."""

    def counter_values(self, project, kind):
        return super().counter_values(1, kind) | super().counter_values(2, kind)


class DropsManyRows(Broken):
    """It writes no more than 256 rows of a kind."""

    class spoilt(SqlTransaction):
        def append(self, project, head, events, cases, increments):
            super().append(project, head, events[:256], cases, increments)


class TakesNamesAgain(Broken):
    """It gives a name to a second project."""

    class spoilt(SqlTransaction):
        def create(self, project, plan):
            self._session.change("UPDATE projects SET name = '' WHERE name = ?", project.name)
            return super().create(project, plan)


class RevokesTwice(Broken):
    """It says that a token which was revoked was still good."""

    def revoke_token(self, id, at):
        super().revoke_token(id, at)
        return True


class ProvesByPlanning(Broken):
    """It proves that it can write by taking the lease."""

    def probe(self):
        self.take_lease("proof")


class BeginsWithAProject(Broken):
    """It is not empty when it is new."""

    def migrate(self):
        super().migrate()
        with self.write_session() as session:
            session.insert(
                "projects",
                [(1, "demo", b"", "", b"", 0, 0, 0, 0, 1, 0, 0, "", 0, "")],
                " ON CONFLICT (id) DO NOTHING",
            )


class ShowsNoCases(Broken):
    """It does not find cases by their status."""

    def cases_in(self, project, status, numbers, limit):
        return []


class MigratesWithoutWaiting(Broken):
    """It takes for granted that no other process migrates."""

    def migrate(self):
        with self.read_session() as session:
            is_new = not session.all("SELECT 1 FROM sqlite_master")
        if is_new:
            time.sleep(1.0)
            with self.write_session() as session:
                session.change("CREATE TABLE migrated (by TEXT)")
        super().migrate()


FOUND_BY = {
    BeginsWithAProject: ["check_a_new_ledger_is_empty"],
    ShowsNoCases: ["check_what_is_written_is_read"],
    DropsManyRows: ["check_any_number_of_rows_is_written"],
    CountsInFloats: ["check_counters_add_up", "check_what_does_not_fit_is_refused"],
    AddsTheLastOnly: ["check_what_is_named_twice_is_written_in_turn"],
    CommitsInParts: [
        "check_a_failed_transaction_leaves_nothing",
        "check_a_killed_process_leaves_only_what_it_committed",
    ],
    ForgetsKeys: ["check_a_key_is_taken_for_ever"],
    AnswersNoKey: ["check_a_key_is_taken_for_ever"],
    AnswersForOthers: ["check_a_key_is_taken_for_ever"],
    TakesNamesAgain: ["check_names_are_taken_once"],
    MixesProjects: ["check_projects_do_not_mix"],
    RevokesTwice: ["check_tokens_are_kept_until_revoked"],
    ProvesByPlanning: ["check_a_proof_changes_nothing"],
    PublishesStaleVersions: [
        "check_versions_follow_each_other",
        "check_one_of_many_publishers_succeeds",
    ],
    IgnoresFences: ["check_only_the_newest_lease_publishes"],
    GivesTheLeaseAway: ["check_a_lease_is_held_by_one"],
    TakesTheLeaseInTwoSteps: ["check_one_of_many_takes_the_lease"],
    LosesTheFailure: ["check_a_failure_is_kept_until_the_next_policy"],
    ReadsTwoMoments: ["check_readers_see_one_moment"],
    LocksLate: ["check_a_project_is_held_until_the_commit"],
    LetsOthersIn: [
        "check_threads_that_write_at_once_lose_nothing",
        "check_processes_that_write_at_once_lose_nothing",
    ],
    MigratesWithoutWaiting: ["check_processes_migrate_at_once"],
    ForgetsWhenOpened: ["check_all_is_there_when_opened_again"],
    AcknowledgesEarly: ["check_a_killed_process_leaves_only_what_it_committed"],
}


@pytest.mark.parametrize("broken", FOUND_BY, ids=lambda broken: broken.__name__)
def test_what_is_broken_is_found(tmp_path, broken):
    named = [check for check in LEDGER_CHECKS if check.__name__ in FOUND_BY[broken]]
    assert len(named) == len(FOUND_BY[broken])
    for check in named:
        with pytest.raises((AssertionError, LedgerDataError, apsw.ConstraintError)):
            check(lambda name: broken(str(tmp_path / f"{name}.db")))


def test_every_check_can_fail():
    checks = {check.__name__ for check in LEDGER_CHECKS}
    assert {name for names in FOUND_BY.values() for name in names} == checks


def test_the_suite_stops_at_what_is_broken(tmp_path):
    with pytest.raises(AssertionError, match=r"the key 'mine' .* was written"):
        check_ledger(lambda name: ForgetsKeys(str(tmp_path / f"{name}.db")))
