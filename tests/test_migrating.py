"""A ledger that holds something is brought to a later schema by many at once; some are killed."""

import os
import random
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from askwise.service.api.messages import Observing, Opening
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
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

LATER = """
import sys
from askwise.service.ledger import schema, sqlite, postgres, open_ledger
more = tuple(f"CREATE TABLE later_{k} AS SELECT * FROM events" for k in range(12))
more += ("CREATE INDEX events_by_case ON events (project, case_id)",)
schema.STEPS += (more,)
for module in (schema, sqlite, postgres):
    module.NEWEST, module.STEPS = len(schema.STEPS), schema.STEPS
print("begins", flush=True)
open_ledger(sys.argv[1]).close()
print("done", flush=True)
"""


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


def start(database):
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", LATER, database],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


@pytest.mark.parametrize("seed", range(2))
def test_sixteen_processes_migrate_at_once_and_some_are_killed(database, seed):
    rng = random.Random(seed)
    before = fill(database, 40)
    assert version_of(database) == NEWEST
    processes = [start(database) for _ in range(16)]
    for process in processes:
        assert process.stdout.readline() == "begins\n"
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.01)
            process.send_signal(signal.SIGKILL)
    for process in processes:
        with process:
            said = process.stdout.read()
        assert (process.returncode, said) == (0, "done\n") or process.returncode == -signal.SIGKILL
    last = start(database)
    with last:
        assert last.stdout.read() == "begins\ndone\n"
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


def test_a_filled_ledger_opened_again_is_as_it_was(database):
    before = fill(database, 5)
    ledger = open_ledger(database)
    assert ledger.events(1, 0, 10_000) == before
    assert verify(ledger, "clinic").differences == []
    ledger.close()
