"""How many durable answers a second `askwise serve` gives, beside what the disk allows.

    python benchmarks/service.py                prints the table and the goals
    python benchmarks/service.py --check        exits with 1 if a goal is missed
    python benchmarks/service.py --quick        a small version
    python benchmarks/service.py --hostile 30   hostile clients for 30 seconds, not for 120
    python benchmarks/service.py --only-hostile nothing but those
    python benchmarks/service.py --servers      uvicorn and Granian under the same load, by turns

The server is `askwise serve`, with its replanner and its tokens; 64 connections on loopback come
from a process of their own (`service_load.py`). The yardstick is how often a second the same ledger
commits one row, one commit after the other: what a service could do at best that commits every
request by itself. 64 clients that mean harm (`service_hostile.py`) stand beside a normal load
(`service_beside.py`), whose answers must come nearly as before, and stay.

The load average stands beside every figure; on a machine that does other work, it is that work
which is measured. What an answer costs the processors, of all workers together, says then what a
free machine could do.
"""

import argparse
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import askwise as aw
from askwise.service.api.messages import CaseAnswer, Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.commit_groups import Job, Operation
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.contract import Ledger
from askwise.service.replanning.policy_versions import PolicyCache
from service_beside import GROWS, beside_hostile
from service_server import PROJECT, postgres, serving
from service_turns import by_turns

PROBLEM = aw.environments.breast_cancer(cost=5.0).problem
VALUES = {o.name: list(o.values) for o in PROBLEM.observations}
TOGETHER = 2000
"""Requests in a commit, when events are made to restart with."""

ONE, TWO, BATCHED, REPLANNING, RESTART, SINGLY, TOGETHER_TOO, SLOWER, GROWN, LOST = (
    "durable answers/s, one worker",
    "durable answers/s, two workers",
    "decisions/s in batches",
    "p99 while replanning / idle",
    "seconds to restart",
    "answers / single commits, one worker",
    "decisions in batches / single commits",
    "p99 beside hostile clients / without",
    "MB grown beside hostile clients",
    "wrong or lost beside hostile clients",
)
PLANS_WITHOUT_PAUSE = """
import sys
from askwise.service.replanning import replanner
from askwise.service.ledger import open_ledger
replanner.LATEST, replanner.CHECKED_EVERY = 0, 0.01
planner = replanner.Replanner(open_ledger(sys.argv[1]))
planner._holder = "benchmark"
planner.run()
"""
HOLDER = "benchmark"
TURNS = 5


class Sizes(NamedTuple):
    """How much is done."""

    seconds: float
    commits: int
    events: int
    hostile: float
    """Seconds."""


FULL, QUICK = Sizes(10.0, 500, 1_000_000, 120.0), Sizes(2.0, 50, 20_000, 10.0)


class Goal(NamedTuple):
    """What was measured, and what it should be."""

    what: str
    measured: float
    is_met: bool
    goal: str


# --- what is measured ----------------------------------------------------------------------------


def commits(db: str, count: int) -> float:
    """How often a second one row is committed, one commit after the other."""
    ledger = open_ledger(db)
    began = time.perf_counter()
    for _ in range(count):
        ledger.probe()
    rate = count / (time.perf_counter() - began)
    ledger.close()
    return rate


def throughput(
    name: str, db: str, workers: int, sizes: Sizes, token: str, single_commits: float
) -> str:
    with serving(db, workers, token) as server:
        if not server.client.projects():
            server.client.create_project(PROJECT, PROBLEM)
        single = server.load(VALUES, sizes.seconds)
        batched = server.load(VALUES, sizes.seconds, batch=1000, connections=4 * workers)
    said(f"{name}, {workers} worker{'s' if workers > 1 else ''}", single)
    said("  in batches of 1,000", batched)
    rate, p99 = single["rate"], single["p99"]
    if workers == 1:
        goal = Goal(f"{name}: {ONE}", rate, rate >= 4000 and p99 < 0.05, "≥ 4,000 at p99 < 50 ms")
    else:
        goal = Goal(f"{name}: {TWO}", rate, rate >= 6000, "≥ 6,000")
    decisions = batched["rate"]
    GOALS.append(goal)
    if workers == 1:
        singly, together = rate / single_commits, decisions / single_commits
        is_met = singly >= 1.7 and p99 < 0.05
        GOALS.append(Goal(f"{name}: {SINGLY}", singly, is_met, "≥ 1.7 at p99 < 50 ms"))
        GOALS.append(Goal(f"{name}: {TOGETHER_TOO}", together, together >= 10, "≥ 10"))
    GOALS.append(
        Goal(f"{name}: {BATCHED}, {workers} w.", decisions, decisions >= 50_000, "≥ 50,000")
    )
    return server.token


