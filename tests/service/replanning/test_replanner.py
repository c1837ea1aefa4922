"""The right to plan: by the clock of the database, never stuck, and idle without a write."""

import threading
import time
from pathlib import Path

import msgspec
import pytest

from askwise.service.api.messages import Opening
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.rows import NO_PROJECT
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    ledger_fixture,
    postgres_fixture,
)
from waiting import PATIENCE

HOUR = 3_600_000_000
MINE = " WHERE name = 'replanner'"


@pytest.fixture(name="writer")
def writer_fixture(ledger):
    """A project with something to plan."""
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    ask(writer, Opening())
    return writer


def set_lease(ledger, expires):
    """Somebody holds it until then, microseconds since 1970."""
    with ledger.write_session() as session:
        session.change(
            f"UPDATE leases SET holder = 'elsewhere', fence = 7, expires = ?{MINE}", expires
        )


def lease_row(ledger):
    with ledger.read_session() as session:
        return session.all(f"SELECT holder, fence, expires FROM leases{MINE}")[0]


def now():
    return time.time_ns() // 1000


@pytest.mark.parametrize("ahead", [20, 3600, 10**9])
def test_a_lease_of_the_future_is_taken_over_and_that_is_said(ledger, writer, capfd, ahead):
    """Such a one was given when a clock was ahead; it must not stop planning until then."""
    began = now()
    set_lease(ledger, began + ahead * 1_000_000)
    replanner = Replanner(ledger)
    assert replanner.step() == 1
    took = (now() - began) / 1e6
    assert ledger.project("clinic").version == 2
    assert lease_row(ledger)[1] == 8  # whoever had it cannot publish any more
    lines = [msgspec.json.decode(line) for line in capfd.readouterr().err.splitlines()]
    (said,) = [line for line in lines if "taken over" in line["what"]]
    assert said["level"] == "error"
    assert ahead - took - 1 <= said["seconds"] <= ahead


def test_a_lease_that_is_good_is_left_alone(ledger, writer):
    until = 0
    while until <= now():  # on a machine that is busy it may be over before anybody has looked
        until = now() + 5_000_000
        set_lease(ledger, until)
        planned = Replanner(ledger).step()
    assert planned == 0
    assert lease_row(ledger)[0] == "elsewhere"
    set_lease(ledger, now() - 10_000)  # its clock has milliseconds
    assert Replanner(ledger).step() == 1


@pytest.mark.parametrize("off", [-HOUR, HOUR])
def test_a_lease_goes_by_the_clock_of_the_database(ledger, writer, monkeypatch, off):
    """A process whose own clock is wrong neither takes a lease too early nor keeps it for ever."""
    good = Replanner(ledger)
    assert good.step() == 1
    ask(writer, Opening())
    real = time.time_ns
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time_ns", lambda: real() + off * 1000)
        assert Replanner(ledger).step() == 0  # it is another's
        ledger.release_lease(good._holder)
        assert Replanner(ledger).step() == 1
    left = lease_row(ledger)[2] - now()
    assert 0 < left <= 10_000_000


def test_a_clock_that_was_set_back_does_not_put_plans_off(ledger, writer, monkeypatch):
    with (
        ledger.write_session() as session
    ):  # a plan of the future, which one new event does not outdate
        session.change(
            "UPDATE projects SET planned = ?, seq = 1001, watermark = 1000 WHERE id = 1",
            now() + HOUR,
        )
    replanner = Replanner(ledger)
    assert [replanner._is_due(p) for p in ledger.projects()] == [True]
    assert replanner.step() == 1
    assert abs(ledger.project("clinic").planned - now()) < HOUR / 2


def test_who_has_nothing_to_plan_writes_nothing(database, ledger, monkeypatch):
    monkeypatch.setattr("askwise.service.replanning.replanner.CHECKED_EVERY", 0.005)
    monkeypatch.setattr("askwise.service.replanning.replanner.LEASE", 30_000)
    create(Writer(ledger, PolicyCache(ledger)))
    log = Path(f"{database}-wal")
    before = lease_row(ledger), log.read_bytes() if log.exists() else None
    looked = threading.Event()
    looks, read = [], ledger.projects

    def projects():
        looks.append(1)
        if len(looks) > 20:
            looked.set()
        return read()

    monkeypatch.setattr(ledger, "projects", projects)
    replanner = Replanner(ledger)
    running = threading.Thread(target=replanner.run)
    running.start()
    try:
        assert looked.wait(PATIENCE)
        after = lease_row(ledger), log.read_bytes() if log.exists() else None
        assert after == before
    finally:
        replanner.stop()
        running.join()


def test_a_lease_is_renewed_when_little_of_it_is_left(ledger, writer, monkeypatch):
    taken, take = [], ledger.take_lease

    def take_lease(holder):
        taken.append(holder)
        return take(holder)

    monkeypatch.setattr(ledger, "take_lease", take_lease)
    replanner = Replanner(ledger)
    for _ in range(5):
        ask(writer, Opening())
        assert replanner.step() == 1
    assert len(taken) == 1
    with ledger.write_session() as session:
        session.change(f"UPDATE leases SET expires = ?{MINE}", now() + 4_000_000)
    ask(writer, Opening())
    assert replanner.step() == 1
    assert len(taken) == 2
    assert lease_row(ledger)[1] == 1


def test_who_ends_gives_up_the_lease(ledger, writer):
    first = Replanner(ledger)
    assert first.step() == 1
    first.stop()
    first.run()
    ask(writer, Opening())
    assert Replanner(ledger).step() == 1


@pytest.mark.parametrize("moment", ["before it is read", "while it is planned"])
def test_a_project_that_is_removed_meanwhile_is_no_failure(
    ledger, writer, capfd, monkeypatch, moment
):
    project = ledger.project("clinic")

    def remove():
        with ledger.transaction() as transaction:
            transaction.lock([NO_PROJECT, project.id])
            transaction.remove_project(project.id)
        while ledger.purge(1000):
            pass

    read = type(ledger).snapshot

    def snapshot(ledger, number):
        found = read(ledger, number)
        remove()
        return found

    if moment == "before it is read":
        remove()
    else:
        monkeypatch.setattr(type(ledger), "snapshot", snapshot)
    replanner = Replanner(ledger)
    assert replanner.plan(project, ledger.take_lease("somebody").fence) is False
    replanner._planning_thread.shutdown()  # it may still look for the first version
    assert "failed" not in capfd.readouterr().err
    assert ledger.projects() == []


def test_a_young_project_does_not_flood_the_log(ledger, writer, capfd):
    """It is planned for several times a second; the link to sign in was out of sight in seconds."""
    replanner = Replanner(ledger)
    for _ in range(8):
        assert replanner.step() == 1
        ask(writer, Opening())
    lines = [msgspec.json.decode(line) for line in capfd.readouterr().err.splitlines()]
    planned = [line for line in lines if line["what"] == "planned"]
    assert [line["version"] for line in planned] == [2, 3, 4]
