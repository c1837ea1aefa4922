"""Refusals as problem details (RFC 9457): one status, one sentence, and the field it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from askwise.service.api.messages import Flaw, ProblemDetails

_AT = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<name>[^`]*)`$")

LONGEST = 1000
"""Characters of a sentence that says what is wrong."""


class Refusal(Exception):  # noqa: N818 (an answer like any other, not a failure)
    """What is answered instead; nothing has changed."""

    def __init__(
        self,
        status: int,
        detail: str,
        pointer: str = "",
        *,
        retry: int = 0,
        allowed: Sequence[str] = (),
    ) -> None:
        if len(detail) > LONGEST:  # it may repeat what was asked, for each of a thousand items
            detail = f"{detail[:LONGEST]} … (cut off)"
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.pointer = pointer
        """Where in the body, as a JSON pointer; `header:` and `path:` name what is not in it."""
        self.retry = retry
        """After how many seconds it is worth trying again; 0: not at all."""
        self.allowed = allowed
        """The methods that would do, of 405."""

    def details(self) -> ProblemDetails:
        """The refusal as the body that is sent."""
        title = HTTPStatus(self.status).phrase
        errors = [Flaw(self.pointer, self.detail)] if self.pointer else []
        return ProblemDetails("about:blank", title, self.status, self.detail, errors)

    def encoded(self) -> bytes:
        """As the bytes of a body."""
        return msgspec.json.encode(self.details())


def malformed(error: Exception, within: str = "") -> Refusal:
    """A body that cannot be read: what is wrong, and where."""
    if isinstance(error, RecursionError):
        return Refusal(400, "the body is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return Refusal(400, f"the body is not UTF-8: {error.reason}")
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return Refusal(400, f"the body is not JSON: {text}")
    at = _AT.search(text)
    if at is not None:
        text, within = text[: at.start()], within + _pointer(at["path"])
    field = _FIELD.match(text)
    if field is not None:
        within += f"/{field['name'].replace('~', '~0').replace('/', '~1')}"
    return Refusal(422, f"{within[1:]}: {text}" if within else text, f"#{within}")


def _pointer(path: str) -> str:
    """`.problem.observations[1].cost` → `/problem/observations/1/cost`."""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", path)
    return "".join(f"/{(name or place).replace('...', '*')}" for name, place in parts)