def replanning(name: str, db: str, token: str, sizes: Sizes) -> None:
    """The slowest hundredth while nobody plans, and while plans follow each other, by turns.

    The server's own replanner never gets the lease: it is ours all the time.
    """
    ledger = open_ledger(db)
    idle, busy, plans = [], [], 0
    with _lease_held(ledger), serving(db, 1, token) as server:
        for _ in range(TURNS):
            idle.append(server.load(VALUES, sizes.seconds / TURNS))
            command = [sys.executable, "-c", PLANS_WITHOUT_PAUSE, db]
            planner = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            try:
                assert planner.stderr is not None
                first = planner.stderr.readline()
                assert '"planned"' in first, first
                before = server.client.project(PROJECT).policy_version
                busy.append(server.load(VALUES, sizes.seconds / TURNS))
                plans += server.client.project(PROJECT).policy_version - before
            finally:
                planner.kill()
                planner.wait()
    ledger.close()
    said(f"{name}, nobody plans", _middle(idle))
    said(f"  {plans:,} plans meanwhile", _middle(busy))
    ratio = _middle(busy)["p99"] / _middle(idle)["p99"]
    GOALS.append(Goal(f"{name}: {REPLANNING}", ratio, ratio <= 1.5 and plans > 0, "≤ 1.5"))


def hostile(name: str, db: str, token: str, seconds: float) -> None:
    """A normal load, without and with 64 clients that mean harm, and what the ledger has of it."""
    if not seconds:
        return
    with tempfile.TemporaryDirectory(prefix="askwise") as folder:
        found = beside_hostile(db, token, VALUES, seconds, Path(folder))
    for what, turn in ((f"{name}, a normal load", found.calm), ("  64 hostile", found.hostile)):
        rate, p50, p99 = turn["rate"], turn["p50"] * 1000, turn["p99"] * 1000
        print(f"{what:<26} {rate:>8,.0f}/s   p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   {loaded()}")
    acts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.acts.items()))
    print(f"  they did: {acts}")
    print(f"  {found.acknowledged:,} answers audited; wrong: {found.wrong[:3] or 'nothing'}")
    grown = found.grown / 1e6
    GOALS.append(Goal(f"{name}: {SLOWER}", found.ratio, found.ratio <= 2, "≤ 2"))
    GOALS.append(Goal(f"{name}: {GROWN}", grown, found.grown <= GROWS, "≤ 200"))
    GOALS.append(Goal(f"{name}: {LOST}", len(found.wrong), not found.wrong, "0"))
    sys.stdout.flush()


@contextlib.contextmanager
def _lease_held(ledger: Ledger) -> Iterator[None]:
    """Hold the lease, renewed all the time."""
    while ledger.take_lease(HOLDER).holder != HOLDER:
        time.sleep(0.5)  # a server that was just stopped may have it for some seconds yet
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(2.0):
            ledger.take_lease(HOLDER)

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        yield
    finally:
        stop.set()
        renewing.join()
        ledger.release_lease(HOLDER)


