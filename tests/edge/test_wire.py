"""The reader of answers itself: it must see what is wrong, or no check here means anything."""

import pytest

from edge.wire import Talk, WireError, read_answers

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

WRONG = {
    "no answer": b"hello\r\n\r\n",
    "another version": OK.replace(b"1.1", b"2.0"),
    "a status of two digits": OK.replace(b"200", b"20"),
    "a field without a colon": OK.replace(b"Content-Length: 2", b"nothing"),
    "a field with a space before its colon": OK.replace(b"Length:", b"Length :"),
    "a line that ends with LF alone": OK.replace(b"OK\r\n", b"OK\n"),
    "two lengths": OK.replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 2"),
    "a length that is no number": OK.replace(b": 2", b": two"),
    "a length and a coding": CHUNKED.replace(b"T", b"Content-Length: 5\r\nT", 2) + b"0\r\n\r\n",
    "an unknown coding": CHUNKED.replace(b"chunked", b"gzip") + b"0\r\n\r\n",
    "an interim answer inside a stream": CHUNKED + b"2\r\n{}\r\nHTTP/1.1 100 Continue\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
    "something after the last chunk": CHUNKED + b"0\r\nHTTP/1.1 200 OK\r\n\r\n",
    "a 204 with a length": OK.replace(b"200 OK", b"204 No Content"),
    "more than the length": OK + b"{}",
}


@pytest.mark.parametrize("shown", WRONG)
def test_an_answer_that_is_wrong_is_seen(shown):
    with pytest.raises(WireError):
        read_answers(WRONG[shown])


@pytest.mark.parametrize(
    "cut", [OK[:-1], CHUNKED, CHUNKED + b"2\r\n{}", CHUNKED + b"2\r\n{}\r\n0\r\n"]
)
def test_an_answer_that_is_cut_off_is_seen(cut):
    (answer,) = read_answers(cut)
    assert not answer.is_complete
    with pytest.raises(WireError):
        assert Talk(cut, 0, "closed", ()).statuses


def test_answers_follow_each_other():
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\n"
        + OK
        + CHUNKED
        + b"1;a=b\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
        + OK[:-2]
    )
    answers = read_answers(data, ["GET", "GET", "HEAD"])
    assert [answer.status for answer in answers] == [100, 200, 200, 200]
    assert [answer.body for answer in answers] == [b"", b"{}", b"{}", b""]
    assert all(answer.is_complete for answer in answers)
