"""Checks for every ledger, by the contract of `askwise.service.ledger.contract`.

A check is given `MakesLedger`, a function that opens the database of a name, and uses nothing but
the contract. Several checks fork processes, for that is what a server dies in.
"""

from __future__ import annotations

from collections.abc import Callable

from askwise.service.ledger.rows import Head, Increment, StoredCase, StoredToken
from askwise.testing.ledger_concurrency import (
    check_a_killed_process_leaves_only_what_it_committed,
    check_a_project_is_held_until_the_commit,
    check_one_of_many_publishers_succeeds,
    check_one_of_many_takes_the_lease,
    check_processes_migrate_at_once,
    check_processes_that_write_at_once_lose_nothing,
    check_readers_see_one_moment,
    check_threads_that_write_at_once_lose_nothing,
)
from askwise.testing.ledger_entries import (
    FIRST,
    MakesLedger,
    abandoned,
    append,
    append_to,
    changes_nothing,
    contents,
    create,
    event,
    new_name,
    new_project,
    opened,
    refused,
)
from askwise.testing.ledger_policies import (
    check_a_failure_is_kept_until_the_next_policy,
    check_a_lease_is_held_by_one,
    check_only_the_newest_lease_publishes,
    check_versions_follow_each_other,
)

TOKEN = StoredToken("id", b"\x00digest", "read", "clinic", 1, 0)


def check_ledger(make: MakesLedger) -> None:
    """Run every check; the first that fails raises."""
    for check in LEDGER_CHECKS:
        check(make)


def check_a_new_ledger_is_empty(make: MakesLedger) -> None:
    """A new database has no projects, no tokens and no good lease, and it can be written."""
    with opened(make) as ledger:
        assert ledger.projects() == []
        assert ledger.project("clinic") is None
        assert ledger.tokens() == []
        assert not ledger.lease().is_good
        assert not ledger.looks_unwritable()


def check_what_is_written_is_read(make: MakesLedger) -> None:
    """Events, cases, counters and projects are read back as they were written, and no others."""
    with opened(make) as ledger:
        project = new_project(ledger)
        written = [event(1), event(2, body=b'{"known":{}}'), event(3)]
        with ledger.transaction() as transaction:
            append_to(transaction, project, *written)
            mine = transaction.events_with_keys(project, ["key 2"])
            assert mine == {"key 2": written[1]}, "a transaction does not read what it wrote"
        assert ledger.events(project, 0, 10) == written
        assert ledger.events(project, 1, 1) == written[1:2]
        assert ledger.events(project, 3, 10) == []
        cases = [StoredCase(k, k, b"case \x00\xff%d" % k) for k in (1, 2, 3)]
        assert ledger.case(project, 2) == cases[1]
        assert ledger.case(project, 9) is None
        assert ledger.cases(project, [3, 1, 9]) == {1: cases[0], 3: cases[2]}
        assert ledger.latest_cases(project, 3, 10) == [cases[1], cases[0]]
        assert ledger.latest_cases(project, 9, 1) == [cases[2]]
        assert ledger.cases_in(project, 2, range(1, 4), 10) == [cases[1]]
        assert ledger.cases_in(project, 2, range(3, 9), 10) == []
        row = ledger.project("clinic")
        assert row is not None
        assert ledger.projects() == [row]
        assert (row.id, row.seq, row.opened, row.version) == (project, 3, 3, 1)
        assert (row.problem, row.learner, row.options, row.seed) == (b"{}", "learner", b"{}", 7)
        with ledger.transaction() as transaction:
            assert transaction.lock([project, 99]) == {project: Head(3, 3, 1, "clinic")}
            assert transaction.cases(project, [1, 8]) == {1: cases[0]}


def check_any_number_of_rows_is_written(make: MakesLedger) -> None:
    """One transaction takes no rows, one or many; a case that was there is replaced."""
    with opened(make) as ledger:
        for rows in (0, 1, 3, 4, 31, 200, 256, 257, 700):
            project = new_project(ledger, f"of {rows}")
            events = [event(k + 1) for k in range(rows)]
            cases = [StoredCase(k + 1, 1, b"\x00\xff\\\t\n%d" % k) for k in range(rows)]
            again = [case._replace(status=2, data=b"again") for case in cases[::2]]
            more = [Increment("visits", k, 0, 2) for k in range(rows)]
            with ledger.transaction() as transaction:
                transaction.lock([project])
                transaction.append(project, Head(rows, rows, 1), events, cases, more)
                transaction.append(project, Head(rows, rows, 1), [], again, more[::3])
            assert ledger.events(project, 0, 1000) == events
            expected = {case.id: case for case in [*cases, *again]}
            assert ledger.cases(project, list(range(1, rows + 9))) == expected
            amounts = {(k, 0): 2 + 2 * (k % 3 == 0) for k in range(rows)}
            assert ledger.counter_values(project, "visits") == amounts


