"""One suite for every ledger: what `askwise.service.ledger.contract` promises, on each database."""

import os
import subprocess
import sys
import textwrap

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
from askwise.service.ledger.rows import (
    Event,
    Head,
    Increment,
    Project,
    StoredCase,
    StoredPolicy,
    StoredToken,
)
from askwise.service.operations.export import export_project, import_project
from askwise.service.replanning.counter_rows import fill_counters
from askwise.service.replanning.policy_versions import PolicyCache, from_blob, learner_of, next_plan
from askwise.service.replanning.replanner import Replanner
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

PLAN = StoredPolicy(version=1, watermark=0, fence=0, at=5, blob=b"\x00policy")


def new_project(ledger, name="clinic"):
    row = Project(0, name, b"{}", "learner", b"{}", 7, 1, 0, 0, 1, 0, 5, "")
    with ledger.transaction() as transaction:
        transaction.lock([0])
        return transaction.create(row, PLAN)


def event(seq, key="", case=1):
    return Event(seq, key or f"key {seq}", "open", case, b"{}", 201, b'{"case":1}', 1_000 + seq)


def append(ledger, project, seq, key="", amount=1):
    with ledger.transaction() as transaction:
        head = transaction.lock([project])[project]
        transaction.append(
            project,
            Head(seq, head.opened + 1, head.version),
            [event(seq, key)],
            [StoredCase(seq, seq % 5, b"case")],
            [Increment("visits", 3, 0, amount), Increment("visits", 3, seq, 1)],
        )


# --- the contract --------------------------------------------------------------------------------


def test_what_is_appended_is_read_back(ledger):
    project = new_project(ledger)
    for seq in (1, 2, 3):
        append(ledger, project, seq, amount=10**12)
    assert ledger.events(project, 1, 10) == [event(2), event(3)]
    assert ledger.events(project, 0, 1) == [event(1)]
    assert ledger.case(project, 2) == StoredCase(2, 2, b"case")
    assert [case.id for case in ledger.latest_cases(project, 3, 5)] == [2, 1]
    found = ledger.snapshot(project)
    assert found[:3] == (3, 3, 1)
    assert found.counters == [
        Increment("visits", 3, 0, 3 * 10**12),
        *(Increment("visits", 3, seq, 1) for seq in (1, 2, 3)),
    ]
    assert ledger.counter_values(project, "visits")[3, 0] == 3 * 10**12
    row = ledger.project("clinic")
    assert (row.id, row.seq, row.opened, row.version) == (project, 3, 3, 1)
    assert [p.name for p in ledger.projects()] == ["clinic"]
    assert ledger.case(project, 9) is None
    assert ledger.project("other") is None
    with ledger.transaction() as transaction:
        assert transaction.lock([project, 99]) == {project: Head(3, 3, 1)}
        assert transaction.events_with_keys(project, ["key 2", "none"]) == {"key 2": event(2)}
        assert set(transaction.cases(project, [1, 3, 8])) == {1, 3}


def test_a_key_is_taken_for_ever_and_a_failed_transaction_leaves_nothing(ledger):
    project, other = new_project(ledger), new_project(ledger, "other")
    append(ledger, project, 1, "mine")
    before = ledger.snapshot(project)
    with pytest.raises(LedgerError):
        append(ledger, project, 2, "mine")
    with pytest.raises(ZeroDivisionError), ledger.transaction() as transaction:
        _append_and_fail(transaction, project)
    assert ledger.snapshot(project) == before
    append(ledger, other, 1, "mine")  # a key is taken within its project
    append(ledger, project, 2, "another")


def _append_and_fail(transaction, project):
    transaction.append(project, Head(2, 2, 1), [event(2)], [], [Increment("visits", 3, 0, 1)])
    raise ZeroDivisionError


def test_names_are_taken_once(ledger):
    assert new_project(ledger) == 1
    assert new_project(ledger) is None
    assert new_project(ledger, "other") == 2


@pytest.mark.parametrize("statement", ["UPDATE events SET answer = body", "DELETE FROM events"])
def test_events_are_never_changed(ledger, statement):
    project = new_project(ledger)
    append(ledger, project, 1)
    with pytest.raises(LedgerError, match="never"), ledger.write_session() as session:
        session.all(statement)
    assert ledger.events(project, 0, 5) == [event(1)]


