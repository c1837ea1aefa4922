"""Clients that are slow, silent, or gone."""

import contextlib
import random
import socket
import struct
import threading
import time

import msgspec
import pytest

from askwise.service.api.messages import BatchItem, Opening
from askwise.service.client import Client
from edge.checks import BODY, CHUNK, PROBE, chunked, post, sized
from edge.server import CASES, GET, PROJECT, SHORT
from edge.wire import connect, exchange, read_answers
from waiting import PATIENCE, until

TOKEN = b"Authorization: Bearer $TOKEN\r\n"
LIVE = f"/v1/projects/{PROJECT}/live"
OPENING = sized(b"14").removesuffix(PROBE)
SLOW = {
    "that says nothing": (b"", b""),
    "that begins a line and stops": (b"GET /heal", b""),
    "that begins a head and stops": (b"GET /healthz HTTP/1.1\r\nHost: loc", b""),
    "that sends a head byte by byte": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"x"),
    "that sends fields one by one": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: x\r\n"),
    "that sends empty lines": (b"", b"\r\n"),
    "that begins a body and stops": (
        post(b"Content-Length: 14\r\n", b"{").removesuffix(PROBE),
        b"",
    ),
    "that sends a body byte by byte": (
        post(b"Content-Length: 5000\r\n", b"{").removesuffix(PROBE),
        b" ",
    ),
    "that sends chunks one by one": (chunked(b"1\r\n{\r\n").removesuffix(PROBE), b"1\r\n \r\n"),
    "that sends an extension byte by byte": (chunked(b"1;").removesuffix(PROBE), b"x"),
    "that sends trailers one by one": (
        chunked(CHUNK + b"0\r\n").removesuffix(PROBE),
        b"X: x\r\n",
    ),
    "that was told to continue and does not": (
        post(b"Expect: 100-continue\r\nContent-Length: 14\r\n").removesuffix(PROBE),
        b"",
    ),
    "that was answered and says no more": (GET("/healthz"), b""),
    "that was answered and begins again": (GET("/healthz") + b"GET /heal", b""),
}


@pytest.fixture(scope="module")
def slow(hasty):
    """All the slow clients at once: how each connection ended, if it did."""
    ended = {}
    before = hasty.newest()

    def be_slow(shown, begun, more):
        with connect(hasty.port) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(hasty.filled(begun))
            received, end = b"", time.monotonic() + PATIENCE
            connection.settimeout(0.1)
            while time.monotonic() < end:
                with contextlib.suppress(TimeoutError):
                    try:
                        part = connection.recv(65536)
                        if not part:
                            ended[shown] = received
                            return
                        received += part
                        continue
                    except ConnectionError:
                        ended[shown] = received
                        return
                with contextlib.suppress(OSError):
                    connection.sendall(more)

    threads = [threading.Thread(target=be_slow, args=(s, *sent)) for s, sent in SLOW.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hasty.newest() == before, "a request that never came whole was committed"
    return ended


@pytest.mark.parametrize("shown", SLOW)
def test_a_client_is_left_alone(slow, shown):
    """9112 9.5, 9110 15.5.9: a server need not wait for ever; it answers 408 or only closes."""
    assert shown in slow, "the connection was still open"
    statuses = [answer.status for answer in read_answers(slow[shown])]
    if "was answered" in shown:
        assert statuses in ([200], [200, 408])
    elif "to continue" in shown:
        assert statuses in ([100], [100, 408])
    else:
        assert statuses in ([], [408], [400])


def test_a_client_that_pauses_within_its_time_is_answered(hasty):
    """9112 9.5: what is cut off is what takes too long, not what comes in several pieces."""

    def pausing():
        """What it is answered, and how many seconds all of it took."""
        request, began = hasty.filled(OPENING + PROBE), time.monotonic()
        with connect(hasty.port) as connection:
            for at in range(0, len(request), 100):
                with contextlib.suppress(OSError):
                    connection.sendall(request[at : at + 100])
                time.sleep(0.05)
            return exchange(connection, []).statuses, time.monotonic() - began

    statuses, took = pausing()
    while statuses != (201, 200) and took > SHORT["read_within"]:
        statuses, took = pausing()  # the machine was busy, and it did not keep to its time
    assert statuses == (201, 200)


UNREAD = {
    "an answer many times": GET("/openapi.json") * 2000,
    "a stream many times": GET(f"/v1/projects/{PROJECT}/events", TOKEN) * 2000,
}


@pytest.mark.parametrize("shown", UNREAD)
def test_a_client_that_never_reads_is_left_alone(hasty, shown):
    """9112 9.5: a connection that makes no progress may be ended."""
    with connect(hasty.port, receives=4096) as connection:
        connection.settimeout(1.0)
        with contextlib.suppress(OSError):
            connection.sendall(hasty.filled(UNREAD[shown]))
        until(lambda: not hasty.holds(connection))


def test_clients_that_never_read_are_no_errors_of_the_server(hasty):
    """They are expected, and there may be any number of them: a few lines, and how many more."""
    begins = hasty.log.stat().st_size
    with Client(f"http://127.0.0.1:{hasty.port}", hasty.token, timeout=PATIENCE) as client:
        for part in range(3):
            items = [BatchItem(key=f"unread-{part}-{k}", open=Opening()) for k in range(1000)]
            client.batch(PROJECT, items)
    # a megabyte each; they wait for each other, and none is refused
    asked = hasty.filled(GET(f"/v1/projects/{PROJECT}/events", TOKEN)) * 15
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(connect(hasty.port, receives=4096)) for _ in range(12)]
        for connection in many:
            connection.settimeout(0.2)
            with contextlib.suppress(OSError):
                connection.sendall(asked)
        until(lambda: not any(hasty.holds(connection) for connection in many))
    assert hasty.talk(PROBE).statuses == (200,)
    lines = [msgspec.json.decode(line) for line in hasty.log.read_bytes()[begins:].splitlines()]
    assert [line for line in lines if line["level"] == "error"] == []
    dropped = [line for line in lines if "did not take its answer" in line["what"]]
    assert 1 <= len(dropped) <= 3


