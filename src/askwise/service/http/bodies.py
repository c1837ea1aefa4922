"""Bodies and query numbers read strictly, and answers written: JSON in UTF-8, as typed."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from askwise.errors import AskwiseError
from askwise.service.api.call import Call
from askwise.service.api.refusals import Refusal, malformed
from askwise.service.http.requests import Request, Response

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode

MOST_DEEP = 32
"""Levels of lists and objects."""

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""A text, or one that does not end: the rest of the body then."""
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")


def read_body(request: Request, decoder: msgspec.json.Decoder[T]) -> T:
    """The body as the type that is expected; an empty one is {}."""
    body = request.body
    # A page from elsewhere can send a body without a type, but not one that it calls JSON.
    kind = request.headers.get(b"content-type", b"" if body else b"application/json")
    if kind.split(b";")[0].strip().lower() != b"application/json":
        raise Refusal(415, "expected Content-Type: application/json", "header:Content-Type")
    coding = request.headers.get(b"content-encoding", b"identity")
    if coding.strip().lower() != b"identity":
        raise Refusal(415, "expected a body without Content-Encoding", "header:Content-Encoding")
    try:
        return decoder.decode(body or b"{}")
    except AskwiseError as error:
        raise Refusal(422, str(error), "#") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        cause: Any = error.__cause__
        if isinstance(cause, AskwiseError):  # what the library says of a problem, in its own words
            raise Refusal(422, str(cause), malformed(error).pointer) from None
        raise malformed(error) from None


def check_depth(body: bytes) -> None:
    """Refuse what is nested too deeply, where a type would take anything."""
    brackets = _TEXT.sub(b"", body).translate(None, _NO_BRACKET)
    for _ in range(MOST_DEEP):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise Refusal(400, f"the body is nested deeper than {MOST_DEEP} levels, or not JSON")


def whole_number(text: str, name: str, least: int, most: int) -> int:
    """An argument that is a whole number within limits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        raise Refusal(
            400, f"{name} must be a whole number from {least} to {most:,}", f"query:{name}"
        )
    return int(text)


_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")


def number(text: str, name: str, least: float, most: float) -> float:
    """An argument that is a number within limits."""
    if not _NUMBER.fullmatch(text) or not least <= float(text) <= most:
        raise Refusal(400, f"{name} must be a number from {least:g} to {most:g}", f"query:{name}")
    return float(text)


def query_numbers(request: Request, call: Call[Any]) -> dict[str, int]:
    """The whole numbers that the query gives, by name, each within the limits of the call."""
    given = request.arguments(*(name for name, *_ in call.query))
    return {
        name: whole_number(given[name], name, int(least), int(most))
        for name, least, most in call.query
        if name in given
    }


def encoded(value: object, status: int = 200) -> Response:
    """A value as a response in JSON."""
    return Response(status, _encode(value))
