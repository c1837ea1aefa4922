"""Whatever a request does, it fails alone: the others of its group are written."""

import secrets
import threading
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest

from askwise.errors import LedgerError, LedgerUnavailableError
from askwise.service.api.messages import Opening
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Answer
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from serving import (  # noqa: F401 (fixtures)
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)
from waiting import PATIENCE

POISON = "poison"
REFUSES_POISON = {
    "SqliteLedger": f"""
        CREATE TRIGGER no_poison BEFORE INSERT ON events WHEN NEW.key = '{POISON}'
        BEGIN SELECT raise(ABORT, 'no poison'); END""",
    "PostgresLedger": f"ALTER TABLE events ADD CONSTRAINT no_poison CHECK (key <> '{POISON}')",
}


@pytest.fixture(name="writer")
def writer_fixture(ledger):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, "clinic")
    create(writer, "other")
    return writer


def opening(project="clinic", key=None):
    return Operation(project, key or secrets.token_hex(8), 0, Opening())


def statuses(results):
    return [result.status for result in results]


def test_what_the_database_cannot_hold_is_refused_alone(ledger, writer):
    """In a group of two projects; those of the same project go on, too."""
    with ledger.write_session() as session:
        session.change(REFUSES_POISON[type(ledger).__name__])
    jobs = [opening(("clinic", "other")[k % 2]) for k in range(400)]
    for place in (7, 250):
        jobs[place] = opening(key=POISON)
    before = writer.groups
    results = writer.commit(jobs)
    found = statuses(results)
    assert [found[7], found[250]] == [422, 422]
    assert found.count(201) == 398
    assert "nothing was written" in results[7].detail
    # halves of halves, not one by one: whoever sends poison must not cost 400 commits
    assert writer.groups - before < 40
    for name, events in (("clinic", 199), ("other", 199)):  # 7 is of the other's places
        assert ledger.project(name).seq == events
        assert verify(ledger, name).differences == []


def test_a_counter_that_is_full_refuses_its_own_project_only(ledger, writer):
    assert statuses(writer.commit([opening(), opening("other")])) == [201, 201]
    full = "UPDATE counters SET amount = 9223372036854775807 WHERE project = 1 AND kind = 'status'"
    with ledger.write_session() as session:
        session.change(full)
    assert statuses(writer.commit([opening(), opening("other"), opening()])) == [422, 201, 422]
    assert ledger.project("clinic").seq == 1
    assert set(ledger.counter_values(1, "status").values()) == {9223372036854775807}
    assert verify(ledger, "other").differences == []


def test_a_name_that_no_database_can_look_up_is_unknown(writer):
    hostile = "clinic\0'; --"
    assert statuses(writer.commit([opening(hostile), opening("other")])) == [404, 201]


def test_a_case_that_cannot_be_restored_fails_alone(ledger, writer):
    from askwise.service.api.messages import Rewarding

    writer.commit([opening(), opening("other")])
    with ledger.write_session() as session:
        session.change("UPDATE cases SET data = 'damaged' WHERE project = 1")
    fresh = Writer(ledger, PolicyCache(ledger))
    jobs = [Operation("clinic", "reward", 1, Rewarding(0.5)), opening(), opening("other")]
    refused, *written = fresh.commit(jobs)
    assert refused.status >= 500
    assert statuses(written) == [201, 201]


class Gone:
    """A ledger whose database is gone from some transaction on."""

    def __init__(self, ledger, after):
        self._ledger, self._after = ledger, after
        self.tried = 0

    def __getattr__(self, name):
        return getattr(self._ledger, name)

    @contextmanager
    def transaction(self):
        self.tried += 1
        if self.tried > self._after:
            raise LedgerUnavailableError("gone")
        with self._ledger.transaction() as transaction:
            yield transaction


