"""Expect: 100-continue, which asks whether to send the body at all."""

import pytest

from edge.checks import BODY, PROBE, post
from edge.server import GET, MOST_BODY, PROJECT
from edge.wire import connect, exchange

TOKEN = b"Authorization: Bearer $TOKEN\r\n"
EVENTS, LIVE = f"/v1/projects/{PROJECT}/events", f"/v1/projects/{PROJECT}/live"


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def waiting(length: int = len(BODY), expects: bytes = b"100-continue", **options: bytes) -> bytes:
    """The head of a request whose body waits to be asked for."""
    fields = b"Expect: %s\r\nContent-Length: %d\r\n" % (expects, length)
    return post(fields, **options).removesuffix(PROBE)


def received(connection, *, after=b"\r\n\r\n"):
    """What comes until this came."""
    data = b""
    while not data.endswith(after):
        part = connection.recv(4096)
        assert part, data
        data += part
    return data


@pytest.mark.parametrize("expects", [b"100-continue", b"100-Continue"])
def test_the_body_is_asked_for(edge, expects):
    """9110 10.1.1: 100, or a final answer at once; the value is in any case."""
    with connect(edge.port) as connection:
        connection.sendall(edge.filled(waiting(expects=expects)))
        assert received(connection).startswith(b"HTTP/1.1 100 ")
        assert exchange(connection, [BODY + PROBE]).statuses == (201, 200)


def test_a_body_that_came_by_itself_is_taken(edge):
    """9110 10.1.1: 100 may be left out then; the answer is the same."""
    talk = edge.talk(waiting() + BODY + PROBE)
    assert talk.statuses == (201, 200)
    interim = [answer.status for answer in talk.answers if answer.status < 200]
    assert interim in ([], [100])


def test_chunks_are_asked_for(edge):
    """9110 10.1.1: so it is for a body without a length."""
    head = post(b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n").removesuffix(PROBE)
    with connect(edge.port) as connection:
        connection.sendall(edge.filled(head))
        assert received(connection).startswith(b"HTTP/1.1 100 ")
        talk = exchange(connection, [b"e\r\n" + BODY + b"\r\n0\r\n\r\n" + PROBE])
        assert talk.statuses == (201, 200)


def test_http_1_0_is_never_told_to_continue(edge):
    """9110 10.1.1: a server ignores the expectation of HTTP/1.0."""
    talk = edge.talk(waiting(version=b"HTTP/1.0") + BODY)
    assert [answer.status for answer in talk.answers] == [201]


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(edge):
    """9110 10.1.1 and 15.5.14: a final answer instead of 100."""
    talk = edge.talk(waiting(MOST_BODY + 1))
    assert [answer.status for answer in talk.answers] == [413]
    assert talk.end != "silent"


def test_without_a_body_there_is_nothing_to_continue(edge):
    """9110 10.1.1: 100 may be left out; the answer comes once."""
    talk = edge.talk(GET("/healthz", b"Expect: 100-continue\r\n") + PROBE)
    assert talk.statuses == (200, 200)
    assert len(talk.answers) <= 3


def test_another_expectation_is_ignored_or_refused(edge):
    """9110 10.1.1: 417 may be answered."""
    talk = edge.talk(waiting(expects=b"x-miracle") + BODY + PROBE)
    assert talk.statuses in ((201, 200), (417, 200), (417,))


def test_100_comes_after_the_answer_before_it(edge):
    """9112 9.3.2: an interim answer of a pipelined request does not overtake."""
    with connect(edge.port) as connection:
        connection.sendall(edge.filled(GET(EVENTS, TOKEN) + GET("/") + waiting()))
        talk = exchange(connection, [], is_enough=lambda data: data.endswith(CONTINUE))
        assert [answer.status for answer in talk.answers] == [200, 200, 100]
        assert all(answer.is_complete for answer in talk.answers)
        assert exchange(connection, [BODY + PROBE]).statuses == (201, 200)


def test_no_100_stands_inside_a_stream(edge):
    """9112 9.3.2: while an answer without end is sent, nothing else is."""
    with connect(edge.port) as connection:
        connection.sendall(edge.filled(GET(LIVE, TOKEN)))
        received(connection, after=b"\n\n\r\n")  # the head and the first event
        connection.sendall(edge.filled(waiting()))
        talk = exchange(connection, [], patience=1.0)
        assert b"HTTP/1.1" not in talk.data
        assert not talk.data or talk.data.startswith(b"%x\r\n" % len(talk.data.split(b"\r\n")[1]))
