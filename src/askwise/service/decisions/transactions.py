"""A group of requests, decided and written as one transaction.

What a request does to a case depends on that case alone. So whoever goes on with a case is decided
before it is our turn to write, from the case as we have it at hand; in our turn it is seen whether
the ledger has it just so, and whether the keys are new. Whoever begins a case is decided in our
turn: the number of the case must be known. Where the ledger has something else, or the order within
the group matters, all is decided in our turn, in the order it came.

Everything is decided in memory, and only what was decided is written; so a request that is refused
has touched nothing, and the others do not notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from askwise.errors import LedgerError, LedgerUnavailableError
from askwise.service.decisions.deciding import KINDS, Desk, Request
from askwise.service.http.messages import Observing, Opening
from askwise.service.http.problems import Refusal
from askwise.service.ledger.contract import (
    HOUSE,
    Event,
    Head,
    Ledger,
    Plan,
    Project,
    StoredCase,
    StoredToken,
    Writing,
)
from askwise.service.replanning.versions import Versions

_encode = msgspec.json.Encoder().encode


class Operation(NamedTuple):
    """A request about a case."""

    project: str
    key: str
    case: int
    """0 for one that is to be opened."""
    body: Request


class Creation(NamedTuple):
    """A request for a new project, whose first policy is planned already."""

    key: str
    body: bytes
    project: Project
    plan: Plan
    token: StoredToken
    answer: bytes
    """Without the token: that is shown once, and kept nowhere."""


Job = Operation | Creation


class Answer(NamedTuple):
    """What was committed."""

    status: int
    body: bytes
    is_new: bool = True
    """Whether it was decided just now; else it is the answer that was given before."""


Result = Answer | Refusal

_Decided = tuple[str, str, int, bytes, int, bytes, int]
"""An event without its number."""


class _Sheet:
    """What a group asks and writes in one project."""

    def __init__(self, desk: Desk, versions: Versions, at: int) -> None:
        self.desk = desk
        self.project = desk.project.id
        self._versions = versions
        self._at = at
        self._jobs: list[tuple[int, Operation]] = []
        """With their places in the group."""
        self._is_ahead = False
        """Whether whoever goes on with a case was decided already."""
        self._answered: dict[str, Event] = {}
        self._found: dict[int, StoredCase] = {}
        """As they are in the ledger; until it is our turn, as far as we know."""
        self._paid: dict[tuple[int, int], int] = {}
        self._decided: dict[int, _Decided] = {}
        """By their places."""
        self._places: dict[str, int] = {}
        """Of those, by their keys."""
        self._cases: dict[int, StoredCase] = {}
        self._touched: dict[int, StoredCase] = {}

    def add(self, place: int, job: Operation) -> None:
        """One more that is asked."""
        self._jobs.append((place, job))

    def look(self, ledger: Ledger) -> None:
        """Have the cases at hand that somebody goes on with."""
        numbers = {job.case for _, job in self._jobs if job.case}
        self._found = self.desk.at_hand(numbers)
        missing = numbers.difference(self._found)
        if missing:
            self._found |= ledger.cases(self.project, sorted(missing))

    def foresee(self, results: list[Result | None]) -> None:
        """Decide whoever goes on with one of them, as though nobody else did meanwhile."""
        self._begin()
        self._is_ahead = self._can_be_ahead()
        if self._is_ahead:
            self._decide([(place, job) for place, job in self._jobs if job.case], results)

    def write(self, head: Head, writing: Writing, results: list[Result | None]) -> None:
        """Decide the rest, and write all; now nobody else does."""
        left, before = self._jobs, self._found
        self._answered = writing.answered(self.project, [job.key for _, job in left])
        numbers = {job.case for _, job in left if job.case}
        self._found = writing.cases(self.project, sorted(numbers))
        if self._is_ahead and not self._answered and self._found == before:
            left = [(place, job) for place, job in left if not job.case]
        else:
            self._begin()
            if self._are_prices_told():
                self._paid = writing.amounts(self.project, "paid_sums")
        opened = self._decide(left, results, head.opened, head.version)
        if self._decided:
            decided = (self._decided[place] for place in sorted(self._decided))
            events = [Event(seq, *what) for seq, what in enumerate(decided, head.seq + 1)]
            head = Head(events[-1].seq, opened, head.version)
            increments = self.desk.counting.increments()
            writing.append(self.project, head, events, list(self._touched.values()), increments)

    def _begin(self) -> None:
        self._decided, self._places = {}, {}
        self._cases, self._touched = dict(self._found), {}
        self.desk.counting.begin()

    def _can_be_ahead(self) -> bool:
        """Whether it depends on nothing but the cases what becomes of whoever goes on with one.

        Not on what others paid; and not on somebody who begins a case in the same group.
        """
        if self._are_prices_told():
            return False
        if all(job.case for _, job in self._jobs):
            return True
        keys = {job.key for _, job in self._jobs}
        known = all(job.case in self._found for _, job in self._jobs if job.case)
        return known and len(keys) == len(self._jobs)

    def _are_prices_told(self) -> bool:
        """What was ever paid for an observation must fit into its counter."""
        return any(isinstance(job.body, Observing) and job.body.paid for _, job in self._jobs)

    def _decide(
        self,
        jobs: list[tuple[int, Operation]],
        results: list[Result | None],
        opened: int = 0,
        version: int = 0,
    ) -> int:
        """Decide them in order; how many cases were opened after that."""
        for place, job in jobs:
            result = results[place] = self._answer(place, job, opened + 1, version)
            if not job.case and isinstance(result, Answer) and result.is_new:
                opened += 1
        return opened

    def _answer(self, place: int, job: Operation, number: int, version: int) -> Result:
        try:
            return self._step(place, job, number, version)
        except Refusal as refusal:
            return refusal
        except LedgerUnavailableError:
            raise
        except LedgerError as error:  # a policy that cannot be read is its own project's trouble
            return Refusal(503, f"{error}; nothing was written", retry=10)

    def _step(self, place: int, job: Operation, number: int, version: int) -> Answer:
        _, key, asked, request = job
        kind, body = KINDS[type(request)], _encode(request)
        if key in self._answered:
            return same_answer(self._answered[key], kind, asked, body)
        if key in self._places:
            before = Event(0, *self._decided[self._places[key]])
            return same_answer(before, kind, asked, body)
        desk = self.desk
        if isinstance(request, Opening):
            planned = self._versions.newest(self.project, version)
            case, status, answer = desk.open(number, planned, request, self._at)
        else:
            stored = self._cases.get(asked)
            if stored is None:
                raise Refusal(404, f"there is no case {asked} in {job.project!r}", "path:case")
            taken = desk.take(stored)
            case, status, answer = desk.step(taken, request, self._at, self._paid)
        number = case[0]
        self._places[key] = place
        self._decided[place] = (key, kind, number, body, status, answer, self._at)
        self._cases[number] = self._touched[number] = case
        return Answer(status, answer)


class Group:
    """Requests that are committed together."""

    def __init__(
        self, jobs: Sequence[Job], desk: Callable[[str], Desk | None], versions: Versions
    ) -> None:
        self._at = time.time_ns() // 1000
        self._results: list[Result | None] = [None] * len(jobs)
        self._creations: list[tuple[int, Creation]] = []
        self._sheets: dict[str, _Sheet] = {}
        for place, job in enumerate(jobs):
            if isinstance(job, Creation):
                self._creations.append((place, job))
                continue
            sheet = self._sheets.get(job.project)
            if sheet is None:
                found = desk(job.project)
                if found is None:
                    why = f"there is no project {job.project!r}"
                    self._results[place] = Refusal(404, why, "path:project")
                    continue
                sheet = self._sheets[job.project] = _Sheet(found, versions, self._at)
            sheet.add(place, job)

    def foresee(self, ledger: Ledger) -> None:
        """Decide what can be decided before it is our turn."""
        for sheet in self._sheets.values():
            sheet.look(ledger)
            sheet.foresee(self._results)

    def write(self, writing: Writing) -> list[Result]:
        """Decide and write the rest; an answer or a refusal for each."""
        for place, creation in self._creations:
            self._results[place] = self._create(creation, writing)
        heads = writing.lock([sheet.project for sheet in self._sheets.values()])
        for sheet in self._sheets.values():
            sheet.write(heads[sheet.project], writing, self._results)
        assert None not in self._results
        return self._results  # type: ignore[return-value]

    def _create(self, job: Creation, writing: Writing) -> Result:
        head = writing.lock([HOUSE])[HOUSE]
        before = writing.answered(HOUSE, [job.key]).get(job.key)
        if before is not None:
            try:
                return same_answer(before, "create", 0, job.body)
            except Refusal as refusal:
                return refusal
        if writing.create(job.project, job.plan) is None:
            name = job.project.name
            return Refusal(409, f"there is a project {name!r} already", "#/name")
        event = Event(head.seq + 1, job.key, "create", 0, job.body, 201, job.answer, self._at)
        writing.append(HOUSE, head._replace(seq=event.seq), [event], [], [])
        writing.add_token(job.token)
        return Answer(201, job.answer)


def same_answer(before: Event, kind: str, case: int, body: bytes) -> Answer:
    """The answer that this key was given, if it was asked the same."""
    asked = before.kind, 0 if kind in ("open", "create") else before.case, before.body
    if asked != (kind, case, body):
        raise Refusal(
            409,
            "this idempotency key was used for another request; a new request needs a new key",
            "header:Idempotency-Key",
        )
    return Answer(before.status, before.answer, is_new=False)
