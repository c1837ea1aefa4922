"""The rows of a ledger: projects, events, cases, counters, policies, tokens, the lease.

Times are whole microseconds since 1970, UTC.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

NO_PROJECT = 0
"""The number that stands for no project. Requests that create projects have their keys there."""


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
    """The version of its current policy."""
    watermark: int
    """The newest event that this policy was planned with."""
    planned: int
    """When this policy was planned."""
    failure: str
    """Why the newest plan failed; empty if it succeeded."""
    archived: int = 0
    """Since when the project takes no requests; 0 if it does take them."""
    outlook: str = ""
    """What its alarms go by, as the replanner last worked it out (`replanning/outlook.py`)."""


class Head(NamedTuple):
    """The part of a project that changes with every event."""

    seq: int
    opened: int
    version: int
    name: str = ""
    """The name of the project when it was locked."""
    archived: int = 0


class Event(NamedTuple):
    """A change that was requested, and the answer to it."""

    seq: int
    key: str
    kind: str
    case: int
    """The number of the case; 0 if the event is about no case."""
    body: bytes
    status: int
    """The HTTP status of the answer."""
    answer: bytes
    at: int


class Increment(NamedTuple):
    """A counter, and how much is added to it; `counters.py` says which counters there are."""

    kind: str
    cell: int
    place: int
    amount: int


class Status(IntEnum):
    """The status of a case."""

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
    """The stored facts of a token. The token itself is never stored."""

    id: str
    digest: bytes
    scope: str
    project: str
    """The name of the project that it is for; empty for all projects."""
    created: int
    revoked: int
    """When the token was revoked; 0 if it was not."""
    expires: int = 0
    """When the token expires; 0 for never."""
    rate: int = 0
    """Requests that it allows a minute; 0 for any number."""
    lasts: int = 0
    """Microseconds that it was made for; 0 for ever. A token that is rotated expires earlier."""

    def is_good(self, now: int) -> bool:
        """Whether requests may use it."""
        return not self.revoked and (not self.expires or now < self.expires)


class StoredPolicy(NamedTuple):
    """A version of a project's policy, and what it was planned from."""

    version: int
    watermark: int
    """The newest event that the plan counted."""
    fence: int
    """The fencing number of the lease under which it was planned."""
    at: int
    blob: bytes
    """The learner, as the library saves it."""


class PolicyHead(NamedTuple):
    """A version of a project's policy, without the policy."""

    version: int
    watermark: int
    at: int
    begins: bytes
    """Its first bytes, which tell a thinned version from a whole one."""


class Snapshot(NamedTuple):
    """The counters of a project just after the event `seq`."""

    seq: int
    opened: int
    version: int
    counters: list[Increment]


LEASE = 10_000_000
"""Microseconds that a lease is valid for, unless it is renewed.

A lease that seems to be valid for longer was given before the database's clock was set back. It is
not valid.
"""


class Lease(NamedTuple):
    """The right to plan until it expires; the next holder gets a higher fencing number."""

    holder: str
    fence: int
    left: int
    """Microseconds until it expires, by the database's clock."""

    @property
    def is_good(self) -> bool:
        """Whether the lease is valid: only its holder may plan."""
        return 0 < self.left <= LEASE
