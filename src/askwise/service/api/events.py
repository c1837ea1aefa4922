"""The bodies and answers of events, as types: `typed_body(event)`, `typed_answer(event)`."""

from __future__ import annotations

from typing import Any

import msgspec

from askwise.errors import ServiceError
from askwise.service.api.administration import Erased, Repricing
from askwise.service.api.messages import (
    Acting,
    BlockEnd,
    Cancelling,
    CaseAnswer,
    EventLine,
    Observing,
    Opening,
    ProjectAnswer,
    Rewarding,
)

TYPES: dict[str, tuple[Any, Any]] = {
    "open": (Opening, CaseAnswer),
    "observe": (Observing, CaseAnswer),
    "act": (Acting, CaseAnswer),
    "reward": (Rewarding, CaseAnswer),
    "cancel": (Cancelling, CaseAnswer),
    "forget": (BlockEnd, dict),
    "prices": (Repricing, ProjectAnswer),
    "erase": (dict, Erased),
}
"""The types of the body and of the answer of each kind of event."""


def typed_body(event: EventLine) -> Any:
    """Returns the body of a request; None if the case was erased."""
    return _typed(event, event.body, 0)


def typed_answer(event: EventLine) -> Any:
    """Returns the answer; None if the case was erased."""
    return _typed(event, event.answer, 1)


def _typed(event: EventLine, content: msgspec.Raw, place: int) -> Any:
    if event.kind not in TYPES:
        raise ServiceError(f"event {event.seq} is of the kind {event.kind!r}, which is not known")
    if bytes(content) == b"null":
        return None
    return msgspec.json.decode(content, type=TYPES[event.kind][place])
