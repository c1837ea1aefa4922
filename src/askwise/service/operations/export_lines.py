"""The lines of an exported project, as types."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.service.api.messages import Name

_Number = Annotated[int, Meta(ge=0, le=2**62)]


class ProjectLine(msgspec.Struct, tag="project", forbid_unknown_fields=True):
    """The first line: the project as it stood."""

    format: int
    name: Name
    problem: msgspec.Raw
    learner: str
    options: msgspec.Raw
    seed: _Number
    created: _Number
    version: _Number
    watermark: _Number
    planned: _Number


class PolicyLine(msgspec.Struct, tag="policy", forbid_unknown_fields=True):
    """One version of its policy."""

    version: _Number
    watermark: _Number
    at: _Number
    blob: bytes


class EventLine(msgspec.Struct, tag="event", forbid_unknown_fields=True):
    """One event of the project."""

    seq: _Number
    key: Annotated[str, Meta(pattern=r"^([!-~]{1,200}|forget [0-9]{1,19}|erased [0-9a-f]{1,32})\Z")]
    kind: Literal["open", "observe", "act", "reward", "cancel", "forget", "prices", "erase"]
    case: Annotated[int, Meta(ge=0, le=2**53)]
    """0 if it is about no case."""
    body: msgspec.Raw
    status: _Number
    answer: msgspec.Raw
    at: _Number


class ErasedLine(msgspec.Struct, tag="erased", forbid_unknown_fields=True):
    """The increments of erased cases, because they can no longer be computed."""

    counters: list[tuple[str, int, int, int]]


class EndLine(msgspec.Struct, tag="end", forbid_unknown_fields=True):
    """The last line: how many there were, and the SHA-256 of all before it."""

    policies: _Number
    events: _Number
    sha256: str


Line = ProjectLine | PolicyLine | EventLine | ErasedLine | EndLine

prepare(Line)
