"""What operators send and are answered, as types: tokens, and projects as a whole."""

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
"""What a token may do; each may do what the one before may."""


class NewToken(Body):
    """A token: what it may do, where, how long and how often."""

    scope: Scope
    project: Name | None = None
    """Null: all of them."""
    expires_in: Annotated[int, Meta(ge=1, le=10 * YEAR)] | None = None
    """Seconds; null: never."""
    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Requests a minute; null: any number."""


class Rotation(Body):
    """A token gives way to a new one that may do the same."""

    overlap: Annotated[int, Meta(ge=0, le=YEAR)] = 0
    """Seconds that the old one is still good for."""


class Revocation(Body):
    """A token is good for nothing any more."""


class TokenStory(msgspec.Struct):
    """What is known of a token; what it is, is shown once."""

    id: str
    scope: str
    project: str | None
    created: str
    expires: str | None
    revoked: str | None
    rate: int | None
    token: str | None = None
    """Only when it was just made."""


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
    """Once more, so that it is the one that is meant."""


class Deleted(msgspec.Struct):
    """A project that is no more."""

    name: str
    events: int
    """How many were removed."""


class Cloning(Body):
    """A new project that begins with what this one has learned."""

    name: Name
    problem: Problem | None = None
    """Another version of the problem: other prices, more values, more actions."""


class Erasing(Body):
    """The case is erased, for ever; what it added to the counters stays."""


class Erased(msgspec.Struct):
    """A case of which nothing is left but that it was."""

    case: int
    events: int
    """How many were blanked."""


class Repricing(Body):
    """From the next plan on observations have these prices; others stay."""

    prices: Annotated[dict[str, Price], Meta(min_length=1)]


prepare(*(kind for kind in list(globals().values()) if isinstance(kind, msgspec.StructMeta)))
