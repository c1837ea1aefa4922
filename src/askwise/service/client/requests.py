"""Requests as a client sends them, made from the table of calls in `api/calls.py`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import numpy as np

from askwise.errors import ServiceError
from askwise.service.api.call import Call
from askwise.service.api.messages import ProblemDetails

T = TypeVar("T")

RETRIED = (429, 502, 503, 504)
"""Statuses after which a request is sent again."""

LONGEST_WAIT = 5.0
"""Seconds."""


class ClientRequest(Generic[T]):
    """One request, which may be sent again: its idempotency key stays the same.

    project, case, token: what the path names. query: numbers by name; None is not sent.
    """

    def __init__(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, int | None] | None = None,
    ) -> None:
        self.method = call.method
        names = {"project": quote(project, safe=""), "token": quote(token, safe="")}
        self.path = call.path.format(case=case, **names)
        given = {name: number for name, number in (query or {}).items() if number is not None}
        if given:
            self.path += f"?{urlencode(given)}"
        self.answer = call.answer
        self.headers: dict[str, str] = {}
        self.content = b""
        if call.method == "POST":
            self.content = msgspec.json.encode({} if body is None else body, enc_hook=_plain)
            self.headers["content-type"] = "application/json"
            self.headers["idempotency-key"] = new_key()

    def read(self, status: int, content: bytes) -> T:
        """The answer; raises ServiceError if it is a refusal."""
        if 200 <= status < 300:
            return msgspec.json.decode(content, type=self.answer)
        raise self.refusal(status, content)

    def refusal(self, status: int, content: bytes) -> ServiceError:
        """What the service says is wrong."""
        try:
            detail = msgspec.json.decode(content, type=ProblemDetails).detail
        except msgspec.MsgspecError:
            detail = "the answer is not one of askwise"
        return ServiceError(f"{self.method} {self.path}: {detail}", status)

    def no_answer(self, attempts: int, error: Exception) -> ServiceError:
        """That the service could not be reached."""
        text = f"{type(error).__name__} {error}".strip()
        return ServiceError(f"{self.method} {self.path}: no answer in {attempts} attempts: {text}")


def new_key() -> str:
    """An idempotency key that is used nowhere else.

    It begins with the time, so that keys of one hour are near each other in the ledger's index.
    """
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(12)}"


def wait_before(attempt: int, retry_after: str | None) -> float:
    """How long to wait before sending again, in seconds."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), LONGEST_WAIT)
    return float(min(0.05 * 2**attempt, LONGEST_WAIT))


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise ServiceError(f"cannot be sent: {value!r}")
