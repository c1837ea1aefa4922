"""What strangers without a token can make the server hold: little, and not for long."""

import contextlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from edge.checks import PROBE, post
from edge.server import GET, MOST_BODY, PROJECT
from edge.wire import connect

MIB = 1 << 20
MOST = 64 * MIB
"""Bytes that the server may grow by; each of the attacks sends, or asks for, several times that."""

STRANGER = post().partition(b"Authorization")[0]
"""The begin of a request that would open a case, without a token."""
IN_CHUNKS = STRANGER + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def grows(edge):
    """How much more memory the server has than when it had nothing to do."""
    edge.settle()
    before = edge.memory()
    return lambda: edge.memory() - before


@contextlib.contextmanager
def others_are_answered(edge, within=10.0):
    """Somebody else asks all the while, and is answered before the server has worked that long.

    Seconds of work, not of the clock: they are as many on a machine that is busy.
    """
    ends, waits, done = [], [], threading.Event()

    def ask():
        while not done.is_set():
            began = edge.worked()
            with contextlib.suppress(OSError):
                ends.append(edge.talk(PROBE).end)
            waits.append(edge.worked() - began)
            time.sleep(0.05)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()
    assert waits
    assert max(waits) < within
    assert "silent" not in ends


def test_a_million_chunks_of_a_byte_stop_nobody(edge, grows):
    """9112 7.1: they are joined, or refused, in time that is not the square of their number."""
    head = edge.filled(post(b"Transfer-Encoding: chunked\r\n").removesuffix(PROBE))
    spaces = b"1\r\n \r\n" * 10_000

    def parts():
        yield head
        for _ in range(100):
            yield spaces
        yield b"2\r\n{}\r\n0\r\n\r\n" + PROBE

    with others_are_answered(edge):
        talk = edge.pour(parts())
    assert talk.statuses in ((201, 200), (413,), (400,))
    assert grows() < MOST


def test_answers_that_nobody_reads_are_not_piled_up(edge, grows):
    """9112 9.3.2: requests may be sent without waiting, but need not be read."""
    asked = GET("/openapi.json") * 100
    began, sent = time.monotonic(), 0
    with contextlib.ExitStack() as stack, others_are_answered(edge):
        clients = [stack.enter_context(connect(edge.port, receives=4096)) for _ in range(4)]
        for client in clients:
            client.settimeout(0.2)
        while (time.monotonic() - began < 4.0 or sent <= 100_000) and grows() < 4 * MOST:
            for client in clients:
                with contextlib.suppress(OSError):
                    sent += client.send(asked)
        most = grows()
    assert sent > 100_000
    assert most < MOST


@pytest.mark.parametrize("half_closes", [False, True], ids=["answered", "half closed"])
def test_bodies_of_closed_connections_are_not_kept(edge, grows, half_closes):
    """1,200 connections, each with a body of 1 MiB and no token, each closed."""
    is_clear = threading.Event()
    request = STRANGER + b"Content-Length: %d\r\n\r\n" % MOST_BODY + b" " * MOST_BODY

    def send(k):
        if not k % 50 and grows() > 4 * MOST:
            is_clear.set()
        if is_clear.is_set():
            return
        with contextlib.suppress(OSError), connect(edge.port) as connection:
            connection.sendall(request)
            if half_closes:
                connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)

    with others_are_answered(edge), ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(1200)))
    assert not is_clear.is_set()
    assert grows() < MOST


ENDLESS = {
    "trailers": (IN_CHUNKS + b"1\r\n \r\n0\r\n", b"X-Trailer: " + b"x" * 1000 + b"\r\n"),
    "one trailer": (IN_CHUNKS + b"1\r\n \r\n0\r\nX-Trailer: ", b"x" * 1000),
    "fields": (STRANGER, b"X-Field: " + b"x" * 1000 + b"\r\n"),
    "one field": (STRANGER + b"X-Field: ", b"x" * 1000),
    "one target": (b"GET /", b"x" * 1000),
    "one method": (b"G", b"G" * 1000),
    "one version": (b"GET /healthz HTTP/", b"1" * 1000),
    "one extension": (IN_CHUNKS + b"1;", b"x" * 1000),
    "one size": (IN_CHUNKS, b"0" * 1000),
    "chunks": (IN_CHUNKS, b"3e8\r\n" + b" " * 1000 + b"\r\n"),
}


@pytest.mark.parametrize("shown", ENDLESS)
def test_what_has_no_end_is_refused_early(edge, grows, shown):
    """9110 5.4 and 9112 3, 7.1.1: up to 300 MB of each; refused long before, in little memory."""
    begun, more = ENDLESS[shown]

    def parts():
        yield begun
        for _ in range(3000):
            yield more * 100

    with others_are_answered(edge):
        talk = edge.pour(parts())
    assert talk.end != "silent"
    assert talk.sent < 100 * MIB
    assert talk.statuses in ((400,), (401,), (413,), (414,), (431,), (501,), (505,))
    assert grows() < MOST


def test_bodies_that_stand_still_are_bounded(edge, grows):
    """500 connections that have sent nearly all of 1 MiB, and no token, and wait."""
    begun = STRANGER + b"Content-Length: %d\r\n\r\n" % MOST_BODY + b" " * (MOST_BODY - 1)
    with contextlib.ExitStack() as stack:
        for _ in range(500):
            connection = stack.enter_context(connect(edge.port))
            with contextlib.suppress(OSError):
                connection.sendall(begun)
        assert edge.talk(PROBE).statuses in ((200,), (503,))
        assert grows() < 2 * MOST


def test_streams_that_nobody_reads_are_not_piled_up(edge, grows):
    """The export of many events, asked for by many who do not read it."""
    token = b"Authorization: Bearer $TOKEN\r\n"
    path = f"/v1/projects/{PROJECT}"
    for k in range(5):
        items = b",".join(b'{"key":"m-%d-%d","open":{}}' % (k, n) for n in range(1000))
        batch = b"[%s]" % items
        fields = token + b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(batch)
        head = f"POST {path}/batch HTTP/1.1\r\nHost: localhost\r\n".encode()
        assert edge.talk(head + fields + b"\r\n" + batch + PROBE).statuses == (200, 200)
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(connect(edge.port, receives=4096))
            connection.sendall(edge.filled(GET(f"{path}/events", token)))
        time.sleep(2.0)
        assert edge.talk(PROBE).statuses == (200,)
        assert grows() < 2 * MOST
    assert edge.talk(PROBE).statuses == (200,)
