"""An operator at work while servers are killed: new prices, new versions of the problem, backups,
and old policies thinned.

What it asks over HTTP it sends until it is answered, always with the same key. A backup that was
made must be equal to its own events, however many servers died meanwhile.
"""

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

import askwise as aw
from askwise.service.ledger import open_ledger
from askwise.service.replanning.thinning import RECENT, THIN, followed_versions
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

MORE = 1.1
"""How many times the events must be before another backup is verified."""

NEW_VALUES = {o.name: list(o.values) for o in WIDER.observations}

ABANDONED_AFTER = 180 / 86_400
"""Days after which a case is taken for abandoned: patients go on with theirs within seconds."""

CASES_IN_A_VERSION = 3
"""Cases that are opened and rewarded in each new version of the problem."""


class Operator:
    """Does in turns what operators do, until told to stop."""

    def __init__(self, seed: int, project: str, db: str, folder: Path, wire: Wire) -> None:
        self.rng = random.Random(seed)
        self.done: Counter[str] = Counter()
        self._project = project
        self._db = db
        self._file = folder / "backup.db"
        self._wire = wire
        self._orders = self._verified = 0

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
        if made.status == 201:
            await self._use(name)
        else:
            self._record.contradict(f"{name} was made with {made}")

    async def _use(self, name: str) -> None:
        """Cases of the new version from their opening to their reward, audited; then it goes."""
        asked: dict[str, tuple[str, object, Reply]] = {}

        async def post(path: str, body: object) -> dict:
            key = f"{name}-{len(asked)}"
            reply = await self._until_answered(f"projects/{name}/{path}", key, body)
            asked[key] = path, body, reply
            if reply.status not in (200, 201):
                self._record.contradict(f"{name}: {path} {body} was answered {reply}")
                return {"case": 0, "wanted": []}
            return msgspec.json.decode(reply.body)

        for _ in range(CASES_IN_A_VERSION):
            case = await post("cases", {"known": {"age": self.rng.choice(["young", "old"])}})
            while case["wanted"]:
                values = {n: self.rng.choice(NEW_VALUES[n]) for n in case["wanted"]}
                case = await post(f"cases/{case['case']}/observations", {"values": values})
            await post(f"cases/{case['case']}/reward", {"reward": 0.5})
        for key, (path, body, before) in asked.items():
            again = await self._until_answered(f"projects/{name}/{path}", key, body)
            if again != before:
                self._record.contradict(f"{key} was answered {before}, then {again}")
        summary = msgspec.json.decode((await self._read(f"projects/{name}/summary")).body)
        found = summary["cases"], summary["statuses"]["rewarded"], summary["reward"]
        if found != (CASES_IN_A_VERSION, CASES_IN_A_VERSION, 0.5 * CASES_IN_A_VERSION):
            self._record.contradict(f"{name}: the summary has {found}")
        gone = await self._until_answered(f"projects/{name}/delete", f"{name}-gone", {"name": name})
        expected = {"name": name, "events": len(asked)}
        if gone.status != 200 or msgspec.json.decode(gone.body) != expected:
            self._record.contradict(f"{name} was removed with {gone}, expected {expected}")
        self.done["new versions of the problem"] += 1
        self.done["requests in new versions"] += len(asked)

    async def _back_up(self) -> None:
        """A moment of the ledger as a file, equal to its own events.

        All events are replayed for that, so it is looked at each time there are a tenth more.
        """
        known = len(self._record.acknowledged)
        code, _ = await command("ledger", "backup", str(self._file), "--db", self._db)
        if code == 0 and known < MORE * self._verified:
            self.done["backups"] += 1
        elif code == 0:
            self._verified = known
            code, said = await command("ledger", "verify", "--db", str(self._file))
            if code:
                self._record.contradict(f"a backup is not equal to its events: {said}")
            self.done["backups verified"] += 1
        else:  # PostgreSQL's connections are dropped, too
            self.done["backups that failed"] += 1
        for left in self._file.parent.glob(f"{self._file.name}*"):
            left.unlink()

    async def _compact(self) -> None:
        """Old policies are thinned, and space is given back.

        Cases that patients gave up would keep nearly every policy, so they are cancelled.
        """
        code, said = await command(
            "ledger", "compact", "--cancel-after", f"{ABANDONED_AFTER:.6f}", "--db", self._db
        )
        self.done["compacted" if code == 0 else "compacting that failed"] += 1
        if code and "Traceback" in said:
            self._record.contradict(f"compacting ended with {said}")

    async def _until_answered(self, path: str, key: str, body: object) -> Reply:
        return await self._until(lambda: self._wire.post(f"/v1/{path}", encode(body), key))

    async def _read(self, path: str) -> Reply:
        return await self._until(lambda: self._wire.get(f"/v1/{path}"))

    async def _until(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        while True:
            try:
                reply = await ask()
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


async def thinned_versions(db: str, name: str) -> tuple[int, int]:
    """Compacts once more; how many versions are thinned, and how many are not but could be."""
    code, said = await command("ledger", "compact", "--db", db)
    if code:
        raise RuntimeError(said)
    ledger = open_ledger(db)
    try:
        project = ledger.project(name)
        followed = followed_versions(ledger, project)
        old = [
            policy.blob.startswith(THIN)
            for policy in ledger.policies(project.id)
            if 1 < policy.version <= project.version - RECENT and policy.version not in followed
        ]
        return sum(old), len(old) - sum(old)
    finally:
        ledger.close()
