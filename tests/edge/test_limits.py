"""How much the server takes: of a line, of fields, of a body, of connections."""

import contextlib
import time

import pytest

from edge.checks import BODY, CHUNK, PROBE, Check, assert_permitted, chunked, get, post, table
from edge.server import FEW, GET, MOST_BODY, MOST_HEAD, PROJECT, until
from edge.wire import connect, exchange, read_answers

HOST = b"Host: localhost\r\n"
SERVED = (200, 200)
TOO_LONG, TOO_LARGE, TOO_MUCH = (414,), (413,), (431,)


def asks_for(size: int) -> bytes:
    """A request whose first line has this many bytes, without its end."""
    begun, ended = b"GET /healthz?", b" HTTP/1.1"
    return get(HOST, line=begun + b"x" * (size - len(begun) - len(ended)) + ended)


def padded(size: int) -> bytes:
    """A body of JSON with this many bytes."""
    return BODY + b" " * (size - len(BODY))


def in_chunks(content: bytes, size: int) -> bytes:
    parts = [content[k : k + size] for k in range(0, len(content), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


LIMITS = [
    Check("a line of 8,000 bytes is read", "9112 3", asks_for(8000), (SERVED,)),
    Check("a target of 64 KiB is too long", "9112 3", asks_for(1 << 16), (TOO_LONG,)),
    Check("a target of 4 MiB is too long", "9112 3", asks_for(1 << 22), (TOO_LONG,)),
    Check(
        "fields of 12 KiB in all are read",
        "9110 5.4",
        get(HOST + b"".join(b"X-%d: %s\r\n" % (k, b"x" * 1000) for k in range(12))),
        (SERVED,),
    ),
    Check(
        "a field of 12 KiB is read",
        "9110 5.4",
        get(HOST + b"X: " + b"x" * 12_288 + b"\r\n"),
        (SERVED,),
    ),
    Check("60 fields are read", "9110 5.4", get(HOST + b"X: x\r\n" * 60), (SERVED,)),
    Check("20,000 fields are too many", "9110 5.4", get(HOST + b"X: x\r\n" * 20_000), (TOO_MUCH,)),
    Check(
        "fields of 17 KiB in all are too large, in one piece too",
        "9110 5.4",
        get(HOST + b"".join(b"X-%d: %s\r\n" % (k, b"x" * 1024) for k in range(17))),
        (TOO_MUCH,),
    ),
    Check(
        "a field of 17 KiB is too large, in one piece too",
        "9110 5.4",
        get(HOST + b"X: " + b"x" * (MOST_HEAD + 1024) + b"\r\n"),
        (TOO_MUCH,),
    ),
    Check(
        "a field of 60 KiB is too large, in one piece too",
        "9110 5.4",
        get(HOST + b"X: " + b"x" * 61_440 + b"\r\n"),
        (TOO_MUCH,),
    ),
    Check(
        "a name of 60 KiB is too large",
        "9110 5.4",
        get(HOST + b"x" * 61_440 + b": X\r\n"),
        (TOO_MUCH,),
    ),
    Check(
        "a token of 60 KiB is too large",
        "9110 5.4",
        get(HOST + b"Authorization: Bearer " + b"x" * 61_440 + b"\r\n"),
        (TOO_MUCH,),
    ),
    Check(
        "a body of 1 MiB is read",
        "9110 15.5.14",
        post(b"Content-Length: %d\r\n" % MOST_BODY, padded(MOST_BODY)),
        ((201, 200),),
    ),
    Check(
        "a body of 1 MiB and a byte is too large",
        "9110 15.5.14",
        post(b"Content-Length: %d\r\n" % (MOST_BODY + 1), padded(MOST_BODY + 1)),
        (TOO_LARGE,),
    ),
    Check(
        "a body of 1 MiB in chunks is read",
        "9110 15.5.14",
        chunked(in_chunks(padded(MOST_BODY), 4096)),
        ((201, 200),),
    ),
    Check(
        "a body in 2,000 chunks is read",
        "9112 7.1",
        chunked(in_chunks(padded(100_000), 50)),
        ((201, 200),),
    ),
    Check(
        "a body of 1 MiB and a byte in chunks is too large",
        "9110 15.5.14",
        chunked(in_chunks(padded(MOST_BODY + 1), 4096)),
        (TOO_LARGE,),
    ),
    Check(
        "a body of 20 MiB in chunks is too large",
        "9110 15.5.14",
        chunked(in_chunks(padded(20 * MOST_BODY), 1 << 16)),
        (TOO_LARGE,),
    ),
    Check(
        "a body of 20 MiB in one chunk is too large",
        "9110 15.5.14",
        chunked(in_chunks(padded(20 * MOST_BODY), 20 * MOST_BODY)),
        (TOO_LARGE,),
    ),
    Check(
        "a length that is too large is refused before the body comes",
        "9110 15.5.14",
        post(b"Content-Length: %d\r\n" % (MOST_BODY + 1)).removesuffix(PROBE),
        (TOO_LARGE,),
    ),
    Check(
        "without a token, a body that is too large is refused too",
        "9110 15.5.14",
        post(b"Content-Length: %d\r\n" % (2 * MOST_BODY), padded(2 * MOST_BODY)).replace(
            b"Authorization: Bearer $TOKEN\r\n", b""
        ),
        (TOO_LARGE, (401,)),
    ),
    Check(
        "small fields after a large body are not too large",
        "9110 5.4",
        post(b"Content-Length: %d\r\n" % MOST_BODY, padded(MOST_BODY) + GET("/healthz") * 3),
        ((201, 200, 200, 200, 200),),
    ),
    Check(
        "trailers of 1 MiB are too large",
        "9110 5.4, 6.5",
        chunked(b"e\r\n" + BODY + b"\r\n0\r\n" + b"X: x\r\n" * 170_000 + b"\r\n"),
        (TOO_MUCH, TOO_LARGE, (400,)),
    ),
    Check(
        "a trailer of 1 MiB is too large",
        "9110 5.4, 6.5",
        chunked(b"e\r\n" + BODY + b"\r\n0\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n"),
        (TOO_MUCH, TOO_LARGE, (400,)),
    ),
    Check(
        "an extension of 4 MiB is too large",
        "9112 7.1.1",
        chunked(b"e;" + b"x" * (1 << 22) + b"\r\n" + BODY + b"\r\n0\r\n\r\n"),
        (TOO_MUCH, TOO_LARGE, (400,)),
    ),
    Check(
        "extensions of 4 MiB in all are too large",
        "9112 7.1.1",
        chunked(
            b"".join(b"1;%s\r\n%c\r\n" % (b"x" * 4096, byte) for byte in padded(1024))
            + b"0\r\n\r\n"
        ),
        (TOO_MUCH, TOO_LARGE, (400,)),
    ),
    Check(
        "empty lines of 1 MiB before a request are skipped or refused",
        "9112 2.2",
        b"\r\n" * (1 << 19) + get(HOST),
        (SERVED, (400,), TOO_MUCH),
    ),
]


@table(LIMITS)
def test_limits(edge, check):
    assert_permitted(edge, check)


@pytest.mark.parametrize("size", [1, 100, 4000])
def test_a_large_head_in_small_pieces_is_too_large(edge, size):
    """9110 5.4: what is counted is what came, not what came at once."""
    sent = get(HOST + b"X: " + b"x" * 40_000 + b"\r\n")
    pieces = (sent[at : at + size] for at in range(0, len(sent), size))
    assert edge.pour(pieces).statuses == TOO_MUCH


def test_a_refusal_reaches_a_client_that_goes_on_sending(edge):
    """9110 15.5.14: the body need not be read; 9112 9.6: the answer is not lost to a reset."""
    head = edge.filled(post(b"Content-Length: 200000000\r\n").removesuffix(PROBE))

    def parts():
        yield head
        for _ in range(3000):
            yield b"x" * 65_536

    talk = edge.pour(parts())
    assert talk.statuses == TOO_LARGE
    assert talk.sent < 100_000_000


def in_two_writes(edge, connection, content):
    """The status of a request whose head is sent before its body, on this connection."""
    head = post(b"Content-Length: %d\r\n" % len(content)).removesuffix(PROBE)
    connection.sendall(edge.filled(head))
    time.sleep(0.05)  # so that they arrive as two segments
    connection.sendall(content)
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(65_536)
        assert part, answer
        answer += part
    return read_answers(answer)[-1].status


def test_large_bodies_on_one_connection_do_not_add_up(edge):
    """9112 9.3: requests on a connection have nothing to do with each other."""
    with connect(edge.port) as connection:
        sizes = (500_000, 500_000, 500_000, 20)
        found = [in_two_writes(edge, connection, padded(size)) for size in sizes]
    assert found == [201] * 4


def test_framing_without_end_is_refused_after_a_large_body_too(edge):
    """9112 7.1.1: what a chunk has beside its content counts, whatever came before."""
    line = b"4;%s\r\n    \r\n" % (b"x" * 400)
    with connect(edge.port) as connection:
        assert in_two_writes(edge, connection, padded(500_000)) == 201
        head = edge.filled(chunked(CHUNK).removesuffix(CHUNK + PROBE))
        talk = exchange(connection, [head, CHUNK, *[line] * 900, b"0\r\n\r\n", PROBE])
    assert talk.statuses == TOO_LARGE
    assert b"beside the body" in talk.data


def test_more_connections_than_are_taken_end_or_wait(hasty):
    """9110 15.6.4: 503, or nothing; those that are there go on, and there is room again later."""
    live = hasty.filled(GET(f"/v1/projects/{PROJECT}/live", b"Authorization: Bearer $TOKEN\r\n"))
    until(lambda: not hasty.held())
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(FEW):
            held.append(stack.enter_context(connect(hasty.port)))
            held[-1].sendall(live)
            assert held[-1].recv(12) == b"HTTP/1.1 200"
        more = [stack.enter_context(connect(hasty.port)) for _ in range(20)]
        answers = [exchange(connection, [PROBE], patience=0.3) for connection in more]
        assert {answer.statuses for answer in answers} <= {(), (503,)}
        assert all(hasty.holds(connection) for connection in held)

    def is_answered():
        with contextlib.suppress(OSError):
            return hasty.talk(PROBE).statuses == (200,)
        return False

    until(is_answered)
