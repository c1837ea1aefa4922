"""An operator at work while servers are killed: new prices, new versions of the problem, backups,
and old policies thinned.

What it asks over HTTP it sends until it is answered, always with the same key. A backup that was
made must be equal to its own events, however many servers died meanwhile.
"""

import asyncio
import random
import sys
from collections import Counter
from pathlib import Path

import msgspec

import askwise as aw
from askwise.service.ledger import open_ledger, postgres, sqlite
from askwise.service.ledger.schema import STEPS
from chaos.patients import PAUSE, PROBLEM
from chaos.record import Order, Record, encode
from chaos.wire import NoAnswerError, Reply, Wire

CALM = 1.0
"""Seconds between two things that it does, on average."""

WIDER = msgspec.structs.replace(
    PROBLEM,
    observations=(
        *PROBLEM.observations[:-1],
        aw.Observation("biopsy", values=["neg", "pos", "unclear"], cost=20.0),
    ),
    actions=("wait", "watch", "treat", "operate"),
)
"""The problem with a value and an action more."""


class Operator:
    """Does in turns what operators do, until told to stop."""

    def __init__(self, seed: int, project: str, db: str, folder: Path, wire: Wire) -> None:
        self.rng = random.Random(seed)
        self.done: Counter[str] = Counter()
        self._project = project
        self._db = db
        self._file = folder / "backup.db"
        self._wire = wire
        self._orders = 0

    async def live(self, record: Record, stop: asyncio.Event) -> None:
        """Work until told to stop; what was begun is brought to its end."""
        self._record = record
        ways = [self._reprice, self._clone, self._back_up, self._compact]
        turn = 0
        while not stop.is_set():
            await ways[turn % len(ways)]()
            turn += 1
            await asyncio.sleep(self.rng.expovariate(1 / CALM))
        self._wire.close()

    async def _reprice(self) -> None:
        """An event of the project, which patients meet in what their cases cost."""
        self._orders += 1
        prices = {"mri": self.rng.choice([7.0, 8.0, 9.0, 10.0])}
        order = Order(f"operator-{self._orders}", "prices", 0, {"prices": prices})
        self._record.send(order)
        reply = await self._until_answered(
            f"projects/{self._project}/prices", order.key, order.body
        )
        self._record.answer(order, reply)
        self.done["prices changed"] += 1

    async def _clone(self) -> None:
        """A new version of the problem takes over what was learned; then it is removed again."""
        self._orders += 1
        name = f"version-{self._orders}"
        path = f"projects/{self._project}/clone"
        body = {"name": name, "problem": WIDER}
        made = await self._until_answered(path, f"clone-{self._orders}", body)
        gone = await self._until_answered(
            f"projects/{name}/delete", f"delete-{self._orders}", {"name": name}
        )
        if (made.status, gone.status) != (201, 200):
            self._record.contradict(f"{name} was made and removed with {made}, {gone}")
        self.done["new versions of the problem"] += 1

    async def _back_up(self) -> None:
        """A moment of the ledger as a file, equal to its own events."""
        code, said = await command("ledger", "backup", str(self._file), "--db", self._db)
        if code == 0:
            code, said = await command("ledger", "verify", "--db", str(self._file))
            if code:
                self._record.contradict(f"a backup is not equal to its events: {said}")
            self.done["backups verified"] += 1
        else:  # PostgreSQL's connections are dropped, too
            self.done["backups that failed"] += 1
        for left in self._file.parent.glob(f"{self._file.name}*"):
            left.unlink()

    async def _compact(self) -> None:
        """Old policies are thinned, and space is given back."""
        code, said = await command("ledger", "compact", "--db", self._db)
        self.done["compacted" if code == 0 else "compacting that failed"] += 1
        if code and "Traceback" in said:
            self._record.contradict(f"compacting ended with {said}")

    async def _until_answered(self, path: str, key: str, body: object) -> Reply:
        while True:
            try:
                reply = await self._wire.post(f"/v1/{path}", encode(body), key)
            except NoAnswerError:
                reply = Reply(503, b"")
            if reply.status not in (401, 503):  # a new server knows its tokens after a moment
                return reply
            await asyncio.sleep(PAUSE)


async def command(*words: str) -> tuple[int, str]:
    """What `askwise` with these words exits with, and says."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "askwise", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()[-2000:]


def leave_old_schema(db: str) -> None:
    """A ledger in the first version of the schema: servers begin by bringing it up to date."""
    modules = (sqlite, postgres)
    kept = [(module.STEPS, module.NEWEST) for module in modules]
    try:
        for module in modules:
            module.STEPS, module.NEWEST = STEPS[:1], 1
        open_ledger(db).close()
    finally:
        for module, (steps, newest) in zip(modules, kept, strict=True):
            module.STEPS, module.NEWEST = steps, newest
