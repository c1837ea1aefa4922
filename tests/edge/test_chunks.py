"""Bodies in chunks: sizes, extensions, ends, and the trailers behind them."""

from edge.checks import (
    BODY,
    CHUNK,
    LAST,
    PROBE,
    REFUSED,
    TAKEN,
    Check,
    assert_permitted,
    chunked,
    post,
    sized,
    table,
)
from edge.server import MOST_BODY


def cut(*sizes: bytes) -> bytes:
    """The body in chunks of a byte each, with these for the first sizes."""
    lines = [*sizes, *[b"1"] * (len(BODY) - len(sizes))]
    return b"".join(b"%s\r\n%c\r\n" % (s, b) for s, b in zip(lines, BODY, strict=True)) + LAST


CHUNKS = [
    Check("chunks of one byte are joined", "9112 7.1", chunked(cut()), (TAKEN,)),
    Check("a size may begin with zeros", "9112 7.1", chunked(cut(b"0001")), (TAKEN,)),
    Check(
        "a size may have more zeros than digits that fit, or is refused",
        "9112 7.1",
        chunked(cut(b"0" * 30 + b"1")),
        (TAKEN, REFUSED, (413,)),
    ),
    Check(
        "digits of a size are in any case",
        "9112 7.1",
        chunked(b"e\r\n" + BODY + b"\r\n" + LAST).replace(b"e\r\n{", b"E\r\n{"),
        (TAKEN,),
    ),
    Check("an extension is ignored", "9112 7.1.1", chunked(cut(b"1;a=b;c")), (TAKEN,)),
    Check("a quoted extension is ignored", "9112 7.1.1", chunked(cut(b'1;a="b c"')), (TAKEN,)),
    Check(
        "spaces around the semicolon of an extension are bad, and ignored or refused",
        "9112 7.1.1",
        chunked(cut(b"1 ; a = b")),
        (TAKEN, REFUSED),
    ),
    *(
        Check(f"the size {shown} is refused", "9112 7.1", chunked(cut(size)), (REFUSED,))
        for shown, size in {
            "0x1": b"0x1",
            "+1": b"+1",
            "-1": b"-1",
            "1g": b"1g",
            "of nothing": b"",
            "1,1": b"1,1",
            "with a space before it": b" 1",
            "with a letter after a space": b"1 1",
            "with NUL": b"1\x00",
        }.items()
    ),
    *(
        Check(
            f"a size of {shown} does not overflow",
            "9112 7.1",
            chunked(cut(size) + b"x" * (MOST_BODY + 100_000)),
            (REFUSED, (413,)),
        )
        for shown, size in {
            "2^64 + 1": b"10000000000000001",
            "2^32 + 1": b"100000001",
            "2^63": b"8000000000000000",
            "100 digits": b"f" * 100,
        }.items()
    ),
    *(
        Check(f"{shown} is refused", "9112 7.1", chunked(content), (REFUSED,))
        for shown, content in {
            "a chunk longer than its size": b"d\r\n" + BODY + b"\r\n" + LAST,
            "a chunk shorter than its size": b"f\r\n" + BODY + b"\r\n" + LAST,
            "a chunk that ends with LF alone": b"e\r\n" + BODY + b"\n" + LAST,
            "a chunk that ends with CR alone": b"e\r\n" + BODY + b"\r" + LAST,
            "a size that ends with LF alone": b"e\n" + BODY + b"\r\n" + LAST,
            "a size that ends with CR alone": b"e\r" + BODY + b"\r\n" + LAST,
            "an extension with LF inside": b"e;a\nb\r\n" + BODY + b"\r\n" + LAST,
            "an extension with CR inside": b"e;a\rb\r\n" + BODY + b"\r\n" + LAST,
            "a last chunk that ends with LF alone": CHUNK + b"0\n\r\n",
        }.items()
    ),
]

TRAILERS = [
    Check(
        "trailers are read over",
        "9112 7.1.2",
        chunked(CHUNK + b"0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"),
        (TAKEN,),
    ),
    *(
        Check(
            f"{shown} in a trailer changes nothing",
            "9110 6.5.1",
            chunked(CHUNK + b"0\r\n" + fields + b"\r\n"),
            (TAKEN, REFUSED),
        )
        for shown, fields in {
            "a length": b"Content-Length: 90\r\n",
            "a coding": b"Transfer-Encoding: chunked\r\n",
            "a host": b"Host: elsewhere.example\r\n",
            "another key": b"Idempotency-Key: other\r\n",
            "a content type": b"Content-Type: text/plain\r\n",
            "an expectation": b"Expect: 100-continue\r\n",
        }.items()
    ),
    Check(
        "a line of a trailer without a colon is refused",
        "9112 5",
        chunked(CHUNK + b"0\r\nnothing\r\n\r\n"),
        (REFUSED,),
    ),
    Check(
        "a space before the colon of a trailer is refused",
        "9112 5.1",
        chunked(CHUNK + b"0\r\nX-Sum : 1\r\n\r\n"),
        (REFUSED,),
    ),
    Check(
        "a token in a trailer does not authenticate",
        "9110 6.5.1",
        chunked(CHUNK + b"0\r\nAuthorization: Bearer $TOKEN\r\n\r\n").replace(
            b"Authorization: Bearer $TOKEN\r\n", b"", 1
        ),
        ((401, 200), (401,), REFUSED),
    ),
    Check(
        "a key in a trailer does not count",
        "9110 6.5.1",
        chunked(CHUNK + b"0\r\nIdempotency-Key: late\r\n\r\n").replace(
            b"Idempotency-Key: $KEY\r\n", b"", 1
        ),
        ((400, 200), REFUSED),
    ),
]


@table(CHUNKS)
def test_chunks(edge, check):
    assert_permitted(edge, check)


@table(TRAILERS)
def test_trailers(edge, check):
    assert_permitted(edge, check)


def test_a_body_that_breaks_off_is_not_taken(edge):
    """9112 8: an incomplete request is never handled as if it were complete."""
    before = edge.newest()
    cut_off = {
        "a length": sized(b"40").removesuffix(PROBE),
        "chunks": chunked(CHUNK).removesuffix(PROBE),
        "a size": chunked(b"ff\r\n" + BODY).removesuffix(PROBE),
        "a trailer": chunked(CHUNK + b"0\r\nX-Sum: 1\r\n").removesuffix(PROBE),
        "a head": post().removesuffix(b"\r\n" + PROBE),
    }
    for shown, sent in cut_off.items():
        talk = edge.talk(sent, half_closes=True)
        assert talk.statuses in ((), (400,), (408,)), shown
        assert talk.end != "silent", shown
    assert edge.newest() == before
