"""The short version of `make chaos`; and that its audit sees what it is there to see."""

import asyncio

import apsw
import msgspec
import pytest

from askwise.service.api.messages import EventLine
from askwise.service.ledger import open_ledger
from askwise.service.ledger.schema import NEWEST
from chaos.audit import Sums, compare, compare_summary
from chaos.databases import Postgres, Sqlite
from chaos.older import CASES, compare_older, leave_old_schema
from chaos.record import Order, Record
from chaos.run import Goal, run
from chaos.wire import Reply
from serving import postgres_fixture  # noqa: F401
from waiting import PATIENCE

SHORT = Goal(
    kills=3, events=300, seconds=PATIENCE, migrations=1, plan_within=2.0, calm=0.3, sample=200
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_is_lost_and_nothing_doubled_when_servers_are_killed(tmp_path, request, kind):
    if kind == "sqlite":
        database = Sqlite(tmp_path)
    else:
        database = Postgres(request.getfixturevalue("postgres"))
    outcome = asyncio.run(run(database, tmp_path, 7, SHORT))
    database.close()
    assert outcome.wrong == [], (tmp_path / "server.log").read_text()[-5000:]
    assert outcome.kills >= SHORT.kills + SHORT.migrations
    assert outcome.events >= SHORT.events
    assert outcome.operated["requests in new versions"] > 0
    counts = outcome.record.counts
    again = counts["at the same time"] + counts["again later"] + counts["again in a batch"]
    assert again > 0.15 * outcome.events  # a fifth is meant; what is still on its way is left out


def test_what_a_ledger_of_an_older_schema_holds_is_compared(tmp_path):
    db = str(tmp_path / "old.db")
    events, cases = leave_old_schema(db, tmp_path)
    assert apsw.Connection(db).pragma("user_version") == 1
    assert len(cases) == CASES
    assert compare_older(db, (events, cases)) == []
    assert apsw.Connection(db).pragma("user_version") == NEWEST
    assert len(compare_older(db, (events[:-1], cases))) == 1
    ledger = open_ledger(db)
    with ledger.write_session() as session:
        session.change("DELETE FROM counters WHERE project = 1 AND kind = 'status'")
    ledger.close()
    assert compare_older(db, (events, cases))


def raw(value):
    return msgspec.Raw(msgspec.json.encode(value))


def answer(case, action=None, cost=0.0):
    return {"case": case, "wanted": [], "action": action, "cost": cost, "policy_version": 1}


@pytest.fixture
def story():
    """Two requests, acknowledged and written."""
    record, events = Record(), {}
    for seq, (kind, body, said) in enumerate(
        [("open", {}, answer(1, "wait")), ("reward", {"reward": 0.5}, answer(1, "wait"))], start=1
    ):
        order = Order(f"k{seq}", kind, seq - 1, body)
        record.send(order)
        record.answer(order, Reply(200, bytes(raw(said))))
        events[order.key] = EventLine(seq, order.key, kind, 1, "", 200, raw(body), raw(said))
    return record, events


def test_the_audit_is_content_with_what_is_right(story):
    assert compare(*story) == []


def test_the_audit_sees_an_event_that_is_lost(story):
    record, events = story
    del events["k2"]
    assert "is lost" in compare(record, events)[0]


def test_the_audit_sees_an_answer_that_is_not_the_one_given(story):
    record, events = story
    events["k1"].answer = raw(answer(2, "wait"))
    assert "is written" in compare(record, events)[0]


def test_the_audit_sees_another_body_and_what_nobody_sent(story):
    record, events = story
    events["k2"].body = raw({"reward": 0.6})
    del record.sent["k1"]
    del record.acknowledged["k1"]
    found = compare(record, events)
    assert "never sent" in found[0]
    assert "another body" in found[1]


def test_the_audit_sees_what_was_refused_and_is_there_all_the_same(story):
    record, events = story
    del record.acknowledged["k2"]
    record.answer(record.sent["k2"], Reply(409, b"{}"))
    assert "was refused" in compare(record, events)[0]
    record.lose(record.sent["k2"])  # an attempt without an answer may have been written later
    assert compare(record, events) == []


def test_the_record_sees_two_answers_to_one_key_and_failures(story):
    record, _ = story
    order = record.sent["k1"]
    record.answer(order, Reply(200, b"{}"))
    record.answer(order, Reply(409, b"{}"))
    record.answer(order, Reply(500, b"{}"))
    record.answer(order, Reply(503, b"{}"))  # to come again is no contradiction
    assert len(record.contradictions) == 3


def test_the_audit_sees_a_summary_that_counts_twice(story):
    _, events = story
    statuses = {"observing": 0, "acted": 0, "rewarded": 1}
    right = Sums(1, statuses, 0.5, 0.0)
    assert compare_summary(events, right) == []
    twice = Sums(2, statuses | {"rewarded": 2}, 1.0, 3.0)
    assert len(compare_summary(events, twice)) == 4
