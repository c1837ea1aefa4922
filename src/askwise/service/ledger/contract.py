"""What a ledger promises, whatever database keeps it.

An event, the step of its case, what it adds to the counters and the answer to it are written in one
transaction, or none of them is. Events are never changed, and an idempotency key is taken for ever
within its project. Whoever writes in a project holds that project until the commit, so numbers of
events have no gaps and appear in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

HOUSE = 0
"""The project that is none: the keys of requests that create projects are its."""


class Project(NamedTuple):
    """A project as it stands."""

    id: int
    name: str
    problem: bytes
    learner: str
    options: bytes
    seed: int
    created: int
    """Times are whole microseconds since 1970, UTC."""
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


class Head(NamedTuple):
    """What moves in a project with every event."""

    seq: int
    opened: int
    version: int


class Event(NamedTuple):
    """What happened, and what was answered."""

    seq: int
    key: str
    kind: str
    case: int
    """0 if it is about no case."""
    body: bytes
    status: int
    answer: bytes
    at: int


class Increment(NamedTuple):
    """So much more at a place of a counter."""

    kind: str
    cell: int
    place: int
    amount: int


class StoredCase(NamedTuple):
    """A case as the ledger keeps it; `data` is for `decisions/stored_cases.py`."""

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
    """0 while it is good."""


LEASE = 10_000_000
"""Microseconds that a lease is good for, unless it is renewed. One that seems to be good for longer
was given when the database's clock was ahead of now: it is good for nothing."""


class Lease(NamedTuple):
    """The right to plan, until it expires; another holder's has a higher fencing number."""

    holder: str
    fence: int
    left: int
    """Microseconds until it expires, by the database's clock: nobody else's counts."""

    @property
    def is_good(self) -> bool:
        """Whether nobody but its holder may plan."""
        return 0 < self.left <= LEASE


class Plan(NamedTuple):
    """A policy to publish, and what it was planned from."""

    version: int
    watermark: int
    fence: int
    at: int
    blob: bytes


class Snapshot(NamedTuple):
    """The counters of a project just after the event `seq`."""

    seq: int
    opened: int
    version: int
    counters: list[Increment]


class Writing(Protocol):
    """A transaction that changes things; nobody else writes in the projects it has locked."""

    def lock(self, projects: Sequence[int]) -> dict[int, Head]:
        """Hold these projects until the end; unknown ones are left out."""

    def answered(self, project: int, keys: Sequence[str]) -> dict[str, Event]:
        """The events that have these keys already."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """Those of the cases that exist."""

    def amounts(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place)."""

    def append(
        self,
        project: int,
        head: Head,
        events: Sequence[Event],
        cases: Sequence[StoredCase],
        increments: Sequence[Increment],
    ) -> None:
        """Write the events, put the cases in place of what was, add to the counters."""

    def create(self, project: Project, plan: Plan) -> int | None:
        """A new project with its first policy: its number; None if the name is taken."""

    def add_plan(self, project: int, plan: Plan) -> None:
        """A policy of an imported project, as it was."""

    def add_token(self, token: StoredToken) -> None:
        """One more."""

    def publish(self, project: int, plan: Plan) -> bool:
        """Make the plan current if the version before it still is, and its lease is the newest."""


class Ledger(Protocol):
    """Durable events, and what follows from them. Methods may be called from any thread."""

    def migrate(self) -> None:
        """Bring the schema up to date; safe when many processes do so at once."""

    def writing(self) -> AbstractContextManager[Writing]:
        """One transaction: committed when the block ends, taken back if it raises."""

    def projects(self) -> list[Project]:
        """All of them, in the order of their creation."""

    def project(self, name: str) -> Project | None:
        """The project of that name."""

    def case(self, project: int, id: int) -> StoredCase | None:
        """One case."""

    def cases(self, project: int, ids: Sequence[int]) -> dict[int, StoredCase]:
        """Those of the cases that exist."""

    def latest_cases(self, project: int, before: int, limit: int) -> list[StoredCase]:
        """The newest cases with a number below `before`, the newest first."""

    def cases_in(self, project: int, status: int, numbers: range, limit: int) -> list[StoredCase]:
        """The first cases of that status among these numbers."""

    def events(self, project: int, after: int, limit: int) -> list[Event]:
        """The events with a higher number, in order."""

    def amounts(self, project: int, kind: str) -> dict[tuple[int, int], int]:
        """The counters of a kind, by (cell, place)."""

    def snapshot(self, project: int) -> Snapshot:
        """All counters of one moment."""

    def plan(self, project: int, version: int) -> Plan | None:
        """One policy."""

    def plans(self, project: int) -> Iterator[Plan]:
        """All policies, in order."""

    def plan_failed(self, project: int, failure: str) -> None:
        """Say why no new policy came."""

    def lease(self) -> Lease:
        """Whose right it is to plan; this writes nothing."""

    def take_lease(self, holder: str) -> Lease:
        """Take or renew the right to plan, unless it is another's; returns whose it is."""

    def release_lease(self, holder: str) -> None:
        """Give it up, if it is this one's."""

    def is_doubtful(self) -> bool:
        """Whether it looks as though nothing could be written now; this writes nothing."""

    def prove(self) -> None:
        """Write something that matters to nobody, as durably as all else; raises if it cannot."""

    def tokens(self) -> list[StoredToken]:
        """All tokens, the revoked ones too."""

    def add_token(self, token: StoredToken) -> None:
        """One more."""

    def revoke_token(self, id: str, at: int) -> bool:
        """Whether there was such a token that was still good."""

    def tend(self) -> None:
        """Do what the database wants done now and then; called every fraction of a second."""

    def close(self) -> None:
        """Let go of the database."""
