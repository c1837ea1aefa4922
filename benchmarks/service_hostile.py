"""Clients that mean harm, for `benchmarks/service.py`: what they do costs them little.

    python benchmarks/service_hostile.py PORT TOKEN PROJECT [--clients 64] [--seconds 120]

Each client has one way to be a nuisance, and goes on with it until the time is over: what it does
is bounded in bytes and in time, and a pause follows. All have the lowest priority, because an
attacker brings processors of his own, and here they would be those of the server. Only streams
need a token. Prints one line of JSON: how often each was done, and how many bytes were taken.
"""

import argparse
import asyncio
import contextlib
import os
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

import msgspec
import uvloop

MIB = 1 << 20
HOLDS = 10.0
"""Seconds that one act takes at most."""
PAUSE = 1.0
"""Seconds after it, on average."""


class Hostile:
    """One client: what all of them can do, and what they count."""

    def __init__(self, given: argparse.Namespace, number: int, counts: Counter[str]) -> None:
        self.port: int = given.port
        self.ends = time.monotonic() + given.seconds
        self.random = random.Random(number)
        self.counts = counts
        self.loop = asyncio.get_running_loop()
        host = f"Host: 127.0.0.1:{given.port}\r\n"
        self.opening = f"POST /v1/projects/{given.project}/cases HTTP/1.1\r\n{host}".encode()
        self.opening += b"Idempotency-Key: hostile\r\nContent-Type: application/json\r\n"
        self.page = f"GET /openapi.json HTTP/1.1\r\n{host}\r\n".encode()
        self.events = (
            f"GET /v1/projects/{given.project}/events HTTP/1.1\r\n{host}"
            f"Authorization: Bearer {given.token}\r\n\r\n"
        ).encode()

    async def go_on(self, name: str, act: Callable[["Hostile"], Awaitable[None]]) -> None:
        """Do it again and again."""
        await asyncio.sleep(self.random.uniform(0, PAUSE))
        while time.monotonic() < self.ends:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(min(HOLDS, max(0.1, self.ends - time.monotonic()))):
                    await act(self)
            self.counts[name] += 1
            await asyncio.sleep(self.random.uniform(0.5, 1.5) * PAUSE)

    @contextlib.asynccontextmanager
    async def connected(
        self, *, resets: bool = False, receives: int = 0
    ) -> AsyncIterator[socket.socket]:
        """A connection, which is closed or reset in the end."""
        connection = socket.socket()
        connection.setblocking(False)
        if receives:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        if resets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            await self.loop.sock_connect(connection, ("127.0.0.1", self.port))
            yield connection
        finally:
            connection.close()

    async def send(self, connection: socket.socket, parts: Iterable[bytes]) -> None:
        """Send it all, as fast as it is taken."""
        for part in parts:
            await self.loop.sock_sendall(connection, part)
            self.counts["bytes"] += len(part)

    async def drip(self, connection: socket.socket, part: bytes) -> None:
        """Send a little, again and again, until the time is over."""
        while True:
            await self.send(connection, [part])
            await asyncio.sleep(0.2)


# --- what they do --------------------------------------------------------------------------------


async def chunks_of_a_byte(client: Hostile) -> None:
    """A body of a million chunks."""
    head = client.opening + b"Transfer-Encoding: chunked\r\n\r\n"
    async with client.connected() as connection:
        await client.send(connection, [head, *[b"1\r\n \r\n" * 10_000] * 100, b"0\r\n\r\n"])
        await client.loop.sock_recv(connection, 65536)


async def unread_pipelines(client: Hostile) -> None:
    """Requests whose answers are left lying."""
    async with client.connected(receives=4096) as connection:
        await client.send(connection, [client.page * 100] * 1000)
        await asyncio.sleep(HOLDS)


async def large_bodies(client: Hostile) -> None:
    """A body as large as it may be, and gone."""
    head = client.opening + b"Content-Length: %d\r\n\r\n" % MIB
    for k in range(5):
        async with client.connected(resets=bool(k % 2)) as connection:
            await client.send(connection, [head, b" " * MIB])


async def trailers(client: Hostile) -> None:
    """Hundreds of megabytes behind a body of one byte."""
    head = client.opening + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n"
    line = b"X-Trailer: " + b"x" * 1000 + b"\r\n"
    async with client.connected() as connection:
        await client.send(connection, _repeated(head, line * 64, 5000))


async def slow_heads(client: Hostile) -> None:
    """A head, a byte at a time."""
    async with client.connected() as connection:
        await client.send(connection, [client.opening + b"X: "])
        await client.drip(connection, b"x")


async def slow_bodies(client: Hostile) -> None:
    """A body, a byte at a time."""
    async with client.connected() as connection:
        await client.send(connection, [client.opening + b"Content-Length: 100000\r\n\r\n"])
        await client.drip(connection, b" ")


async def half_open(client: Hostile) -> None:
    """Half of a request, then silence."""
    async with client.connected() as connection:
        await client.send(connection, [client.opening[: client.random.randrange(1, 60)]])
        await asyncio.sleep(HOLDS)


async def unread_streams(client: Hostile) -> None:
    """The export of everything, which is left lying."""
    async with client.connected(receives=4096) as connection:
        await client.send(connection, [client.events])
        await asyncio.sleep(HOLDS)


async def noise(client: Hostile) -> None:
    """Bytes that mean nothing, or nearly a request."""
    for k in range(20):
        sent = bytearray(client.opening + b"Content-Length: 2\r\n\r\n{}")
        for _ in range(3):
            sent[client.random.randrange(len(sent))] = client.random.randrange(256)
        async with client.connected(resets=bool(k % 2)) as connection:
            await client.send(connection, [bytes(sent), client.random.randbytes(500)])


async def heads_without_end(client: Hostile) -> None:
    """Field after field."""
    line = b"X-Field: " + b"x" * 1000 + b"\r\n"
    async with client.connected() as connection:
        await client.send(connection, _repeated(client.opening, line * 64, 5000))


KINDS = (
    chunks_of_a_byte,
    unread_pipelines,
    large_bodies,
    trailers,
    slow_heads,
    slow_bodies,
    half_open,
    unread_streams,
    noise,
    heads_without_end,
)


NAMED = {act.__name__: act for act in KINDS}


def _repeated(head: bytes, part: bytes, times: int) -> Iterator[bytes]:
    yield head
    for _ in range(times):
        yield part


async def run(given: argparse.Namespace) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with asyncio.TaskGroup() as group:
        for number in range(given.clients):
            act = given.kinds[number % len(given.kinds)]
            name = act.__name__.replace("_", " ")
            group.create_task(Hostile(given, number, counts).go_on(name, act))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("project")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--kind", choices=[*NAMED], help="all clients of one kind")
    given = parser.parse_args()
    given.kinds = [NAMED[given.kind]] if given.kind else KINDS
    os.nice(19)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(run(given))).decode())


if __name__ == "__main__":
    main()
