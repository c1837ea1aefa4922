"""Refusals as problem details (RFC 9457): one status, one sentence, and the field it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from askwise.service.api.messages import KEY_RULE, Flaw, ProblemDetails

_AT = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_KEY = re.compile(r"^Expected `str` matching regex '\^\[!-~\]\{1,200\}.*'$")
_TRUNCATED = "Input data was truncated"
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<name>[^`]*)`$")

_ARGUMENT = (
    r"\b(label|action|reward|rewards|order|stake|acquisition|propensity|other|fails|known|cost|"
    r"requires|unasked|knew_more|replaces|default|model|storage|max_observations)="
)
_IN_PYTHON = (
    (re.compile(r"rewards=\{action: column\}, or "), ""),
    (re.compile(r"(?:; or | \()rewards=\{action: column\}\)?"), ""),
    (re.compile(r"reward\(…, replaces=True\)"), "replaces: true"),
    (re.compile(r"Action\((?P<name>'[^']*'), cost=\.\.\.\)"), r"the cost of \g<name> in actions"),
    (re.compile(_ARGUMENT + r"True\b"), r"\1: true"),
    (re.compile(_ARGUMENT + r"False\b"), r"\1: false"),
    (re.compile(_ARGUMENT + r"(?=['\"{\d])"), r"\1: "),
    (re.compile(_ARGUMENT + r"(?=[\s,;:.)]|$)"), r"\1"),
)
"""The arguments of the library's functions, as the fields of a body that they are here."""

LONGEST = 1000
"""Characters of a sentence that says what is wrong."""


class Refusal(Exception):  # noqa: N818 (an answer like any other, not a failure)
    """An error answer. Nothing has changed."""

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
        """The place in the body, as a JSON pointer; `header:` and `path:` are places outside of it.
        """
        self.retry = retry
        """The seconds after which to try again; 0 if it is useless."""
        self.allowed = allowed
        """The allowed methods, for 405."""

    def details(self) -> ProblemDetails:
        """The refusal as the body that is sent."""
        title = HTTPStatus(self.status).phrase
        errors = [Flaw(self.pointer, self.detail)] if self.pointer else []
        return ProblemDetails("about:blank", title, self.status, self.detail, errors)

    def encoded(self) -> bytes:
        """As the bytes of a body."""
        return msgspec.json.encode(self.details())


def in_fields(text: str) -> str:
    """A sentence of the library, which names arguments, with the fields of a body instead.

    >>> in_fields("acquisition='sequential' needs order=, the column of the order")
    "acquisition: 'sequential' needs order, the column of the order"
    """
    for pattern, field in _IN_PYTHON:
        text = pattern.sub(field, text)
    return text


def malformed(error: Exception, within: str = "") -> Refusal:
    """Returns the refusal of an unreadable body, with the place of the error."""
    if isinstance(error, RecursionError):
        return Refusal(400, "the body is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return Refusal(400, f"the body is not UTF-8: {error.reason}")
    text = str(error)
    if text == _TRUNCATED:  # msgspec says this of half a character at the end too
        text = "it ends too early, or in a \\u escape of half a character (a lone surrogate)"
    if not isinstance(error, msgspec.ValidationError):
        return Refusal(400, f"the body is not JSON: {text}")
    at = _AT.search(text)
    if at is not None:
        text, within = text[: at.start()], within + _pointer(at["path"])
    if _KEY.match(text):
        text = f"expected {KEY_RULE}"
    field = _FIELD.match(text)
    if field is not None:
        within += f"/{field['name'].replace('~', '~0').replace('/', '~1')}"
    return Refusal(422, f"{within[1:]}: {text}" if within else text, f"#{within}")


def _pointer(path: str) -> str:
    """`.problem.observations[1].cost` → `/problem/observations/1/cost`."""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", path)
    return "".join(f"/{(name or place).replace('...', '*')}" for name, place in parts)
