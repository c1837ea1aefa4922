"""Where a request ends: lengths, chunks, and what two readers might read differently."""

from edge.checks import (
    BODY,
    CHUNK,
    CLOSED,
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

SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

LENGTHS = [
    Check("a length is taken", "9112 6.2", sized(b"14"), (TAKEN,)),
    Check("a length may begin with zeros", "9110 8.6", sized(b"00000014"), (TAKEN,)),
    Check("spaces around a length do not count", "9112 5.1", sized(b"  \t14 \t"), (TAKEN,)),
    Check("without a length there is no body", "9112 6.3 rule 7", post(), (TAKEN,)),
    Check("a length of zero is no body", "9112 6.3", sized(b"0", b""), (TAKEN,)),
    *(
        Check(f"the length {shown} is refused", "9112 6.3 rule 5", sized(length), (REFUSED,))
        for shown, length in {
            "+14": b"+14",
            "-14": b"-14",
            "0xe": b"0xe",
            "14a": b"14a",
            "1 4": b"1 4",
            "14; 14": b"14; 14",
            "1.4e1": b"1.4e1",
            "'14'": b'"14"',
            "of nothing": b"",
            "of other digits": "१४".encode(),
            "14, 15": b"14, 15",
        }.items()
    ),
    Check(
        "two lengths that differ are refused",
        "9112 6.3 rule 5",
        post(b"Content-Length: 14\r\nContent-Length: 15\r\n", BODY),
        (REFUSED,),
    ),
    Check(
        "two equal lengths count as one or are refused",
        "9112 6.3 rule 5",
        post(b"Content-Length: 14\r\nContent-Length: 14\r\n", BODY),
        (REFUSED, TAKEN),
    ),
    Check(
        "a list of equal lengths counts as one or is refused",
        "9112 6.3 rule 5",
        sized(b"14, 14"),
        (REFUSED, TAKEN),
    ),
    *(
        Check(
            f"a length of {shown} does not overflow", "9110 8.6", sized(length), (REFUSED, (413,))
        )
        for shown, length in {
            "2^64 + 14": b"18446744073709551630",
            "2^32 + 14": b"4294967310",
            "300 digits": b"9" * 300,
        }.items()
    ),
    Check(
        "a space before the colon of a length is refused",
        "9112 5.1",
        post(b"Content-Length : 14\r\n", BODY),
        (REFUSED,),
    ),
    Check(
        "a body of a GET is read, or ends the connection",
        "9110 9.3.1, 9112 9.3",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n" + BODY + PROBE,
        ((200, 200), (200,), REFUSED),
    ),
    Check(
        "what follows the length is the next request",
        "9112 9.3.2",
        post(b"Content-Length: 14\r\n", BODY + SMUGGLED),
        ((201, 200, 200),),
    ),
]

CODINGS = [
    Check("chunks are taken", "9112 7.1", chunked(CHUNK + LAST), (TAKEN,)),
    Check(
        "the name of the coding is in any case",
        "9112 7",
        chunked(CHUNK + LAST, b"transfer-ENCODING: ChUnKeD\r\n"),
        (TAKEN,),
    ),
    *(
        Check(
            f"the coding {shown} does not end in chunked and is refused",
            "9112 6.3 rule 4",
            chunked(CHUNK + LAST, b"Transfer-Encoding: " + coding + b"\r\n"),
            (REFUSED,),
        )
        for shown, coding in {
            "gzip": b"gzip",
            "identity": b"identity",
            "chunked, gzip": b"chunked, gzip",
            "chunked, identity": b"chunked, identity",
            "xchunked": b"xchunked",
            "chunkedx": b"chunkedx",
            "'chunked'": b'"chunked"',
            "chunk ed": b"chunk ed",
            "VT chunked": b"\x0bchunked",
        }.items()
    ),
    *(
        Check(
            f"{shown} is not taken for chunked alone",
            "9112 6.1",
            chunked(CHUNK + LAST, fields),
            (REFUSED, (501,)),
        )
        for shown, fields in {
            "gzip, chunked": b"Transfer-Encoding: gzip, chunked\r\n",
            "gzip and then chunked, in two lines": (
                b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
            ),
            "chunked, chunked": b"Transfer-Encoding: chunked, chunked\r\n",
            "chunked in two lines": b"Transfer-Encoding: chunked\r\n" * 2,
            "x and then chunked, in two lines": (
                b"Transfer-Encoding: x\r\ntransfer-encoding: chunked\r\n"
            ),
        }.items()
    ),
    Check(
        "chunked and then gzip in two lines is refused",
        "9112 6.3 rule 4",
        chunked(CHUNK + LAST, b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"),
        (REFUSED,),
    ),
    Check(
        "an empty coding is refused",
        "9112 6.3 rule 4",
        chunked(CHUNK + LAST, b"Transfer-Encoding:\r\n"),
        (REFUSED,),
    ),
    Check(
        "empty elements beside chunked are skipped or refused",
        "9110 5.6.1.2",
        chunked(CHUNK + LAST, b"Transfer-Encoding: , chunked\r\n"),
        (TAKEN, REFUSED, (501,)),
    ),
    Check(
        "a space before the colon of a coding is refused",
        "9112 5.1",
        chunked(CHUNK + LAST, b"Transfer-Encoding : chunked\r\n"),
        (REFUSED,),
    ),
    Check(
        "a folded coding is joined or refused",
        "9112 5.2",
        chunked(CHUNK + LAST, b"Transfer-Encoding:\r\n chunked\r\n"),
        (TAKEN, REFUSED),
    ),
    Check(
        "with a length before it, the coding counts and the connection ends",
        "9112 6.1",
        post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", CHUNK + LAST),
        (REFUSED, CLOSED),
    ),
    Check(
        "with a length after it, the coding counts and the connection ends",
        "9112 6.1",
        post(b"Transfer-Encoding: chunked\r\nContent-Length: 24\r\n", CHUNK + LAST),
        (REFUSED, CLOSED),
    ),
    Check(
        "nothing is smuggled behind an empty chunked body with a length",
        "9112 11.2",
        post(b"Content-Length: 48\r\nTransfer-Encoding: chunked\r\n", LAST + SMUGGLED),
        (REFUSED, CLOSED),
    ),
    Check(
        "nothing is smuggled by a coding that only one side knows, with a length",
        "9112 11.2",
        post(b"Content-Length: 5\r\nTransfer-Encoding: x\r\n", LAST + SMUGGLED),
        (REFUSED, (501,)),
    ),
    Check(
        "a length named in Connection is still there",
        "9110 7.6.1",
        post(b"Connection: content-length\r\nContent-Length: 14\r\n", BODY),
        (TAKEN, REFUSED),
    ),
    Check(
        "a coding in HTTP/1.0 ends the connection",
        "9112 6.1",
        post(
            b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n",
            CHUNK + LAST,
            version=b"HTTP/1.0",
        ),
        (REFUSED, CLOSED),
    ),
]


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


@table(LENGTHS)
def test_lengths(edge, check):
    assert_permitted(edge, check)


@table(CODINGS)
def test_codings(edge, check):
    assert_permitted(edge, check)


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
