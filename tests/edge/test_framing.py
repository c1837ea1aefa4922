"""Where a request ends: lengths and codings, and what two readers might read differently."""

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


@table(LENGTHS)
def test_lengths(edge, check):
    assert_permitted(edge, check)


@table(CODINGS)
def test_codings(edge, check):
    assert_permitted(edge, check)
