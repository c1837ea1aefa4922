"""The head of a request: its first line and its fields."""

import pytest

from edge.checks import BODY, PROBE, REFUSED, TAKEN, Check, assert_permitted, get, post, table
from edge.server import CASES, GET

HOST = b"Host: localhost\r\n"
SERVED = (200, 200)
"""It is answered, and so is the probe."""


def line(request_line: bytes) -> bytes:
    return get(HOST, line=request_line)


LINES = [
    Check("a request is answered", "9112 3", line(b"GET /healthz HTTP/1.1"), (SERVED,)),
    Check("an empty line before it is skipped", "9112 2.2", b"\r\n" + get(HOST), (SERVED,)),
    Check(
        "an empty line after a body is skipped",
        "9112 2.2",
        post(b"Content-Length: 14\r\n", BODY + b"\r\n"),
        (TAKEN,),
    ),
    Check(
        "lines that end with LF alone are read or refused",
        "9112 2.2",
        b"GET /healthz HTTP/1.1\nHost: localhost\n\n" + PROBE,
        (SERVED, REFUSED),
    ),
    Check(
        "a line that ends with CR alone is refused",
        "9112 2.2",
        b"GET /healthz HTTP/1.1\rHost: localhost\r\n\r\n" + PROBE,
        (REFUSED,),
    ),
    *(
        Check(f"{shown} is read as words or refused", "9112 3", line(sent), (SERVED, REFUSED))
        for shown, sent in {
            "a line with two spaces": b"GET  /healthz HTTP/1.1",
            "a line with a tab": b"GET\t/healthz HTTP/1.1",
            "a line with a space at its end": b"GET /healthz HTTP/1.1 ",
        }.items()
    ),
    *(
        Check(f"{shown} is refused", "9112 3", line(sent), (REFUSED,))
        for shown, sent in {
            "a method alone": b"GET",
            "a method and a version alone": b"GET HTTP/1.1",
            "a target with a space": b"GET /health z HTTP/1.1",
            "a target with NUL": b"GET /healthz\x00 HTTP/1.1",
            "a target with a control character": b"GET /health\x01z HTTP/1.1",
            "a target with DEL": b"GET /health\x7fz HTTP/1.1",
            "a target with a byte that is not ASCII": b"GET /health\xffz HTTP/1.1",
            "a target with CR": b"GET /health\rz HTTP/1.1",
            "a relative target": b"GET healthz HTTP/1.1",
            "an asterisk with GET": b"GET * HTTP/1.1",
            "an authority with GET": b"GET localhost:80 HTTP/1.1",
            "a method with a comma": b"G,T /healthz HTTP/1.1",
            "a method with a colon": b"GET: /healthz HTTP/1.1",
            "something else than HTTP": b"GET /healthz FTP/1.1",
            "a version without a dot": b"GET /healthz HTTP/11",
            "a version with a comma": b"GET /healthz HTTP/1,1",
            "a version in lower case": b"GET /healthz http/1.1",
            "a version with a space": b"GET /healthz HTTP/ 1.1",
        }.items()
    ),
    *(
        Check(
            f"the version {shown} is refused",
            "9110 2.5, 15.6.6",
            line(b"GET /healthz HTTP/" + shown.encode()),
            (REFUSED, (505,)),
        )
        for shown in ("0.9", "2.0", "3.0", "1.10", "01.1", "9.9")
    ),
    Check(
        "a line without a version is refused",
        "9112 2.3",
        b"GET /healthz\r\n\r\n",
        (REFUSED, (505,)),
    ),
    Check(
        "a later minor version is taken as ours or refused",
        "9110 2.5",
        line(b"GET /healthz HTTP/1.2"),
        (SERVED, REFUSED, (505,)),
    ),
    Check(
        "the preface of HTTP/2 is refused",
        "9112 2.3",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        (REFUSED, (505,)),
    ),
    Check(
        "the greeting of TLS is refused or cut off",
        "9112 2.2",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(range(160)),
        (REFUSED, ()),
    ),
    *(
        Check(
            f"the method {shown} is not implemented",
            "9110 15.6.2",
            line(shown.encode() + b" /healthz HTTP/1.1"),
            ((501, 200), (501,)),
        )
        for shown in ("get", "FETCH", "GETS", "G-E.T", "DESCRIBE")
    ),
    Check(
        "a method longer than any is not implemented",
        "9112 3",
        line(b"G" * 5000 + b" /healthz HTTP/1.1"),
        ((501, 200), (501,)),
    ),
    Check(
        "TRACE does not echo",
        "9110 9.3.8",
        line(b"TRACE /healthz HTTP/1.1"),
        ((405, 200), (501, 200), REFUSED, (501,), (405,)),
    ),
    Check(
        "CONNECT opens no tunnel",
        "9110 9.3.6",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n" + PROBE,
        ((405, 200), (501, 200), (400, 200), REFUSED, (501,), (405,)),
    ),
    Check(
        "OPTIONS of the whole server is answered or refused",
        "9110 9.3.7",
        line(b"OPTIONS * HTTP/1.1"),
        (SERVED, (204, 200), (405, 200), (501, 200), (400, 200), REFUSED),
    ),
    Check(
        "an offer to upgrade is passed over",
        "9110 7.8",
        get(HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        (SERVED, (200,)),
    ),
    Check(
        "an offer of HTTP/2 is passed over",
        "9110 7.8",
        get(HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
        (SERVED, (200,)),
    ),
]


SECRET = b"Authorization: Bearer $TOKEN\r\n"
PRIVATE = b"GET /v1/projects HTTP/1.1"
FIELDS = [
    *(
        Check(f"{shown} is refused", "9112 5", get(HOST + sent), (REFUSED,))
        for shown, sent in {
            "a line without a colon": b"nothing\r\n",
            "a field without a name": b": x\r\n",
            "a name with a space": b"X Y: z\r\n",
            "a name with a tab before the colon": b"X\t: z\r\n",
            "a name with a bracket": b"X(Y): z\r\n",
            "a name with NUL": b"X\x00Y: z\r\n",
            "a name that is not ASCII": b"X\xe4: z\r\n",
        }.items()
    ),
    Check(
        "a space before the colon of the host is refused",
        "9112 5.1",
        get(b"Host : localhost\r\n"),
        (REFUSED,),
    ),
    *(
        Check(
            f"{shown} in a value becomes a space or is refused",
            "9110 5.5",
            get(HOST + b"X: a" + value + b"b\r\n"),
            (SERVED, REFUSED),
        )
        for shown, value in {"NUL": b"\x00", "CR": b"\r"}.items()
    ),
    Check(
        "CR in a value does not begin a field",
        "9110 5.5",
        get(HOST + b"X: a\r" + SECRET, line=PRIVATE),
        ((401, 200), REFUSED),
    ),
    Check(
        "bytes above ASCII in a value are let be",
        "9110 5.5",
        get(HOST + b"X: \xe4\xff\r\n"),
        (SERVED,),
    ),
    Check("an empty value is a value", "9110 5.5", get(HOST + b"X:\r\n"), (SERVED,)),
    Check(
        "a folded value is joined or refused",
        "9112 5.2",
        get(HOST + b"X: a\r\n b\r\n\tc\r\n"),
        (SERVED, REFUSED),
    ),
    Check(
        "a folded token is joined or refused",
        "9112 5.2",
        get(HOST + b"Authorization: Bearer\r\n $TOKEN\r\n", line=PRIVATE),
        (SERVED, REFUSED),
    ),
    Check(
        "a line that begins with a space before all fields is dropped or refused",
        "9112 2.2",
        get(b" " + SECRET + HOST, line=PRIVATE),
        ((401, 200), REFUSED),
    ),
    Check(
        "a second token is refused",
        "9110 5.3",
        get(HOST + SECRET + b"Authorization: Bearer other\r\n", line=PRIVATE),
        (REFUSED, (400, 200), (401, 200)),
    ),
    Check("the token is taken", "9110 11.6.2", get(HOST + SECRET, line=PRIVATE), (SERVED,)),
    Check(
        "the scheme of a token is in any case",
        "9110 11.1",
        get(HOST + SECRET.replace(b"Bearer", b"bEARER"), line=PRIVATE),
        (SERVED,),
    ),
]


@table(LINES)
def test_first_lines(edge, check):
    assert_permitted(edge, check)


@table(FIELDS)
def test_fields(edge, check):
    assert_permitted(edge, check)


@pytest.mark.parametrize(
    ("request_bytes", "status", "field"),
    [
        pytest.param(
            b"PUT /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            405,
            "allow",
            id="a 405 says which methods there are (9110 15.5.6)",
        ),
        pytest.param(
            f"DELETE {CASES} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
            405,
            "allow",
            id="a 405 of a call says which methods there are (9110 15.5.6)",
        ),
        pytest.param(
            GET("/v1/projects"),
            401,
            "www-authenticate",
            id="a 401 says how to authenticate (9110 15.5.2)",
        ),
    ],
)
def test_a_refusal_says_what_would_be_right(edge, request_bytes, status, field):
    answer = edge.ask(request_bytes)
    assert answer.status == status
    assert answer.all(field)
