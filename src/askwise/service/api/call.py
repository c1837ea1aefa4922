"""The type of a call of the service, with its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

PROJECT = "/v1/projects/{project}"
CASE = PROJECT + "/cases/{case}"
ONE_TOKEN = "/v1/tokens/{token}"  # noqa: S105

LARGEST = 2**53
"""The largest whole number that every reader of JSON can represent."""

STAKE = ("stake", 1e-18, 1e9)
"""How many times the reward of a case counts. The project's reward value limits it."""


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """One call of the service."""

    method: str
    path: str
    handler: str
    """The class and the method that answer it; the method's name is the call's in the document."""
    scope: str
    """The scope that the token must have: read, decide or admin; empty for any valid token."""
    summary: str
    answer: type[T]
    """The type of the answer; for a stream, of one line."""
    body: Any = None
    """The type of the body; None for a call without one."""
    status: int = 200
    content_type: str = "application/json"
    query: tuple[tuple[str, int, int] | tuple[str, float, float], ...] = ()
    """Numbers that may be given: name, least, most. They are whole if their limits are."""
    is_for_one: bool = True
    """Whether a token for one project may make it; else only a token for all projects may."""
    has_key: bool = True
    """Whether a POST has an idempotency key; in a batch, each item has its own."""
    decoder: msgspec.json.Decoder[Any] = field(init=False, repr=False)
    """Reads the body; made here once, because two threads must not make it at the same time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoder", msgspec.json.Decoder(self.body or Any))

    @property
    def name(self) -> str:
        """The name of the call in the OpenAPI document."""
        return self.handler.partition(".")[2]
