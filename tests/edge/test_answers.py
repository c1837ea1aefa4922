"""Answers: what stands in them, in which order they come, and when a connection ends."""

import re
import socket
import time
from email.utils import parsedate_to_datetime

import msgspec
import pytest

from edge.checks import BODY, PROBE, Check, assert_permitted, get, post, sized, table
from edge.server import CASES, GET, PROJECT
from edge.wire import connect, exchange

TOKEN = b"Authorization: Bearer $TOKEN\r\n"
LIVE, EVENTS = f"/v1/projects/{PROJECT}/live", f"/v1/projects/{PROJECT}/events"
HOST = b"Host: localhost\r\n"

ASKED = {
    "an answer": GET("/healthz"),
    "an asset": GET("/"),
    "a protected answer": GET("/v1/projects", TOKEN),
    "a stream": GET(EVENTS, TOKEN),
    "a 404": GET("/nothing"),
    "a 401": GET("/v1/projects"),
    "a 405": b"PUT /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a 421": b"GET /healthz HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    "a 201": sized(b"14").removesuffix(PROBE),
}
BROKEN = {
    "a request that cannot be read": b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a body that is too large": post(b"Content-Length: 99999999\r\n"),
    "a head that is too large": get(HOST + b"X: " + b"x" * 100_000 + b"\r\n"),
}


@pytest.mark.parametrize("shown", [*ASKED, *BROKEN])
def test_every_answer_has_a_date(edge, shown):
    """9110 6.6.1: all answers of 2xx, 3xx and 4xx have one, in the preferred form."""
    talk = edge.talk(ASKED[shown] + PROBE if shown in ASKED else BROKEN[shown])
    date = talk.finals[0].one("date")
    assert date is not None
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", date)
    assert abs(parsedate_to_datetime(date).timestamp() - time.time()) < 60


HEADS = {
    "an answer": (GET("/healthz"), 200),
    "the page": (GET("/"), 200),
    "the document": (GET("/openapi.json"), 200),
    "what needs a token": (GET("/v1/projects", TOKEN), 200),
    "a stream": (GET(EVENTS, TOKEN), 200),
    "what changes": (GET(LIVE, TOKEN), 200),
    "what needs a token that is missing": (GET("/v1/projects"), 401),
    "what there is not": (GET("/nothing"), 404),
}


@pytest.mark.parametrize("shown", HEADS)
def test_head_is_get_without_the_body(edge, shown):
    """9110 9.1 and 9.3.2: HEAD is supported, and its answer has no content."""
    request, status = HEADS[shown]
    talk = edge.talk(request.replace(b"GET", b"HEAD", 1) + PROBE, methods=["HEAD"])
    assert talk.statuses == (status, 200)
    head, probe = talk.finals
    assert probe.body == b'{"status":"ok"}'
    length = head.one("content-length")
    if length is not None:
        assert int(length) == len(edge.ask(request).body)


@pytest.mark.parametrize("fields", [b"", b"Connection: keep-alive\r\n"], ids=["plain", "kept"])
def test_a_stream_is_not_chunked_for_http_1_0(edge, fields):
    """9112 6.1: no Transfer-Encoding to HTTP/1.0; 6.3 rule 8: it ends with the connection."""
    edge.ask(sized(b"14").removesuffix(PROBE))
    talk = edge.talk(GET(EVENTS, TOKEN + fields, b"HTTP/1.0"))
    (answer,) = talk.finals
    assert answer.status == 200
    assert answer.one("transfer-encoding") is None
    assert talk.end == "closed"
    lines = answer.body.splitlines()
    assert [msgspec.json.decode(line)["seq"] for line in lines] == [*range(1, len(lines) + 1)]
    assert lines


def test_a_stream_is_chunked_for_http_1_1_and_the_connection_goes_on(edge):
    """9112 6.3 rule 8: without a length or chunks, the connection would have to end."""
    talk = edge.talk(GET(EVENTS, TOKEN) + PROBE)
    stream, _ = talk.finals
    assert talk.statuses in ((200, 200), (200,))
    assert (stream.one("transfer-encoding") == "chunked") == (len(talk.finals) == 2)


OK = (200, 200)
CONNECTIONS = [
    Check("a connection goes on by itself", "9112 9.3", get(HOST), (OK,)),
    Check(
        "keep-alive changes nothing", "9112 9.3", get(HOST + b"Connection: keep-alive\r\n"), (OK,)
    ),
    *(
        Check(f"{shown} ends the connection", "9112 9.6", get(HOST + fields), ((200,),))
        for shown, fields in {
            "close": b"Connection: close\r\n",
            "Close": b"Connection: Close\r\n",
            "close in a list": b"Connection: x-this, close\r\n",
            "close in a second line": b"Connection: x-this\r\nConnection: close\r\n",
            "close beside keep-alive": b"Connection: keep-alive, close\r\n",
        }.items()
    ),
    Check(
        "HTTP/1.0 ends the connection",
        "9112 9.3",
        get(HOST, line=b"GET /healthz HTTP/1.0"),
        ((200,),),
    ),
    Check(
        "close in HTTP/1.0 ends the connection",
        "9112 9.3",
        get(HOST + b"Connection: close\r\n", line=b"GET /healthz HTTP/1.0"),
        ((200,),),
    ),
    Check(
        "keep-alive in HTTP/1.0 may keep the connection",
        "9112 9.3",
        get(HOST + b"Connection: keep-alive\r\n", line=b"GET /healthz HTTP/1.0"),
        (OK, (200,)),
    ),
    Check(
        "close after a body ends the connection",
        "9112 9.6",
        post(b"Connection: close\r\nContent-Length: 14\r\n", BODY),
        ((201,),),
    ),
]


