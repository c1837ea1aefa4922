"""What a ledger costs as it grows: writing, indexes, planning, starting; and at 10⁹ events.

    python benchmarks/ledger_size.py --events 100000 1000000 --db ledger-size.db
    python benchmarks/ledger_size.py --events 100000 1000000 --db postgresql://askwise@localhost/size

The ledger is filled with events as cases write them, three to a case; the database must be empty.
Times are of the processor of this process, and by the clock where the database is another one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import askwise as aw
from askwise.service.api.messages import NewProject
from askwise.service.decisions.creation import project_creation
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.address import is_postgres
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Event, Head, Increment, StoredCase
from askwise.service.replanning.policy_versions import PolicyCache

PROBLEM = aw.Problem(
    observations=[aw.Observation(f"o{k}", values=["a", "b", "c"], cost=1.0) for k in range(6)],
    actions=["wait", "treat"],
    max_observations=4,
)
FILLED = 20_000
"""Events in a transaction while the ledger is filled."""

TRIED = 300
"""Transactions of one event that are timed, and of `GROUP` of them a tenth of that."""
GROUP = 200

BILLION = 1_000_000_000


def main() -> None:
    """Fill, measure, and extrapolate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", default="ledger-size.db")
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000])
    given = parser.parse_args()
    ledger = open_ledger(given.db)
    (made,) = Writer(ledger, PolicyCache(ledger)).commit(
        [project_creation("create", NewProject("size", PROBLEM))[1]]
    )
    assert made.status == 201, made
    found = []
    for size in given.events:
        fill(ledger, size)
        found.append(measured(ledger, given.db, size))
        print(f"{size:,} events: {', '.join(f'{n} {x:,.4g}' for n, x in found[-1].items())}")
    print("at 10⁹ events, straight on from the last two:")
    for name in found[-1]:
        if name.startswith("GB"):
            slope = (found[-1][name] - found[-2][name]) / (given.events[-1] - given.events[-2])
            print(f"  {name} {found[-1][name] + slope * (BILLION - given.events[-1]):,.0f}")
    ledger.close()


def fill(ledger: Ledger, size: int) -> None:
    """Write events until there are so many."""
    while (project := ledger.project("size")) is not None and project.seq < size:
        append(ledger, min(FILLED, size - project.seq))


def append(ledger: Ledger, number: int) -> None:
    """One transaction with so many events, as the cases of a project write them."""
    with ledger.transaction() as transaction:
        project = transaction.project("size")
        assert project is not None
        transaction.lock([project.id])
        events = [event(seq) for seq in range(project.seq + 1, project.seq + number + 1)]
        last = events[-1]
        cases = [StoredCase(e.case, 3, b"x" * 40) for e in events if e.kind == "reward"]
        counted = [Increment("visits", e.seq % 3000, 0, 1) for e in events]
        head = Head(last.seq, last.case, project.version, project.name, project.archived)
        transaction.append(project.id, head, events, cases, counted)


def event(seq: int) -> Event:
    """An event of a case, with a key that begins with the time, and bodies of the usual size."""
    case, step = divmod(seq - 1, 3)
    kind = ("open", "observe", "reward")[step]
    body = (b"{}", b'{"values":{"o1":"b","o4":"a"}}', b'{"reward":1.0}')[step]
    answer = b'{"case":%d,"wanted":[],"action":"treat","cost":2.0,"policy_version":12}' % (case + 1)
    return Event(seq, f"{seq:014x}-{'0' * 24}", kind, case + 1, body, 200, answer, seq)


def measured(ledger: Ledger, db: str, size: int) -> dict[str, float]:
    """What the ledger costs as it is now."""
    project = ledger.project("size")
    assert project is not None
    one = mean(lambda: append(ledger, 1), TRIED)
    many = [x / GROUP for x in mean(lambda: append(ledger, GROUP), TRIED // 10)]
    planned = mean(lambda: ledger.snapshot(project.id), 10)
    read = mean(lambda: ledger.latest_cases(project.id, 2**53, 50), 50)

    def start() -> None:
        again = open_ledger(db)
        (found,) = again.projects()
        PolicyCache(again).newest(found.id, found.version)
        again.close()

    started = mean(start, 10)
    times = {"alone": one, "in 200s": many, "snapshot": planned, "newest": read, "start": started}
    shown = {f"µs {n}": 1e6 * x[0] for n, x in times.items()}
    shown |= {f"µs {n}, by the clock": 1e6 * x[1] for n, x in times.items()}
    return shown | sizes(ledger, db, size)


def mean(work: Callable[[], object], times: int) -> Sequence[float]:
    """Seconds of this processor, and by the clock."""
    work()
    processor, clock = time.process_time(), time.perf_counter()
    for _ in range(times):
        work()
    return (time.process_time() - processor) / times, (time.perf_counter() - clock) / times


def sizes(ledger: Ledger, db: str, size: int) -> dict[str, float]:
    """Gigabytes of all, and of the indexes of the events where the database says so."""
    found = {"GB": ledger.size() / 1e9, "bytes an event": ledger.size() / size}
    if is_postgres(db):
        import psycopg

        with psycopg.connect(db) as connection:
            sql = "SELECT pg_relation_size('events'), pg_indexes_size('events')"
            row = connection.execute(sql).fetchone()
        assert row is not None
        found |= {"GB of events": row[0] / 1e9, "GB of their indexes": row[1] / 1e9}
    return found


if __name__ == "__main__":
    main()