def _middle(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The turn whose p99 is the median of all."""
    return sorted(turns, key=lambda turn: turn["p99"])[len(turns) // 2]


def restarting(name: str, db: str, token: str, sizes: Sizes) -> None:
    """From the start of the process to the first case that is opened, with many events."""
    ledger = open_ledger(db)
    writer = Writer(ledger, PolicyCache(ledger))
    began = time.perf_counter()
    made = make_events(writer, sizes.events)
    took = time.perf_counter() - began
    ledger.close()
    with serving(db, 1, token) as server:
        server.client.open(PROJECT)
        seconds, worked = time.perf_counter() - server.began, server.worked()
    print(
        f"{name}: {made:,} events made in {took:,.0f} s; restart {seconds:.2f} s, "
        f"{worked:.2f} s of a processor  {loaded()}"
    )
    GOALS.append(Goal(f"{name}: {RESTART}", seconds, seconds <= 2, "≤ 2"))


def make_events(writer: Writer, count: int) -> int:
    """Cases through the writer, many in a commit."""
    made, cases = 0, [CaseAnswer(0, (), None, 0.0, 0)] * TOGETHER
    while made < count:
        jobs: list[Job] = [
            Operation(PROJECT, secrets.token_hex(8), case.case, _next(case)) for case in cases
        ]
        results = writer.commit(jobs)
        made += len(jobs)
        for place, (job, result) in enumerate(zip(jobs, results, strict=True)):
            if isinstance(result, Refusal):
                raise result
            is_over = isinstance(job, Operation) and isinstance(job.body, Rewarding)
            answer = msgspec.json.decode(result.body, type=CaseAnswer)
            cases[place] = CaseAnswer(0, (), None, 0.0, 0) if is_over else answer
    return made


def _next(case: CaseAnswer) -> Opening | Observing | Rewarding:
    if not case.case:
        return Opening()
    if case.wanted:
        return Observing({name: VALUES[name][case.case % 2] for name in case.wanted})
    return Rewarding(0.5)


# --- the report ----------------------------------------------------------------------------------

GOALS: list[Goal] = []


def said(what: str, found: dict[str, Any]) -> None:
    rate, p50, p99 = found["rate"], found["p50"] * 1000, found["p99"] * 1000
    cost = found["cost"] * 1e6
    print(
        f"{what:<26} {rate:>8,.0f}/s   p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   "
        f"{cost:4.0f} µs of a processor each  {loaded()}"
    )
    sys.stdout.flush()


def loaded() -> str:
    return f"(load {os.getloadavg()[0]:.1f})"


def measure(name: str, db: str, sizes: Sizes) -> None:
    rate = commits(db, sizes.commits)
    print(f"{name}: {rate:,.0f} single commits/s  {loaded()}", flush=True)
    token = throughput(name, db, 1, sizes, "", rate)
    throughput(name, db, 2, sizes, token, rate)
    hostile(name, db, token, sizes.hostile)
    replanning(name, db, token, sizes)
    restarting(name, db, token, sizes)


def only_hostile(name: str, db: str, sizes: Sizes) -> None:
    with serving(db, 1) as server:
        server.client.create_project(PROJECT, PROBLEM)
    hostile(name, db, server.token, sizes.hostile)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--db", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--hostile", type=float, metavar="SECONDS", help="0: none of that")
    parser.add_argument("--only-hostile", action="store_true", help="nothing but that")
    parser.add_argument("--servers", action="store_true", help="compare servers, and no more")
    given = parser.parse_args()
    sizes = QUICK if given.quick else FULL
    if given.servers:
        by_turns(PROBLEM, VALUES, sizes.seconds, TURNS)
        return 0
    if given.hostile is not None:
        sizes = sizes._replace(hostile=given.hostile)
    measures = only_hostile if given.only_hostile else measure
    with tempfile.TemporaryDirectory(prefix="askwise") as folder:
        if given.db in ("sqlite", "both"):
            measures("SQLite", str(Path(folder) / "ledger.db"), sizes)
        if given.db in ("postgresql", "both"):
            with postgres(Path(folder) / "postgres") as address:
                measures("PostgreSQL", address, sizes)
    for goal in GOALS:
        verdict = "met" if goal.is_met else "missed"
        print(f"{goal.what:<48} {goal.measured:>10,.2f}   goal {goal.goal}: {verdict}")
    return int(given.check and not all(goal.is_met for goal in GOALS))


if __name__ == "__main__":
    sys.exit(main())