def check_counters_add_up(make: MakesLedger) -> None:
    """Increments add up exactly, down as well as up, kind by kind and place by place."""
    with opened(make) as ledger:
        project = new_project(ledger)
        for amount in (2**53, 1, -3):
            with ledger.transaction() as transaction:
                head = transaction.lock([project])[project]
                more = [Increment("visits", 3, 0, amount), Increment("sums", 3, 1, 1)]
                transaction.append(project, head, [], [], more)
                assert transaction.counter_values(project, "sums")[3, 1] >= 1, (
                    "not seen before the commit"
                )
        assert ledger.counter_values(project, "visits") == {(3, 0): 2**53 - 2}
        assert ledger.counter_values(project, "none") == {}
        both = ledger.counters_of(project, ["visits", "none", "sums"])
        assert set(both) == {("visits", 3, 0, 2**53 - 2), ("sums", 3, 1, 3)}
        snapshot = ledger.snapshot(project)
        assert snapshot[:3] == (0, 0, 1)
        assert sorted(snapshot.counters) == [
            Increment("sums", 3, 1, 3),
            Increment("visits", 3, 0, 2**53 - 2),
        ]


def check_what_is_named_twice_is_written_in_turn(make: MakesLedger) -> None:
    """One append may name a counter or a case twice: all is added, and the last case stands."""
    with opened(make) as ledger:
        project = new_project(ledger)
        cases = [StoredCase(1, 0, b"first"), StoredCase(2, 0, b"other"), StoredCase(1, 1, b"last")]
        more = [Increment("visits", 3, 0, amount) for amount in (5, 7, -2)]
        with ledger.transaction() as transaction:
            transaction.lock([project])
            transaction.append(project, Head(0, 2, 1), [], cases, more)
        assert ledger.counter_values(project, "visits") == {(3, 0): 10}
        assert ledger.cases(project, [1, 2]) == {1: cases[2], 2: cases[1]}
        too_much = [Increment("visits", 4, 0, 2**62)] * 2
        with (
            changes_nothing(ledger),
            refused("a sum of more than 64 bits"),
            ledger.transaction() as transaction,
        ):
            transaction.lock([project])
            transaction.append(project, Head(0, 2, 1), [], [], too_much)


def check_a_failed_transaction_leaves_nothing(make: MakesLedger) -> None:
    """All that a transaction did is taken back if its block raises, and the next one works."""
    with opened(make) as ledger:
        project = new_project(ledger)
        append(ledger, project, event(1))
        fence = ledger.take_lease("planner").fence
        with changes_nothing(ledger), abandoned(ledger) as transaction:
            append_to(transaction, project, event(2), amount=7)
            assert create(transaction, "other") is not None
            transaction.add_token(TOKEN)
            assert transaction.publish(project, FIRST._replace(version=2, fence=fence))
        append(ledger, project, event(2))
        assert [e.seq for e in ledger.events(project, 0, 9)] == [1, 2]


def check_a_key_is_taken_for_ever(make: MakesLedger) -> None:
    """A key is found with its first answer, and is refused to any other event of its project."""
    name = new_name()
    with opened(make, name) as ledger:
        project, other = new_project(ledger), new_project(ledger, "other")
        first = event(1, "mine", b'{"known":1}')
        append(ledger, project, first)
    with opened(make, name) as ledger:
        for again in (event(2, "mine", first.body), event(2, "mine", b'{"known":2}')):
            with changes_nothing(ledger), refused(f"the key 'mine' with {again.body!r}"):
                append(ledger, project, again)
        with changes_nothing(ledger), refused("one key twice in a transaction"):
            append(ledger, project, event(2, "twice"), event(3, "twice"))
        with ledger.transaction() as transaction:
            assert transaction.events_with_keys(project, ["mine", "none"]) == {"mine": first}
            assert transaction.events_with_keys(other, ["mine"]) == {}
            assert transaction.events_with_keys(project, []) == {}
        append(ledger, other, event(1, "mine"))  # it is taken within its project
        append(ledger, project, event(2, "yours"))


