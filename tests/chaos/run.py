"""One run: a server, patients, kills, and what is left in the end."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

import askwise as aw
from askwise.service.ledger import open_ledger
from askwise.service.tokens import new_token
from chaos.audit import audit
from chaos.databases import Database
from chaos.older import compare_older, leave_old_schema
from chaos.operators import Operator, thinned_versions
from chaos.patients import PROBLEM, Patient
from chaos.reaper import Reaper
from chaos.record import Record
from chaos.wire import Wire
from waiting import PATIENCE

PROJECT = "chaos"

WINDOW = 256
"""Cases that the project remembers, about: so blocks of them are forgotten all the while."""


class Goal(NamedTuple):
    """How long a run lasts."""

    kills: int
    events: int
    seconds: float
    """At most; a run that was cut short says so."""
    migrations: int = 3
    """Kills while the schema is brought up to date."""
    patients: int = 16
    held: int = 6
    """Cases that a patient goes on with at a time, and the requests of a batch."""
    calm: float = 0.7
    """Seconds between two kills, on average."""
    plan_within: float = 25.0
    """Seconds to wait for a plan: whoever planned before may have died with the lease."""
    sample: int = 2000
    """Acknowledged requests that are sent once more in the end."""
    thinned: int = 0
    """Versions of the policy that must have been thinned."""


class Outcome(NamedTuple):
    """What a run has shown."""

    record: Record
    reaper: Reaper
    operated: Counter[str]
    """What the operator did meanwhile, and how often."""
    seconds: float
    wrong: list[str]
    """Nothing, if all is well."""

    @property
    def kills(self) -> int:
        """How often something was killed."""
        return self.reaper.kills.total()

    @property
    def events(self) -> int:
        """How many requests were acknowledged, each counted once."""
        return len(self.record.acknowledged)


async def run(database: Database, folder: Path, seed: int, goal: Goal) -> Outcome:
    """Kill until the goal is reached, then look."""
    aw.Learner(PROBLEM).open(known={"age": "old"})  # compiles kernels, if that was not done yet
    began = time.monotonic()
    rng = random.Random(seed)
    reaper, record = Reaper(database, folder, rng, goal.plan_within), Record()
    try:
        before = leave_old_schema(database.address, folder)
        for _ in range(goal.migrations):
            await reaper.migrating()
        await reaper.start()
        token = admin_token(database.address)
        create_project(reaper.port, token)
        stop = asyncio.Event()
        patients = [
            Patient(f"p{k}", rng.getrandbits(32), PROJECT, wires(reaper.port, token), goal.held)
            for k in range(goal.patients)
        ]
        operator = Operator(
            rng.getrandbits(32), PROJECT, database.address, folder, Wire(reaper.port, token)
        )
        async with asyncio.TaskGroup() as living:
            for patient in patients:
                living.create_task(patient.live(record, stop))
            living.create_task(operator.live(record, stop))
            wrong = await _strike(reaper, record, goal, began + goal.seconds)
            stop.set()
        url = f"http://127.0.0.1:{reaper.port}"
        wrong += await audit(
            record, url, token, PROJECT, database.address, goal.sample, random.Random(seed)
        )
        wrong += compare_older(database.address, before)
        thinned, left = await thinned_versions(database.address, PROJECT)
        operator.done["versions thinned"] = thinned
        if left or thinned < goal.thinned:
            wrong.append(f"{thinned} versions were thinned, {left} could have been too")
    finally:
        code = await reaper.end()
    if code:
        wrong.append(f"the server ended with {code}")
    return Outcome(record, reaper, operator.done, time.monotonic() - began, wrong)


async def _strike(reaper: Reaper, record: Record, goal: Goal, deadline: float) -> list[str]:
    most = goal.kills + reaper.kills.total()
    while reaper.kills.total() < most or len(record.acknowledged) < goal.events:
        if time.monotonic() > deadline:
            return [f"the goal was not reached in {goal.seconds:.0f} s"]
        await asyncio.sleep(reaper.rng.expovariate(1 / goal.calm))
        if reaper.kills.total() < most:
            await reaper.strike()
    return []


def admin_token(db: str) -> str:
    """A token of our own: the first one may have been shown to a process that was killed."""
    ledger = open_ledger(db)
    token, kept = new_token("admin")
    ledger.add_token(kept)
    ledger.close()
    return token


def create_project(port: int, token: str) -> None:
    """The project that all patients are of."""
    headers = {"authorization": f"Bearer {token}", "idempotency-key": "the-project"}
    headers["content-type"] = "application/json"
    forgets = {"name": "learner", "options": {"window": WINDOW}}
    body = msgspec.json.encode({"name": PROJECT, "problem": PROBLEM, "learner": forgets})
    end = time.monotonic() + PATIENCE
    while True:  # a new token is known within a second
        answer = httpx.post(
            f"http://127.0.0.1:{port}/v1/projects", content=body, headers=headers, timeout=PATIENCE
        )
        if answer.status_code == 201:
            return
        if time.monotonic() > end:
            raise RuntimeError(answer.text)
        time.sleep(0.5)


def wires(port: int, token: str) -> tuple[Wire, Wire]:
    """A patient has two, to send something twice at the same time."""
    return Wire(port, token), Wire(port, token)