@table(CONNECTIONS)
def test_connections(edge, check):
    assert_permitted(edge, check)


@pytest.mark.parametrize(
    "sent",
    [
        get(HOST + b"Connection: close\r\n"),
        get(HOST, line=b"GET /healthz HTTP/1.0"),
        get(b"Host : localhost\r\n"),
        post(b"Content-Length: 99999999\r\n"),
    ],
    ids=["asked to", "HTTP/1.0", "cannot be read", "too large"],
)
def test_the_last_answer_says_that_the_connection_ends(edge, sent):
    """9112 9.6: a server that will close says so in its last answer."""
    talk = edge.talk(sent)
    (answer,) = talk.finals
    assert answer.says_close
    assert talk.end != "silent"


def test_http_1_0_is_told_that_its_connection_is_kept(edge):
    """9112 9.3 and appendix C.2.2: kept only where the answer says keep-alive."""
    sent = get(HOST + b"Connection: keep-alive\r\n", line=b"GET /healthz HTTP/1.0")
    first, *more = edge.talk(sent).finals
    says = "keep-alive" in ",".join(first.all("connection")).lower()
    assert says == bool(more)


def test_pipelined_requests_are_answered_in_their_order(edge):
    """9112 9.3.2: answers come in the order of the requests, slow and quick ones mixed."""
    assert_in_order(edge, 3)


def test_a_long_pipeline_is_answered_in_order_as_far_as_it_is_taken(edge):
    """9112 9.3.2, 9.6: a server may end a connection early, but in order, and it says so."""
    assert_in_order(edge, 20, may_end=True)


def assert_in_order(edge, rounds, *, may_end=False):
    """Requests of four kinds, so many times, and then the probe: 4 rounds + 1 are sent at once."""
    opening = sized(b"14").removesuffix(PROBE)
    asked = [
        request
        for k in range(rounds)
        for request in (opening, GET("/nothing"), GET(f"{CASES}?limit={k + 1}", TOKEN), GET("/"))
    ]
    before = edge.newest()
    talk = edge.talk(b"".join(asked) + PROBE)
    wanted = (201, 404, 200, 200) * rounds + (200,)
    statuses, answers = talk.statuses, talk.finals
    if may_end and len(statuses) < len(wanted):
        assert answers[-1].says_close
        assert len(statuses) >= 8
        if statuses[-1] == 503:
            statuses, answers = statuses[:-1], answers[:-1]
    else:
        assert len(statuses) == len(wanted)
    assert statuses == wanted[: len(statuses)]
    assert edge.newest() - before == statuses.count(201)
    opened = [msgspec.json.decode(a.body)["case"] for a in answers if a.status == 201]
    assert opened == [*range(before + 1, before + 1 + len(opened))]
    for k, answer in enumerate(answers):
        kind = answer.one("content-type") or ""
        if k % 4 == 2:
            round_ = k // 4
            assert len(msgspec.json.decode(answer.body)["cases"]) == min(round_ + 1, opened[round_])
        elif k % 4 == 3:
            assert kind.startswith("text/html")


@pytest.mark.parametrize(
    ("asked", "statuses"),
    [
        (GET("/healthz"), (200,)),
        (sized(b"14").removesuffix(PROBE), (201,)),
        (GET(EVENTS, TOKEN), (200,)),
        (sized(b"14").removesuffix(PROBE) + GET(EVENTS, TOKEN), (201, 200)),
    ],
    ids=["a quick one", "one that is committed", "a stream", "several"],
)
@pytest.mark.parametrize(
    "bad",
    [b"nonsense\r\n\r\n", post(b"Content-Length: 99999999\r\n"), get(HOST + b"X: x\r\n" * 9999)],
    ids=["that cannot be read", "that is too large", "that has too many fields"],
)
def test_a_refusal_does_not_overtake_the_answer_before_it(edge, asked, statuses, bad):
    """9112 9.3.2: a request that is bad does no harm to those before it, nor to their order."""
    before = edge.newest()
    talk = edge.talk(asked + bad)
    refusals = talk.statuses[len(statuses) :]
    assert talk.statuses[: len(statuses)] == statuses
    assert refusals in ((), (400,), (413,), (431,))
    assert talk.end != "silent"
    assert edge.newest() - before == statuses.count(201)


def test_nothing_is_answered_after_close(edge):
    """9112 9.6: what follows a request with close is not processed."""
    before = edge.newest()
    talk = edge.talk(get(HOST + b"Connection: close\r\n") + sized(b"14"))
    assert talk.statuses == (200,)
    assert edge.newest() == before


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (GET("/healthz"), (200,)),
        (sized(b"14").removesuffix(PROBE), (201,)),
        (GET(EVENTS, TOKEN), (200,)),
        (sized(b"14").removesuffix(PROBE) * 3 + GET("/nothing"), (201, 201, 201, 404)),
    ],
    ids=["a quick one", "one that is committed", "a stream", "several"],
)
def test_whoever_closes_its_half_still_gets_its_answers(edge, sent, statuses):
    """9112 9.6: whoever closes one half says only that nothing more is asked."""
    before = edge.newest()
    talk = edge.talk(sent, half_closes=True)
    assert talk.statuses == statuses
    assert talk.end != "silent"
    assert edge.newest() - before == statuses.count(201)


def test_a_half_close_after_the_request_was_read_still_gets_the_answer(edge):
    """The same, where the end comes in a packet of its own, while the case is being committed."""
    for _ in range(10):
        with connect(edge.port) as connection:
            connection.sendall(edge.filled(sized(b"14").removesuffix(PROBE)))
            connection.shutdown(socket.SHUT_WR)
            assert exchange(connection, []).statuses == (201,)