def test_a_plan_is_published_by_the_newest_lease_and_after_its_version_only(ledger):
    project = new_project(ledger)
    assert ledger.take_lease("a").fence == 1
    assert ledger.take_lease("b").holder == "a"  # not free yet
    ledger.release_lease("b")
    assert ledger.take_lease("a").fence == 1  # renewed
    ledger.release_lease("a")
    assert ledger.take_lease("b").fence == 2

    def publish(version, fence):
        with ledger.transaction() as transaction:
            return transaction.publish(project, StoredPolicy(version, 0, fence, 6, b"p"))

    assert not publish(2, fence=1)  # it has been taken over
    assert not publish(3, fence=2)  # what comes before is not there
    ledger.record_plan_failure(project, "why")
    assert ledger.project("clinic").failure == "why"
    assert publish(2, fence=2)
    assert not publish(2, fence=2)
    assert ledger.project("clinic")[9:] == (2, 0, 6, "")
    assert ledger.policy(project, 1) == PLAN
    assert [plan.version for plan in ledger.policies(project)] == [1, 2]
    assert ledger.policy(project, 3) is None


def test_tokens_are_kept_until_they_are_revoked(ledger):
    token = StoredToken("id", b"digest", "read", "", 1, 0)
    ledger.add_token(token)
    assert ledger.tokens() == [token]
    assert ledger.revoke_token("id", 9)
    assert not ledger.revoke_token("id", 10)
    assert ledger.tokens() == [token._replace(revoked=9)]


def test_a_schema_of_the_future_is_refused(database):
    ledger = open_ledger(database)
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE askwise_schema SET version = 99")
    else:
        with ledger.write_session() as session:
            session.all("PRAGMA user_version = 99")
    ledger.close()
    with pytest.raises(LedgerError, match="newer askwise"):
        open_ledger(database)


FORKS = """
    import os, sys
    from askwise.service.ledger import open_ledger
    from askwise.service.ledger.rows import Event, Head, Increment, StoredPolicy, Project
    where, processes, groups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    start, go = os.pipe()
    children = []
    for k in range(processes):
        child = os.fork()
        if child:
            children.append(child)
            continue
        os.close(go)
        os.read(start, 1)  # all begin together
        ledger = open_ledger(where)
        for n in range(groups):
            with ledger.transaction() as transaction:
                head = transaction.lock([1])[1]
                seq = head.seq + 1
                event = Event(seq, f"{k} {n}", "open", seq, b"{}", 201, b"{}", 1)
                more = [Increment("visits", n % 3, 0, 1), Increment("visits", 7, k, 1)]
                transaction.append(1, Head(seq, seq, 1), [event], [], more)
        ledger.close()
        os._exit(0)
    os.close(go)
    os.close(start)
    codes = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(0 if not any(codes) else 1)
"""


def in_processes(database, processes, groups):
    code = textwrap.dedent(FORKS)
    subprocess.run(
        [sys.executable, "-c", code, database, str(processes), str(groups)],
        check=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_sixteen_processes_start_at_once(database):
    in_processes(database, 16, 0)
    ledger = open_ledger(database)
    assert new_project(ledger) == 1
    ledger.close()


def test_processes_that_write_at_once_lose_nothing(database):
    ledger = open_ledger(database)
    new_project(ledger)
    in_processes(database, 4, 15)
    events = ledger.events(1, 0, 1000)
    assert [e.seq for e in events] == list(range(1, 61))
    assert {e.key for e in events} == {f"{k} {n}" for k in range(4) for n in range(15)}
    assert ledger.counter_values(1, "visits") == {
        **dict.fromkeys([(0, 0), (1, 0), (2, 0)], 20),
        **{(7, k): 15 for k in range(4)},
    }
    ledger.close()


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

    def fails(blob, now, first):
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


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 31, 200, 256, 257, 700])
def test_any_number_of_rows_is_written(ledger, rows):
    project = new_project(ledger)
    events = [event(k + 1, case=k + 1) for k in range(rows)]
    cases = [StoredCase(k + 1, 1, b"\x00\xff\\\t\n%d" % k) for k in range(rows)]
    more = [Increment("visits", k, 0, 2) for k in range(rows)]
    with ledger.transaction() as transaction:
        transaction.lock([project])
        transaction.append(project, Head(rows, rows, 1), events, cases, more)
        transaction.append(project, Head(rows, rows, 1), [], cases[::2], more[::3])
    assert ledger.events(project, 0, 1000) == events
    found = ledger.cases(project, list(range(1, rows + 9)))
    assert found == {case.id: case for case in cases}
    amounts = {(k, 0): 2 + 2 * (k % 3 == 0) for k in range(rows)}
    assert ledger.counter_values(project, "visits") == amounts


def test_a_long_log_is_copied_into_the_file_while_others_write(tmp_path, monkeypatch):
    where = tmp_path / "ledger.db"
    monkeypatch.setattr("askwise.service.ledger.sqlite.LONG_LOG", 20)
    ledger = open_ledger(str(where))
    project = new_project(ledger)
    log = where.with_name("ledger.db-wal")
    for seq in range(1, 400):
        append(ledger, project, seq)
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
        append(ledger, project, seq)
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
