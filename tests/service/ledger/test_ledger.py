"""What the service writes in a ledger; what every ledger promises is in testing/test_ledgers.py."""

import msgspec
import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.errors import LedgerError
from askwise.service.api.messages import Cancelling, Observing, Opening, Rewarding
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.export import export_project, import_project
from askwise.service.replanning.counter_rows import fill_counters
from askwise.service.replanning.policy_versions import PolicyCache, from_blob, learner_of, next_plan
from askwise.service.replanning.replanner import Replanner
from askwise.testing.ledger_entries import append, event, new_project
from inside import bought, now_of, strategy_of
from serving import (  # noqa: F401 (fixtures)
    PROBLEM,
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

# --- the databases -------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["UPDATE events SET answer = body", "DELETE FROM events"])
def test_events_are_never_changed(ledger, statement):
    project = new_project(ledger)
    append(ledger, project, event(1))
    with pytest.raises(LedgerError, match="never"), ledger.write_session() as session:
        session.all(statement)
    assert ledger.events(project, 0, 5) == [event(1)]


def test_a_schema_of_the_future_is_refused(database):
    ledger = open_ledger(database)
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE askwise_schema SET version = 99")
    else:
        with ledger.write_session() as session:
            session.all("PRAGMA user_version = 99")
    ledger.close()
    with pytest.raises(LedgerError, match="newer askwise, so upgrade askwise here"):
        open_ledger(database)


# --- counters ------------------------------------------------------------------------------------

LEARNERS = {
    "seq-oos": {},
    "sim-oos": {},
    "learner": {},
    "psrl": {"acquisition": "simultaneous"},
}


def values_for(lattice, wanted, rng):
    outcomes = {o.name: o.outcomes for o in lattice.observations}
    return {name: outcomes[name][rng.integers(len(outcomes[name]))] for name in wanted}


def play(writer, policy_cache, learner, rng, cases):
    """Whole cases through the ledger; the same ones recorded by the library alone."""
    alone = aw.Statistics(learner.statistics.lattice)
    at_once = strategy_of(learner).acquisition.name == "simultaneous"
    for _ in range(cases):
        answer, seen = decoded(ask(writer, Opening())), {}
        while answer["wanted"]:
            values = values_for(learner.statistics.lattice, answer["wanted"], rng)
            seen |= values
            answer = decoded(ask(writer, Observing(values), answer["case"]))
        first, second = rng.integers(5, size=2).tolist()
        ask(writer, Rewarding(first / 4, default=bool(second % 2)), answer["case"])
        ask(writer, Rewarding(second / 4, replaces=True), answer["case"])
        alone.record(seen, answer["action"], second / 4, acquisition=bought(at_once))
    return alone


@pytest.mark.parametrize("rows", ["dense", "sparse"])
@pytest.mark.parametrize("name", LEARNERS)
def test_counters_are_those_that_the_library_counts_by_itself(name, rows, tmp_path, monkeypatch):
    if rows == "sparse":
        monkeypatch.setattr("askwise.service.decisions.counter_changes.DENSE_UP_TO", 0)
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    writer = Writer(ledger, policy_cache)
    create(writer, learner=name, **LEARNERS[name])
    project = ledger.project("clinic")
    replanner = Replanner(ledger)
    rng = np.random.default_rng(3)
    learner = learner_of(project)
    alone = aw.Statistics(learner.statistics.lattice)
    for _ in range(3):
        alone += play(writer, policy_cache, learner, rng, cases=8)
        assert replanner.step() == 1
        policy_cache.prepare(project.id, ledger.project("clinic").version)
    counted = ledger.snapshot(project.id).counters
    fill_counters(learner, counted)
    assert learner.statistics == alone
    assert learner.statistics.cases == 24
    # each version was planned with what was known then
    last = policy_cache.version(project.id, 4).learner
    assert last.statistics == alone
    assert verify(ledger, "clinic").differences == []
    ledger.close()


steps = st.lists(
    st.tuples(
        st.sampled_from(["open", "observe", "reward", "default", "correct", "cancel", "again"]),
        st.integers(0, 7),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("options", [{}, {"model": "additive"}, {"acquisition": "simultaneous"}])
@given(steps=steps)
@settings(max_examples=25)
def test_what_events_say_is_what_the_ledger_counts(tmp_path_factory, options, steps):
    ledger = open_ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, **options)
    asked, opened, given_answers = [], 0, 0
    for kind, which, value in steps:
        case = 1 + which % max(1, opened)
        body = {
            "open": Opening(),
            "observe": Observing({"mammogram": ["low", "high"][value % 2]}),
            "reward": Rewarding(value / 3),
            "default": Rewarding(value / 3, default=True),
            "correct": Rewarding(value / 3, replaces=True),
            "cancel": Cancelling(),
        }.get(kind)
        if body is None:
            for key, number, sent, answer in asked[-value:]:
                again = ask(writer, sent, number, key=key)
                assert (again.status, again.body) == (answer.status, answer.body)
            continue
        before = ledger.snapshot(1)
        key, number = f"key {len(asked)} {given_answers}", 0 if kind == "open" else case
        answer = ask(writer, body, number, key=key)
        if hasattr(answer, "body"):
            asked.append((key, number, body, answer))
            opened += kind == "open"
        else:
            assert ledger.snapshot(1) == before  # refused: nothing changed
            assert 400 <= answer.status < 500
            given_answers += 1
    verdict = verify(ledger, "clinic")
    assert verdict.differences == []
    assert (verdict.events, verdict.cases) == (len(asked), opened)
    ledger.close()


def test_verify_shows_what_differs(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    ask(writer, Opening())
    assert verify(ledger, "clinic").differences == []
    with ledger.write_session() as session:
        session.all("UPDATE counters SET amount = amount + 1 WHERE kind = 'status'")
        session.all("UPDATE cases SET status = 4")
    found = verify(ledger, "clinic").differences
    assert found == [
        "counter status[0, 0]: 2 in the ledger, 1 from the events",
        "case 1: not what its events make it",
    ]
    ledger.close()


def test_a_project_moves_between_databases(tmp_path, database):
    here, there = open_ledger(str(tmp_path / "here.db")), open_ledger(database)
    policy_cache = PolicyCache(here)
    writer = Writer(here, policy_cache)
    create(writer)
    play(writer, policy_cache, learner_of(here.project("clinic")), np.random.default_rng(0), 10)
    Replanner(here).step()
    lines = list(export_project(here, "clinic"))
    with pytest.raises(LedgerError, match="cut off"):
        import_project(there, lines[:-1])
    damaged = [*lines[:4], lines[4].replace(b"key", b"yek", 1), *lines[5:]]
    with pytest.raises(LedgerError):
        import_project(there, damaged)
    assert there.projects() == []  # all of it, or nothing
    assert import_project(there, lines) == ("clinic", here.project("clinic").seq)
    assert here.project("clinic") == there.project("clinic")
    mine, theirs = here.snapshot(1), there.snapshot(1)
    assert [c for c in mine.counters if c.amount] == theirs.counters
    assert list(export_project(there, "clinic")) == lines
    assert verify(there, "clinic").differences == []
    with pytest.raises(LedgerError, match="already"):
        import_project(there, lines)
    # and it goes on there
    onward = Writer(there, PolicyCache(there))
    assert decoded(ask(onward, Opening()))["case"] == 11
    here.close()
    there.close()


def test_a_plan_that_fails_keeps_the_policy_and_says_why(tmp_path, monkeypatch):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    ask(writer, Opening())

    def fails(*arguments):
        raise aw.AskwiseError("no plan today")

    replanner = Replanner(ledger)
    with monkeypatch.context() as patch:
        patch.setattr("askwise.service.replanning.replanner.next_plan", fails)
        assert replanner.step() == 0
    assert ledger.project("clinic").failure == "no plan today"
    assert ledger.project("clinic").version == 1
    assert decoded(ask(writer, Opening()))["policy_version"] == 1
    assert replanner.plan(ledger.project("clinic"), fence=1)
    assert (ledger.project("clinic").version, ledger.project("clinic").failure) == (2, "")
    ledger.close()


def test_the_same_problem_is_kept():
    assert msgspec.json.decode(msgspec.json.encode(PROBLEM), type=aw.Problem) == PROBLEM


def test_a_long_log_is_copied_into_the_file_while_others_write(tmp_path, monkeypatch):
    where = tmp_path / "ledger.db"
    monkeypatch.setattr("askwise.service.ledger.sqlite.LONG_LOG", 20)
    ledger = open_ledger(str(where))
    project = new_project(ledger)
    log = where.with_name("ledger.db-wal")
    for seq in range(1, 400):
        append(ledger, project, event(seq))
        if seq % 10 == 0:
            ledger.checkpoint()
    assert log.stat().st_size < 150 * 4200  # begun anew again and again
    assert [e.seq for e in ledger.events(project, 0, 1000)] == list(range(1, 400))
    ledger.close()


def test_whoever_commits_copies_a_log_that_nobody_tends(tmp_path, monkeypatch):
    where = tmp_path / "ledger.db"
    monkeypatch.setattr("askwise.service.ledger.sqlite.LONGEST_LOG", 50)
    ledger = open_ledger(str(where))
    project = new_project(ledger)
    for seq in range(1, 200):
        append(ledger, project, event(seq))
    assert where.with_name("ledger.db-wal").stat().st_size < 100 * 4200
    ledger.close()


def test_a_replanner_that_may_not_stand_back_plans_all_the_same(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(1, "Operation not permitted")

    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    ask(writer, Opening())
    monkeypatch.setattr("os.sched_setscheduler", forbidden)
    monkeypatch.setattr("os.nice", forbidden)
    assert Replanner(ledger).step() == 1
    ledger.close()


def test_a_replanner_that_keeps_its_learner_plans_as_one_that_begins_anew(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    writer, replanner = Writer(ledger, policy_cache), Replanner(ledger)
    create(writer)
    learner, rng = learner_of(ledger.project("clinic")), np.random.default_rng(1)
    for version in range(1, 5):
        play(writer, policy_cache, learner, rng, 5)
        anew, first = (from_blob(ledger.policy(1, v).blob) for v in (version, 1))
        next_plan(anew, ledger.snapshot(1), first)
        assert replanner.step() == 1
        kept = from_blob(ledger.policy(1, version + 1).blob)
        assert kept.statistics == anew.statistics
        states = [now_of(x).rng.bit_generator.state for x in (kept, anew)]
        assert states[0] == states[1]
        for name in ("look", "actions", "values"):
            tables = (kept.policy.table, anew.policy.table)
            assert np.array_equal(*(getattr(table, name) for table in tables))
        for mine, other in zip(kept.policy.exploration, anew.policy.exploration, strict=True):
            assert np.array_equal(mine, other)
    ledger.close()