def test_a_client_that_reads_slowly_gets_its_answer(hasty):
    """9112 9.5: progress counts, however slow."""
    whole = hasty.ask(GET("/openapi.json")).body

    def slowly():
        """What it is answered, and the longest of its pauses."""
        pause, received = 0.0, b""
        with connect(hasty.port, receives=4096) as connection:
            connection.sendall(GET("/openapi.json", b"Connection: close\r\n"))
            while part := connection.recv(max(1, len(whole) // 40)):
                received, began = received + part, time.monotonic()
                time.sleep(0.1)
                pause = max(pause, time.monotonic() - began)
        return read_answers(received), pause

    answers, pause = slowly()
    while not answers[0].is_complete and pause > SHORT["write_within"] / 2:
        answers, pause = slowly()  # the machine was busy, and it paused for too long
    (answer,) = answers
    assert answer.is_complete
    assert answer.body == whole


# --- clients that go -----------------------------------------------------------------------------


def reset(connection):
    """Go without a word: the other side is told that there is no connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["closes", "resets"])
@pytest.mark.parametrize("pause", [0.0, 0.002], ids=["at once", "a little later"])
def test_what_a_client_asked_before_it_went_happens_once(edge, leave, pause):
    """9110 9.2.2: whoever got no answer asks again with the same key, and it happened once."""
    before = edge.newest()
    requests = [edge.filled(OPENING) for _ in range(30)]
    for request in requests:
        connection = connect(edge.port)
        connection.sendall(request)
        time.sleep(pause)
        leave(connection)
    again = [edge.ask(request) for request in requests]
    assert {answer.status for answer in again} <= {200, 201}
    cases = [msgspec.json.decode(answer.body)["case"] for answer in again]
    assert sorted(cases) == [*range(before + 1, before + 31)]
    assert edge.newest() == before + 30


def test_what_was_acknowledged_stays_though_the_client_goes(edge):
    """9110 15.3.2: a 201 that was read is true."""
    for _ in range(20):
        connection = connect(edge.port)
        connection.sendall(edge.filled(OPENING))
        received = b""
        while not received.endswith(b"}"):
            received += connection.recv(65536)
        reset(connection)
        (answer,) = read_answers(received)
        assert answer.status == 201
        case = msgspec.json.decode(answer.body)["case"]
        assert edge.ask(GET(f"{CASES}/{case}", TOKEN)).status == 200


GOING = {
    "in a line": b"GET /heal",
    "in a head": b"GET /healthz HTTP/1.1\r\nHost: loc",
    "in a body": post(b"Content-Length: 5000\r\n", BODY).removesuffix(PROBE),
    "in a chunk": chunked(b"fff\r\n" + BODY).removesuffix(PROBE),
    "between chunks": chunked(CHUNK).removesuffix(PROBE),
    "in a trailer": chunked(CHUNK + b"0\r\nX: ").removesuffix(PROBE),
    "in a stream": GET(LIVE, TOKEN),
    "in a pipeline": GET("/openapi.json") * 50,
}


@pytest.mark.parametrize("shown", GOING)
def test_nothing_is_left_of_clients_that_go(edge, shown):
    """9112 8 and 9.5: an incomplete request is dropped, and so is its connection."""
    before = edge.newest()
    ports = []
    for k in range(20):
        connection = connect(edge.port)
        connection.sendall(edge.filled(GOING[shown]))
        ports.append(connection.getsockname()[1])
        time.sleep(0.002)
        reset(connection) if k % 2 else connection.close()
    until(lambda: not edge.held().intersection(ports))
    assert edge.newest() == before
    assert edge.talk(PROBE).statuses == (200,)


def test_connections_without_a_word_leave_nothing(edge):
    """9112 9.5: a connection may end before any request."""
    ports = []
    for _ in range(300):
        with connect(edge.port) as connection:
            ports.append(connection.getsockname()[1])
    until(lambda: not edge.held().intersection(ports))
    assert edge.talk(PROBE).statuses == (200,)


def test_noise_is_refused(edge):
    """9112 2.2: what is no request is answered 400, or nothing; never as if it were one."""
    noise = random.Random(7)
    before = edge.newest()
    for k in range(100):
        if k % 2:
            sent = noise.randbytes(noise.randrange(1, 3000))
        else:  # a request with a few bytes replaced
            sent = bytearray(edge.filled(OPENING).removeprefix(b"POST"))
            for _ in range(3):
                sent[noise.randrange(len(sent))] = noise.randrange(256)
        talk = edge.talk(bytes(sent), half_closes=True)
        assert set(talk.statuses) <= {400, 414, 431, 501, 505}, bytes(sent)
        assert talk.end != "silent"
    assert edge.newest() == before
    assert edge.talk(PROBE).statuses == (200,)
