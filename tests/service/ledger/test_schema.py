"""A ledger that holds something is brought to a later schema by many at once; some are killed."""

import os
import random
import signal
import time
import warnings

import psycopg
import pytest

from askwise.service.api.messages import Observing, Opening
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger, postgres, schema, sqlite
from askwise.service.ledger.schema import NEWEST
from askwise.service.replanning.policy_versions import PolicyCache
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

LATER = (
    *(f"CREATE TABLE later_{k} AS SELECT * FROM events" for k in range(12)),
    "CREATE INDEX events_by_case ON events (project, case_id)",
)


def fill(database, cases):
    ledger = open_ledger(database)
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    for _ in range(cases):
        case = decoded(ask(writer, Opening()))
        if "mammogram" in case["wanted"]:
            ask(writer, Observing({"mammogram": "low"}), case["case"])
    events = ledger.events(1, 0, 10_000)
    ledger.close()
    return events


def version_of(database):
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            return connection.execute("SELECT version FROM askwise_schema").fetchone()[0]
    import apsw

    return apsw.Connection(database).pragma("user_version")


class Process:
    """A process that knows a later schema; forked, since to import all would take the most time.

    It begins when `start` is closed by all that could write there.
    """

    def __init__(self, database, start, *others):
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
            self.pid = os.fork()
        if not self.pid:
            try:
                os.dup2(write, 1)
                for other in others:
                    os.close(other)
                os.read(start, 1)
                migrate_later(database)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(write)
        self.stdout = os.fdopen(read)

    def end(self):
        """What it said, and its return code."""
        with self.stdout:
            said = self.stdout.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), said


def migrate_later(database):
    schema.STEPS += (LATER,)
    for module in (schema, sqlite, postgres):
        module.NEWEST, module.STEPS = len(schema.STEPS), schema.STEPS
    os.write(1, b"begins\n")
    open_ledger(database).close()
    os.write(1, b"done\n")


@pytest.mark.parametrize("seed", range(2))
def test_sixteen_processes_migrate_at_once_and_some_are_killed(database, seed):
    rng = random.Random(seed)
    before = fill(database, 40)
    assert version_of(database) == NEWEST
    start, go = os.pipe()
    processes = [Process(database, start, go) for _ in range(16)]
    os.close(go)
    for process in processes:
        assert process.stdout.readline() == "begins\n"
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.01)
            os.kill(process.pid, signal.SIGKILL)
    for process in processes:
        code, said = process.end()
        assert (code, said) == (0, "done\n") or code == -signal.SIGKILL
    assert Process(database, start).end() == (0, "begins\ndone\n")
    os.close(start)
    assert version_of(database) == NEWEST + 1
    with pytest.raises(Exception, match="newer askwise"):
        open_ledger(database)  # whoever is older leaves it alone
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            rows = connection.execute(
                "SELECT key FROM later_11 WHERE project = 1 ORDER BY seq"
            ).fetchall()
    else:
        import apsw

        rows = (
            apsw.Connection(database)
            .execute("SELECT key FROM later_11 WHERE project = 1 ORDER BY seq")
            .fetchall()
        )
    assert [key for (key,) in rows] == [e.key for e in before]


def test_the_version_is_read_before_and_after_there_are_tables(database):
    ledger = open_ledger(database, migrate=False)
    assert ledger.schema_version() == 0
    ledger.migrate()
    assert ledger.schema_version() == NEWEST
    ledger.close()


def test_a_filled_ledger_opened_again_is_as_it_was(database):
    before = fill(database, 5)
    ledger = open_ledger(database)
    assert ledger.events(1, 0, 10_000) == before
    assert verify(ledger, "clinic").differences == []
    ledger.close()