def check_what_does_not_fit_is_refused(make: MakesLedger) -> None:
    """Checks that data which does not fit raises a `LedgerDataError`, and nothing is written."""
    with opened(make) as ledger:
        project = new_project(ledger)
        append(ledger, project, event(1), amount=2**62)
        with changes_nothing(ledger):
            with refused("an event with a number that is taken"):
                append(ledger, project, event(1, "another"))
            with refused("a time of more than 63 bits"):
                append(ledger, project, event(2)._replace(at=2**63))
            with refused("an amount of more than 63 bits"):
                append(ledger, project, event(2), amount=2**63)
            with refused("a sum of more than 63 bits"):
                append(ledger, project, event(2), amount=2**62)
            with (
                refused("a policy of a version that is there"),
                ledger.transaction() as transaction,
            ):
                transaction.add_policy(project, FIRST)
        append(ledger, project, event(2), amount=-1)
        assert ledger.counter_values(project, "visits") == {(3, 0): 2**62 - 1}


def check_names_are_taken_once(make: MakesLedger) -> None:
    """The name of a project is refused to a second one, and projects are numbered in order."""
    with opened(make) as ledger:
        first, second = new_project(ledger), new_project(ledger, "other")
        assert first < second
        with changes_nothing(ledger), ledger.transaction() as transaction:
            assert create(transaction, "clinic") is None
        assert [p.name for p in ledger.projects()] == ["clinic", "other"]


def check_projects_do_not_mix(make: MakesLedger) -> None:
    """Checks that entries of one project are not found in another."""
    with opened(make) as ledger:
        project, other = new_project(ledger), new_project(ledger, "other")
        append(ledger, project, event(1, "a"), event(2, "b"), amount=5)
        append(ledger, other, event(1, "c"), amount=1)
        assert [e.key for e in ledger.events(other, 0, 9)] == ["c"]
        assert [case.id for case in ledger.latest_cases(other, 9, 9)] == [1]
        assert ledger.counter_values(other, "visits") == {(3, 0): 1}
        assert ledger.counter_values(project, "visits") == {(3, 0): 10}
        assert ledger.snapshot(other)[:3] == (1, 1, 1)
        assert ledger.snapshot(project)[:3] == (2, 2, 1)


def check_tokens_are_kept_until_revoked(make: MakesLedger) -> None:
    """A token is kept with the moment it was revoked at, which is once."""
    with opened(make) as ledger:
        ledger.add_token(TOKEN)
        assert ledger.tokens() == [TOKEN]
        with changes_nothing(ledger), refused("a token whose number is taken"):
            ledger.add_token(TOKEN._replace(digest=b"other"))
        assert not ledger.revoke_token("none", 8)
        assert ledger.revoke_token("id", 9)
        assert not ledger.revoke_token("id", 10)
        assert ledger.tokens() == [TOKEN._replace(revoked=9)]


def check_a_proof_changes_nothing(make: MakesLedger) -> None:
    """Proving that it can be written, and migrating once more, leave all that is read as it was."""
    with opened(make) as ledger:
        append(ledger, new_project(ledger), event(1))
        with changes_nothing(ledger):
            ledger.probe()
            ledger.probe()
            ledger.migrate()


def check_all_is_there_when_opened_again(make: MakesLedger) -> None:
    """Checks that commits are the same after the ledger was closed and opened again."""
    name = new_name()
    with opened(make, name) as ledger:
        project = new_project(ledger)
        append(ledger, project, event(1), event(2), amount=3)
        ledger.add_token(TOKEN)
        ledger.take_lease("planner")
        before = contents(ledger)
        ledger.close()  # and once more at the end of the block
    with opened(make, name) as ledger:
        assert contents(ledger) == before
        append(ledger, project, event(3))


LEDGER_CHECKS: tuple[Callable[[MakesLedger], None], ...] = (
    check_a_new_ledger_is_empty,
    check_what_is_written_is_read,
    check_any_number_of_rows_is_written,
    check_counters_add_up,
    check_what_is_named_twice_is_written_in_turn,
    check_a_failed_transaction_leaves_nothing,
    check_a_key_is_taken_for_ever,
    check_what_does_not_fit_is_refused,
    check_names_are_taken_once,
    check_projects_do_not_mix,
    check_tokens_are_kept_until_revoked,
    check_a_proof_changes_nothing,
    check_all_is_there_when_opened_again,
    check_versions_follow_each_other,
    check_only_the_newest_lease_publishes,
    check_a_lease_is_held_by_one,
    check_a_failure_is_kept_until_the_next_policy,
    check_readers_see_one_moment,
    check_a_project_is_held_until_the_commit,
    check_threads_that_write_at_once_lose_nothing,
    check_processes_that_write_at_once_lose_nothing,
    check_processes_migrate_at_once,
    check_one_of_many_publishers_succeeds,
    check_one_of_many_takes_the_lease,
    check_a_killed_process_leaves_only_what_it_committed,
)
