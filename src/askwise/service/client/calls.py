"""The calls of the service as a client makes them, whether it waits for answers or awaits them."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np

from askwise.errors import ServiceError
from askwise.problem import Problem
from askwise.service.http.calls import BatchAnswer, Cases, Projects
from askwise.service.http.messages import (
    BatchItem,
    CaseAnswer,
    CaseStory,
    ChosenLearner,
    NewProject,
    Observing,
    Opening,
    PolicyAnswer,
    ProblemDetails,
    ProjectAnswer,
    Rewarding,
    Seen,
    Summary,
    TokenAnswer,
    WorthAnswer,
)

T = TypeVar("T")

WORTH_RETRYING = (429, 502, 503, 504)
LONGEST_WAIT = 5.0


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise ServiceError(f"cannot be sent: {value!r}")


class Call(Generic[T]):
    """One request, which may be sent again: its key stays the same."""

    def __init__(self, method: str, path: str, answer: Any, body: object = None) -> None:
        self.method = method
        self.path = path
        self.answer = answer
        self.headers: dict[str, str] = {}
        self.content = b""
        if method == "POST":
            self.content = msgspec.json.encode({} if body is None else body, enc_hook=_plain)
            self.headers["content-type"] = "application/json"
            self.headers["idempotency-key"] = new_key()

    def read(self, status: int, content: bytes) -> T:
        """The answer, or the error that it is."""
        if 200 <= status < 300:
            return msgspec.json.decode(content, type=self.answer)  # type: ignore[no-any-return]
        try:
            detail = msgspec.json.decode(content, type=ProblemDetails).detail
        except msgspec.MsgspecError:
            detail = "the answer is not one of askwise"
        raise ServiceError(f"{self.method} {self.path}: {detail}", status)


def new_key() -> str:
    """An idempotency key that nobody else has.

    It begins with the time, so that keys of one hour are near each other in the ledger's index.
    """
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(12)}"


def wait_before(attempt: int, retry_after: str | None) -> float:
    """How long to wait before sending again, in seconds."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), LONGEST_WAIT)
    return float(min(0.05 * 2**attempt, LONGEST_WAIT))


def create_project(
    name: str, problem: Problem, learner: str, options: Mapping[str, Any]
) -> Call[ProjectAnswer]:
    """POST /v1/projects."""
    body = NewProject(name, problem, ChosenLearner(learner, dict(options)))
    return Call("POST", "/v1/projects", ProjectAnswer, body)


def projects() -> Call[Projects]:
    """GET /v1/projects."""
    return Call("GET", "/v1/projects", Projects)


def project(name: str) -> Call[ProjectAnswer]:
    """GET /v1/projects/P."""
    return Call("GET", _path(name), ProjectAnswer)


def open_case(name: str, known: Mapping[str, Seen] | None) -> Call[CaseAnswer]:
    """POST /v1/projects/P/cases."""
    body = Opening(None if known is None else dict(known))
    return Call("POST", _path(name, "cases"), CaseAnswer, body)


def observe(
    name: str, case: int, values: Mapping[str, Seen], paid: Mapping[str, float] | None
) -> Call[CaseAnswer]:
    """POST /v1/projects/P/cases/C/observations."""
    body = Observing(dict(values), None if paid is None else dict(paid))
    return Call("POST", _path(name, "cases", case, "observations"), CaseAnswer, body)


def reward(name: str, case: int, amount: float, default: bool, replaces: bool) -> Call[CaseAnswer]:
    """POST /v1/projects/P/cases/C/reward."""
    if not math.isfinite(amount):  # JSON has no such numbers
        raise ServiceError(f"a reward must be a number from 0 to 1, got {amount!r}")
    body = Rewarding(amount, default, replaces)
    return Call("POST", _path(name, "cases", case, "reward"), CaseAnswer, body)


def cancel(name: str, case: int) -> Call[CaseAnswer]:
    """POST /v1/projects/P/cases/C/cancel."""
    return Call("POST", _path(name, "cases", case, "cancel"), CaseAnswer)


def case_story(name: str, case: int) -> Call[CaseStory]:
    """GET /v1/projects/P/cases/C."""
    return Call("GET", _path(name, "cases", case), CaseStory)


def cases(name: str, before: int | None, limit: int) -> Call[Cases]:
    """GET /v1/projects/P/cases."""
    query = f"limit={limit}" if before is None else f"limit={limit}&before={before}"
    return Call("GET", f"{_path(name, 'cases')}?{query}", Cases)


def awaited(name: str, limit: int) -> Call[Cases]:
    """GET /v1/projects/P/awaited."""
    return Call("GET", f"{_path(name, 'awaited')}?limit={limit}", Cases)


def token() -> Call[TokenAnswer]:
    """GET /v1/token."""
    return Call("GET", "/v1/token", TokenAnswer)


def batch(name: str, items: Sequence[BatchItem]) -> Call[list[BatchAnswer]]:
    """POST /v1/projects/P/batch."""
    return Call("POST", _path(name, "batch"), list[BatchAnswer], list(items))


def policy(name: str) -> Call[PolicyAnswer]:
    """GET /v1/projects/P/policy."""
    return Call("GET", _path(name, "policy"), PolicyAnswer)


def worth(name: str) -> Call[WorthAnswer]:
    """GET /v1/projects/P/worth."""
    return Call("GET", _path(name, "worth"), WorthAnswer)


def summary(name: str) -> Call[Summary]:
    """GET /v1/projects/P/summary."""
    return Call("GET", _path(name, "summary"), Summary)


def events_path(name: str, after: int) -> str:
    """GET /v1/projects/P/events, which is streamed."""
    return f"{_path(name, 'events')}?after={after}"


def _path(name: str, *parts: object) -> str:
    return "/".join(["/v1/projects", quote(name, safe=""), *map(str, parts)])
