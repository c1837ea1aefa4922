"""What a ledger keeps, as rows: projects, events, cases, counters, policies, tokens, the lease.

Times are whole microseconds since 1970, UTC.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

NO_PROJECT = 0
"""The number that stands for no project: requests that create projects have their keys there."""


class Project(NamedTuple):
    """A project as it stands; the fields are the columns of the table, in order."""

    id: int
    name: str
    problem: bytes
    learner: str
    options: bytes
    seed: int
    created: int
    seq: int
    """The number of its newest event."""
    opened: int
    """How many cases were opened."""
    version: int
    """Of its current policy."""
    watermark: int
    """The newest event that this policy was planned with."""
    planned: int
    """When that was."""
    failure: str
    """Why the newest plan failed; empty if it did not."""
    archived: int = 0
    """Since when it takes no requests; 0 if it does."""


class Head(NamedTuple):
    """What moves in a project with every event."""

    seq: int
    opened: int
    version: int
    name: str = ""
    """Of the project, when it was locked."""
    archived: int = 0


class Event(NamedTuple):
    """What happened, and what was answered."""

    seq: int
    key: str
    kind: str
    case: int
    """0 if it is about no case."""
    body: bytes
    status: int
    """Of the answer, as HTTP has it."""
    answer: bytes
    at: int


class Increment(NamedTuple):
    """A counter, and how much is added to it; `counters.py` says which counters there are."""

    kind: str
    cell: int
    place: int
    amount: int


class Status(IntEnum):
    """Where a case is in its life."""

    OBSERVING = 0
    ACTED = 1
    DEFAULTED = 2
    REWARDED = 3
    CANCELLED = 4


class StoredCase(NamedTuple):
    """A case as the ledger keeps it; `decisions/stored_cases.py` reads and writes `data`."""

    id: int
    status: int
    data: bytes


class StoredToken(NamedTuple):
    """What is kept of a token: never the token."""

    id: str
    digest: bytes
    scope: str
    project: str
    """Its name; empty for all projects."""
    created: int
    revoked: int
    """When; 0 while the token is good."""
    expires: int = 0
    """When; 0: never."""
    rate: int = 0
    """Requests a minute; 0: any number."""

    def is_good(self, now: int) -> bool:
        """Whether requests may use it."""
        return not self.revoked and (not self.expires or now < self.expires)


class StoredPolicy(NamedTuple):
    """A version of a project's policy, and what it was planned from."""

    version: int
    watermark: int
    """The newest event that was counted."""
    fence: int
    """The fencing number of the lease under which it was planned."""
    at: int
    blob: bytes
    """The learner, as the library saves it."""


class Snapshot(NamedTuple):
    """The counters of a project just after the event `seq`."""

    seq: int
    opened: int
    version: int
    counters: list[Increment]


LEASE = 10_000_000
"""Microseconds that a lease is good for, unless it is renewed. One that seems to be good for longer
was given when the database's clock was ahead of now: it is good for nothing."""


class Lease(NamedTuple):
    """The right to plan, until it expires; the next holder's has a higher fencing number."""

    holder: str
    fence: int
    left: int
    """Microseconds until it expires, by the database's clock; no other clock counts."""

    @property
    def is_good(self) -> bool:
        """Whether only its holder may plan."""
        return 0 < self.left <= LEASE
