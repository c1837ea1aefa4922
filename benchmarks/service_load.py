"""The other side of `benchmarks/service.py`: cases sent over many connections, from a process of
its own. Light, so that it measures the server: bytes are put together by hand, and of an answer
only what the next request needs is read.

    python benchmarks/service_load.py PORT TOKEN PROJECT [--connections 64] [--seconds 10]

Every connection works through one case after the other and waits for each answer. The first
second is not counted. Prints one line of JSON.
"""

import argparse
import asyncio
import random
import re
import secrets
import time
from typing import Any

import msgspec
import numpy as np
import uvloop

WARM_UP = 1.0
_SIZE = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_BODY = b"\r\n\r\n"


class Answer(msgspec.Struct):
    """What is read of an answer."""

    case: int
    wanted: list[str]


class Item(msgspec.Struct):
    """The answer to a part of a batch."""

    status: int
    answer: Answer | None = None


class Load:
    """What all connections share."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.head = (
            f"Host: 127.0.0.1:{given.port}\r\nAuthorization: Bearer {given.token}\r\n"
            "Content-Type: application/json\r\n"
        ).encode()
        self.base = f"POST /v1/projects/{given.project}".encode()
        self.values: dict[str, list[str]] = msgspec.json.decode(given.values)
        self.bodies = {
            name: [msgspec.json.encode({"values": {name: value}}) for value in values]
            for name, values in self.values.items()
        }
        self.turns = 0
        self.batch: int = given.batch
        self.prefix = secrets.token_hex(6).encode()
        self.keys = 0
        self.begins = time.perf_counter() + WARM_UP
        self.ends = self.begins + given.seconds
        self.most: int = given.requests
        self.times: list[float] = []
        self.answered = 0
        self.all = 0
        """Answers, those of the first second too."""
        self.last = 0.0
        self.failures: list[str] = []
        self.open = given.connections
        self.done = asyncio.Event()

    def next_of(self, case: Answer) -> bytes:
        """The next request of a case, as part of an item."""
        if case.wanted:
            return b'"case":%d,"observations":%s' % (case.case, self.seen(case.wanted))
        return b'"case":%d,"reward":{"reward":0.5}' % case.case

    def seen(self, wanted: list[str]) -> bytes:
        """Some value for each of these, as the body of a request."""
        known = self.bodies.get(wanted[0]) if len(wanted) == 1 else None
        if known is None:
            values = {name: random.choice(self.values[name]) for name in wanted}
            return msgspec.json.encode({"values": values})
        self.turns += 1
        return known[self.turns % len(known)]

    def key(self) -> bytes:
        """One that was never used."""
        self.keys += 1
        return b"%s-%d" % (self.prefix, self.keys)


class Connection(asyncio.Protocol):
    """One case after the other."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.received = b""
        self.case = 0
        self.wanted: list[str] = []
        self.has_acted = False

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """What comes next."""
        load, case = self.load, self.case
        if not case:
            path, body = b"/cases", b"{}"
        elif self.wanted:
            path, body = b"/cases/%d/observations" % case, load.seen(self.wanted)
        else:
            path, body = b"/cases/%d/reward" % case, b'{"reward":%.3f}' % random.random()
            self.has_acted = True
        self.write(path, b"Idempotency-Key: %s\r\n" % load.key(), body)

    def write(self, path: bytes, keyed: bytes, body: bytes) -> None:
        """Send it, and note when."""
        load = self.load
        self.sent = time.perf_counter()
        self.transport.write(
            b"%s%s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s"
            % (load.base, path, load.head, keyed, len(body), body)
        )

    def data_received(self, data: bytes) -> None:
        """Part of an answer."""
        self.received += data
        end = self.received.find(_BODY)
        if end < 0:
            return
        found = _SIZE.search(self.received, 0, end)
        size = int(found[1]) if found else 0
        if len(self.received) < end + 4 + size:
            return
        status, body = int(self.received[9:12]), self.received[end + 4 : end + 4 + size]
        self.received = b""
        now, load = time.perf_counter(), self.load
        count = self.take(status, body)
        load.all += count
        if now >= load.begins and count:
            load.times.append(now - self.sent)
            load.answered += count
            load.last = now
        if now >= load.ends or load.answered >= load.most or load.failures:
            self.transport.close()
            return
        self.send()

    def take(self, status: int, body: bytes) -> int:
        """Go on from an answer; how many requests it answers."""
        if status >= 300:
            self.load.failures.append(f"{status}: {body[:200].decode()}")
            return 0
        if self.has_acted:
            self.case, self.wanted, self.has_acted = 0, [], False
            return 1
        answer = msgspec.json.decode(body, type=Answer)
        self.case, self.wanted = answer.case, answer.wanted
        return 1

    def connection_lost(self, error: Exception | None) -> None:
        """The end."""
        load = self.load
        if error is not None:
            load.failures.append(repr(error))
        load.open -= 1
        if not load.open:
            load.done.set()


class Batches(Connection):
    """Many cases at a time, all of them a step further with every request."""

    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self.cases: list[Answer] = []

    def send(self) -> None:
        """A step of all cases."""
        load = self.load
        items = [b"%s,%s}" % (self.begun(), load.next_of(case)) for case in self.cases]
        opened = load.batch - len(self.cases)
        items += [b'%s,"open":{}}' % self.begun() for _ in range(opened)]
        self.write(b"/batch", b"", b"[%s]" % b",".join(items))

    def begun(self) -> bytes:
        """How an item begins."""
        return b'{"key":"%s"' % self.load.key()

    def take(self, status: int, body: bytes) -> int:
        """Go on from an answer; how many requests it answers."""
        if status >= 300:
            self.load.failures.append(f"{status}: {body[:200].decode()}")
            return 0
        items = msgspec.json.decode(body, type=list[Item])
        self.load.failures += [f"{item.status}" for item in items if item.answer is None]
        rewarded = {c.case for c in self.cases if not c.wanted}
        answers = [item.answer for item in items if item.answer is not None]
        self.cases = [answer for answer in answers if answer.case not in rewarded]
        return len(items)


async def run(given: argparse.Namespace) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    load = Load(given)
    kind = Batches if given.batch else Connection
    for _ in range(given.connections):
        await loop.create_connection(lambda: kind(load), "127.0.0.1", given.port)
    await load.done.wait()
    if load.failures or not load.times:
        raise SystemExit(f"failed: {load.failures[:3]}")
    p50, p99 = np.percentile(load.times, [50, 99])
    seconds = load.last - load.begins
    return {
        "answered": load.answered,
        "all": load.all,
        "seconds": seconds,
        "rate": load.answered / seconds,
        "p50": float(p50),
        "p99": float(p99),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("project")
    parser.add_argument("--values", required=True, help="of the observations, as JSON")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--batch", type=int, default=0, help="requests at a time; 0: singly")
    parser.add_argument("--requests", type=int, default=1_000_000, help="at most")
    parser.add_argument("--seconds", type=float, default=10.0, help="at most")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(run(parser.parse_args()))).decode())


if __name__ == "__main__":
    main()
