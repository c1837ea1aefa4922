"""Checks for every ledger with concurrent processes, and with processes that are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from askwise.service.ledger.contract import Ledger
from askwise.testing.ledger_entries import (
    PATIENCE,
    MakesLedger,
    append,
    append_next,
    append_to,
    contents,
    event,
    in_processes,
    new_name,
    new_project,
    opened,
)
from askwise.testing.ledger_policies import publish

WRITERS = 4
EACH = 15
"""Events of each writer."""


def _all_were_written(ledger: Ledger, project: int) -> None:
    events = ledger.events(project, 0, 1000)
    assert [e.seq for e in events] == list(range(1, WRITERS * EACH + 1)), "numbers have gaps"
    assert {e.key for e in events} == {f"{k} {n}" for k in range(WRITERS) for n in range(EACH)}
    assert ledger.counter_values(project, "visits") == {(3, 0): sum(range(1, WRITERS + 1)) * EACH}
    assert ledger.snapshot(project)[:2] == (WRITERS * EACH, WRITERS * EACH)


def check_threads_that_write_at_once_lose_nothing(make: MakesLedger) -> None:
    """Events of threads that share a ledger are all written, numbered without gaps, and counted."""
    with opened(make) as ledger:
        project = new_project(ledger)

        def write(number: int) -> None:
            for n in range(EACH):
                append_next(ledger, project, f"{number} {n}", amount=number + 1)

        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(write, range(WRITERS)))  # raises what a thread raised
        _all_were_written(ledger, project)


def check_processes_that_write_at_once_lose_nothing(make: MakesLedger) -> None:
    """Events of several processes are all written, numbered without gaps, and counted."""
    name = new_name()
    with opened(make, name) as ledger:
        project = new_project(ledger)

    def write(number: int) -> None:
        with opened(make, name) as ledger:
            for n in range(EACH):
                append_next(ledger, project, f"{number} {n}", amount=number + 1)

    assert in_processes(WRITERS, write) == [0] * WRITERS
    with opened(make, name) as ledger:
        _all_were_written(ledger, project)


def check_processes_migrate_at_once(make: MakesLedger) -> None:
    """Sixteen processes that begin with an empty database all find it ready."""
    name = new_name()
    make(name).close()

    def begin(_: int) -> None:
        with opened(make, name) as ledger:
            assert ledger.projects() == []

    assert in_processes(16, begin) == [0] * 16
    with opened(make, name) as ledger:
        new_project(ledger)


def check_readers_see_one_moment(make: MakesLedger) -> None:
    """A snapshot holds just the counters of its events, while another thread commits more."""
    with opened(make) as ledger:
        project, events = new_project(ledger), 60
        done = threading.Event()

        def write() -> None:
            try:
                for seq in range(1, events + 1):
                    append(ledger, project, event(seq))
            finally:
                done.set()

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            while not done.is_set():
                found = ledger.snapshot(project)
                counted = sum(increment.amount for increment in found.counters)
                assert counted == found.seq == found.opened, f"{counted} counted in {found[:3]}"
            writing.result()
        assert ledger.snapshot(project).seq == events


def check_a_project_is_held_until_the_commit(make: MakesLedger) -> None:
    """Checks that a second lock of a project waits. Readers do not wait, and see the old state."""
    name = new_name()
    with opened(make, name) as ledger, opened(make, name) as second:
        project = new_project(ledger)
        before = contents(second)
        entered = threading.Event()

        def follow() -> int:
            entered.set()
            with second.transaction() as transaction:
                return transaction.lock([project])[project].seq

        with ThreadPoolExecutor(1) as pool:
            with ledger.transaction() as transaction:
                append_to(transaction, project, event(1))
                following = pool.submit(follow)
                entered.wait(PATIENCE)
                time.sleep(0.1)
                assert not following.done(), "a project was locked twice"
                assert contents(second) == before, "what is not committed was read"
            assert following.result(PATIENCE) == 1, "what was committed meanwhile was not read"


def check_one_of_many_publishers_succeeds(make: MakesLedger) -> None:
    """Checks that only one of several processes can publish the same version under one lease."""
    name = new_name()
    with opened(make, name) as ledger:
        project = new_project(ledger)
        fence = ledger.take_lease("planner").fence

    def try_to_publish(_: int) -> None:
        with opened(make, name) as ledger:
            if publish(ledger, project, 2, fence):
                append_next(ledger, project, f"published by {os.getpid()}")

    assert in_processes(WRITERS, try_to_publish) == [0] * WRITERS
    with opened(make, name) as ledger:
        assert [plan.version for plan in ledger.policies(project)] == [1, 2]
        assert len(ledger.events(project, 0, 9)) == 1, "several have published version 2"


def check_one_of_many_takes_the_lease(make: MakesLedger) -> None:
    """If several processes request the lease at once, one gets it, and the others learn which."""
    name = new_name()
    with opened(make, name) as ledger:
        project = new_project(ledger)

    def ask(number: int) -> None:
        with opened(make, name) as ledger:
            holder = ledger.take_lease(f"planner {number}").holder
            append_next(ledger, project, f"{number} was told: {holder}")

    assert in_processes(WRITERS, ask) == [0] * WRITERS
    with opened(make, name) as ledger:
        holder = ledger.lease().holder
        told = {e.key for e in ledger.events(project, 0, 9)}
        assert told == {f"{number} was told: {holder}" for number in range(WRITERS)}


def check_a_killed_process_leaves_only_what_it_committed(make: MakesLedger) -> None:
    """Checks that exactly the commits of a killed process remain, and that others continue.

    It is killed with nothing closed, once between two transactions and once within one.
    """
    name = new_name()
    with opened(make, name) as ledger:
        project = new_project(ledger)

    def between(_: int) -> None:
        ledger = make(name)
        append(ledger, project, event(1))
        os.kill(os.getpid(), signal.SIGKILL)

    def within(_: int) -> None:
        ledger = make(name)
        append(ledger, project, event(2))
        with ledger.transaction() as transaction:
            append_to(transaction, project, event(3), amount=100)
            os.kill(os.getpid(), signal.SIGKILL)

    for seq, work in ((1, between), (2, within)):
        assert in_processes(1, work) == [-signal.SIGKILL]
        with opened(make, name) as ledger:
            assert [e.seq for e in ledger.events(project, 0, 9)] == list(range(1, seq + 1))
            assert [case.id for case in ledger.latest_cases(project, 9, 9)][::-1] == [1, 2][:seq]
            assert ledger.counter_values(project, "visits") == {(3, 0): seq}
            assert ledger.snapshot(project)[:2] == (seq, seq)
    with opened(make, name) as ledger:
        append(ledger, project, event(3))