@pytest.mark.parametrize("after", [0, 3])
def test_a_database_that_is_gone_is_not_asked_a_thousand_times(tmp_path, after):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    create(Writer(ledger, PolicyCache(ledger)))
    with ledger.write_session() as session:
        session.change(REFUSES_POISON["SqliteLedger"])
    gone = Gone(ledger, after)
    jobs = [opening() for _ in range(1000)]
    if after:  # it goes while they are tried in halves
        jobs[600] = opening(key=POISON)
    results = Writer(gone, PolicyCache(gone)).commit(jobs)
    assert gone.tried == after + 1
    written = [r for r in results if isinstance(r, Answer)]
    assert len(written) == ledger.project("clinic").seq
    refused = [r for r in results if not isinstance(r, Answer)]
    assert {r.status for r in refused} == {503}
    assert all(r.retry and "same key" in r.detail for r in refused)
    assert len(written) == (0 if not after else 500)
    ledger.close()


def test_what_the_database_says_is_told_apart(ledger, writer):
    with pytest.raises(LedgerError) as data, ledger.write_session() as session:
        session.change("INSERT INTO leases VALUES ('replanner', '', 0, 0)")
    assert not isinstance(data.value, LedgerUnavailableError)
    with ledger.write_session() as session:  # it goes on
        assert session.all("SELECT 1") == [(1,)]


def test_projects_take_turns(ledger, writer, monkeypatch):
    """One with many requests does not hold up another; its own are written as they came."""
    monkeypatch.setattr("askwise.service.decisions.writer.LARGEST_GROUP", 4)
    groups, commit = [], writer.commit

    def noted(jobs):
        groups.append([(job.project, job.key) for job in jobs])
        return commit(jobs)

    monkeypatch.setattr(writer, "commit", noted)
    answers = []
    for k in range(8):
        writer.submit([opening("clinic", f"k{k}")], answers.extend)
    writer.submit([opening("other", "late"), opening("other", "later")], answers.extend)
    writer.start()
    writer.stop()
    assert statuses(answers) == [201] * 10
    assert groups[0][1:3] == [("other", "late"), ("other", "later")]
    assert [key for group in groups for name, key in group if name == "clinic"] == [
        f"k{k}" for k in range(8)
    ]


def test_a_large_batch_is_written_in_parts_and_others_come_between(ledger, writer):
    """The others wait for one part; the batch gets its answers together, in order."""
    batch = [opening(key=f"batch-{k}") for k in range(250)] + [opening(key="batch-3")]
    delivered, is_done = [], threading.Event()
    ends = {
        "batch": batch,
        "same project": [opening(key="after")],
        "other": [opening("other")],
    }

    def deliver(name, results):
        delivered.append((name, ledger.project("clinic").seq, results))
        if len(delivered) == 3:
            is_done.set()

    before = writer.groups
    for name, jobs in ends.items():
        writer.submit(jobs, partial(deliver, name))
    writer.start()
    assert is_done.wait(PATIENCE)
    writer.stop()
    assert [(name, seq) for name, seq, _ in delivered] == [
        ("other", 100),
        ("batch", 251),
        ("same project", 251),
    ]
    results = delivered[1][2]
    assert statuses(results) == [201] * 251
    cases = [decoded(result)["case"] for result in results]
    assert cases == [*range(1, 251), 4]  # the last repeats a key of another part
    assert decoded(delivered[2][2][0])["case"] == 251
    assert writer.groups - before == 3
    assert verify(ledger, "clinic").differences == []


def test_whether_a_case_is_in_memory_can_be_asked_while_it_leaves():
    class Leaves(dict):
        """As if the writer took a case out just after another thread has found it there."""

        def __getitem__(self, number):
            raise KeyError(number)

    writer = Writer(None, None)
    assert writer.in_memory("clinic", 1) is None
    decider = object.__new__(CaseDecider)
    stored, served = object(), SimpleNamespace(may_plan=False)
    decider._cached = Leaves({1: (stored, served)})
    writer._deciders["clinic"] = decider
    assert writer.in_memory("clinic", 1) == (stored, False)
    assert writer.in_memory("clinic", 2) is None
