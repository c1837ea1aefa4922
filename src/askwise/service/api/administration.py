"""The requests and answers of operators, as types: tokens, and projects as a whole."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.problem import Problem
from askwise.service.api.messages import Body, Name

YEAR = 366 * 86_400
"""Seconds."""

Price = Annotated[float, Meta(ge=0.0, le=1e9)]


Scope = Literal["read", "decide", "admin"]
"""The rights of a token. Each scope includes the ones before it."""


class NewToken(Body):
    """A token with its scope, its project, its lifetime and its rate."""

    scope: Scope
    project: Name | None = None
    """Null: all of them."""
    expires_in: Annotated[int, Meta(ge=1, le=10 * YEAR)] | None = None
    """Seconds; null: never."""
    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Requests a minute; null: any number."""


class Rotation(Body):
    """A token is replaced by a new one with the same rights."""

    overlap: Annotated[int, Meta(ge=0, le=YEAR)] = 0
    """The seconds for which the old token stays valid."""


class Revocation(Body):
    """A token becomes invalid."""


class SigningIn(Body):
    """A link is exchanged for a token. It is sent as a token is, so the body is empty."""


class TokenStory(msgspec.Struct):
    """The facts of a token. The secret itself is shown once."""

    id: str
    scope: str
    project: str | None
    created: str
    expires: str | None
    revoked: str | None
    rate: int | None
    token: str | None = None
    """Only when it was just created."""


class Tokens(msgspec.Struct):
    """All tokens, in the order of their creation."""

    tokens: list[TokenStory]


class Archiving(Body):
    """The project takes no requests until it is restored; it can still be read."""


class Restoring(Body):
    """The project takes requests again."""


class Renaming(Body):
    """The project gets another name; its tokens are for that from now on."""

    name: Name


class Deleting(Body):
    """The project and all its events are removed, for ever."""

    name: Name
    """The name again, to confirm the project."""


class Deleted(msgspec.Struct):
    """A project that was deleted."""

    name: str
    events: int
    """The number of events that were removed."""


class Cloning(Body):
    """A new project that begins with the knowledge of this one."""

    name: Name
    problem: Problem | None = None
    """Another version of the problem: other prices, more values, more actions."""


class Erasing(Body):
    """The case is erased, for ever; what it added to the counters stays."""


class Erased(msgspec.Struct):
    """A case that was erased; only its number remains."""

    case: int
    events: int
    """The number of events that were blanked."""


class Repricing(Body):
    """From the next plan on, observations have these prices. Other prices stay."""

    prices: Annotated[dict[str, Price], Meta(min_length=1)]


prepare(*(kind for kind in list(globals().values()) if isinstance(kind, msgspec.StructMeta)))
