"""A group of requests, decided and written as one transaction (a group commit).

What a request does to an existing case depends on that case alone. So requests about existing
cases are decided before the project is locked, from the cases as this process has them in memory.
Once it is locked, the ledger says whether it has the cases just so and whether the keys are new;
then what was decided is written. A request that opens a case is decided under the lock, because the
number of the case must be known. Where the ledger has something else, or the order within the group
matters, all of it is decided under the lock, in the order it came.

Everything is decided in memory, and only what was decided is written; so a request that is refused
has touched nothing, and the others do not notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from askwise.errors import LedgerError, LedgerUnavailableError
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.case_decider import KINDS, CaseDecider, Request
from askwise.service.decisions.jobs import (
    Administration,
    Answer,
    Result,
    StaleProjectError,
    administer,
    erased_key,
    repeated_answer,
    was_erased,
)
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.counters import MEMORY
from askwise.service.ledger.rows import (
    NO_PROJECT,
    Event,
    Head,
    Project,
    StoredCase,
    StoredPolicy,
    StoredToken,
)
from askwise.service.replanning.memory import Memory
from askwise.service.replanning.policy_versions import PolicyCache

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
    policy: StoredPolicy
    token: StoredToken
    answer: bytes
    """Without the token: that is shown once, and kept nowhere."""


Job = Operation | Creation | Administration


_Decided = tuple[str, str, int, bytes, int, bytes, int]
"""An event without its number."""


class _ProjectRequests:
    """The requests of a group about one project: what they ask, and what is written."""

    def __init__(self, decider: CaseDecider, policy_cache: PolicyCache, at: int) -> None:
        self.decider = decider
        self.project = decider.project.id
        self._policy_cache = policy_cache
        self._at = at
        self._jobs: list[tuple[int, Operation]] = []
        """The jobs with their places in the group."""
        self._is_decided_ahead = False
        """Whether the requests about existing cases were decided before the lock."""
        self._by_key: dict[str, Event] = {}
        """Events that have taken one of the keys."""
        self._found: dict[int, StoredCase] = {}
        """Cases as they are in the ledger; before the lock, as far as this process knows."""
        self._paid: dict[tuple[int, int], int] = {}
        """The sum of all payments for each observation."""
        self._memory = Memory()
        """The blocks of cases that are remembered, if the learner forgets."""
        self._is_archived = False
        self._decided: dict[int, _Decided] = {}
        """The decisions, by place in the group."""
        self._places: dict[str, int] = {}
        """The place of each key that was decided."""
        self._cases: dict[int, StoredCase] = {}
        """Cases as the group has left them so far."""
        self._changed: dict[int, StoredCase] = {}
        """The cases that must be written."""

    def add(self, place: int, job: Operation) -> None:
        """Add a request, with its place in the group."""
        self._jobs.append((place, job))

    def load_cases(self, ledger: Ledger) -> None:
        """Get the existing cases that are asked about, from memory or from the ledger."""
        numbers = {job.case for _, job in self._jobs if job.case}
        self._found = self.decider.cached(numbers)
        missing = numbers.difference(self._found)
        if missing:
            self._found |= ledger.cases(self.project, sorted(missing))

    def decide_ahead(self, results: list[Result | None]) -> None:
        """Decide the requests about existing cases, as though no other process wrote meanwhile."""
        self._reset()
        self._is_decided_ahead = self._can_decide_ahead()
        if self._is_decided_ahead:
            self._decide([(place, job) for place, job in self._jobs if job.case], results)

    def write(
        self, head: Head | None, transaction: Transaction, results: list[Result | None]
    ) -> None:
        """Decide the rest, and write all; the project is locked."""
        if head is None or head.name != self.decider.project.name:
            raise StaleProjectError(self.decider.project.name)
        undecided, before = self._jobs, self._found
        self._by_key = self._events_with_keys(transaction)
        numbers = {job.case for _, job in undecided if job.case}
        self._found = transaction.cases(self.project, sorted(numbers))
        self._is_archived = head.archived > 0
        is_as_expected = not self._by_key and self._found == before and not self._is_archived
        if self._is_decided_ahead and is_as_expected:
            undecided = [(place, job) for place, job in undecided if not job.case]
        else:
            self._reset()
            if self._has_paid_amounts():
                self._paid = transaction.counter_values(self.project, "paid_sums")
            if self.decider.forgets:
                self._memory = Memory.of(transaction.counter_values(self.project, MEMORY))
        opened = self._decide(undecided, results, head.opened, head.version)
        if self._decided:
            decided = (self._decided[place] for place in sorted(self._decided))
            events = [Event(seq, *what) for seq, what in enumerate(decided, head.seq + 1)]
            head = Head(events[-1].seq, opened, head.version)
            increments = self.decider.changes.increments()
            transaction.append(self.project, head, events, list(self._changed.values()), increments)

    def _events_with_keys(self, transaction: Transaction) -> dict[str, Event]:
        """The events that have taken the keys of the requests, also if they were erased since."""
        seed = self.decider.project.seed
        keys = {erased_key(seed, job.key): job.key for _, job in self._jobs}
        found = transaction.events_with_keys(self.project, [*keys.values(), *keys])
        return {keys.get(key, key): event for key, event in found.items()}

    def _reset(self) -> None:
        self._decided, self._places = {}, {}
        self._cases, self._changed = dict(self._found), {}
        self.decider.changes.reset()

    def _can_decide_ahead(self) -> bool:
        """Whether requests about existing cases depend on nothing but those cases.

        Three kinds of requests depend on more. Amounts paid must fit together with all that was
        ever paid. A learner that forgets counts by blocks of cases. A request may be about a case
        that the same group opens.
        """
        if self._has_paid_amounts() or self.decider.forgets:
            return False
        if all(job.case for _, job in self._jobs):
            return True
        keys = {job.key for _, job in self._jobs}
        known = all(job.case in self._found for _, job in self._jobs if job.case)
        return known and len(keys) == len(self._jobs)

    def _has_paid_amounts(self) -> bool:
        """Whether a request says what was paid: all of it together must fit into a counter."""
        return any(isinstance(job.body, Observing) and job.body.paid for _, job in self._jobs)

    def _decide(
        self,
        jobs: list[tuple[int, Operation]],
        results: list[Result | None],
        opened: int = 0,
        version: int = 0,
    ) -> int:
        """Decide them in order; returns how many cases the project has opened after that."""
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
        except LedgerError as error:  # a policy that cannot be read concerns its own project only
            return Refusal(503, f"{error}; nothing was written", retry=10)

    def _step(self, place: int, job: Operation, number: int, version: int) -> Answer:
        _, key, asked, request = job
        kind, body = KINDS[type(request)], _encode(request)
        if key in self._by_key:
            if self._by_key[key].key != key:
                raise was_erased()
            return repeated_answer(self._by_key[key], kind, asked, body)
        if key in self._places:
            before = Event(0, *self._decided[self._places[key]])
            return repeated_answer(before, kind, asked, body)
        if self._is_archived:
            raise Refusal(409, f"the project {job.project!r} is archived", "path:project")
        decider = self.decider
        is_new = isinstance(request, Opening)
        decider.changes.begin_step(number if is_new else number - 1, self._memory)
        if isinstance(request, Opening):
            planned = self._policy_cache.newest(self.project, version)
            case, status, answer = decider.open(number, planned, request, self._at)
        else:
            stored = self._cases.get(asked)
            if stored is None:
                raise Refusal(404, f"there is no case {asked} in {job.project!r}", "path:case")
            served = decider.resume(stored, looks=not isinstance(request, Rewarding))
            case, status, answer = decider.step(served, request, self._at, self._paid)
        number = case[0]
        self._places[key] = place
        self._decided[place] = (key, kind, number, body, status, answer, self._at)
        self._cases[number] = self._changed[number] = case
        return Answer(status, answer)


class CommitGroup:
    """Requests that are committed together; `decide_ahead` first, then `write` in a transaction."""

    def __init__(
        self,
        jobs: Sequence[Job],
        find_decider: Callable[[str], CaseDecider | None],
        policy_cache: PolicyCache,
    ) -> None:
        self._at = time.time_ns() // 1000
        self._results: list[Result | None] = [None] * len(jobs)
        self._creations: list[tuple[int, Creation]] = []
        self._administrations: list[tuple[int, Administration]] = []
        self._by_project: dict[str, _ProjectRequests] = {}
        for place, job in enumerate(jobs):
            if isinstance(job, Creation):
                self._creations.append((place, job))
                continue
            if isinstance(job, Administration):
                self._administrations.append((place, job))
                continue
            requests = self._by_project.get(job.project)
            if requests is None:
                decider = find_decider(job.project)
                if decider is None:
                    why = f"there is no project {job.project!r}"
                    self._results[place] = Refusal(404, why, "path:project")
                    continue
                requests = _ProjectRequests(decider, policy_cache, self._at)
                self._by_project[job.project] = requests
            requests.add(place, job)

    def decide_ahead(self, ledger: Ledger) -> None:
        """Decide what can be decided before any project is locked."""
        for requests in self._by_project.values():
            requests.load_cases(ledger)
            requests.decide_ahead(self._results)

    def write(self, transaction: Transaction) -> list[Result]:
        """Decide the rest, and write all; returns an answer or a refusal for each request."""
        locks = [requests.project for requests in self._by_project.values()]
        for _, job in self._administrations:
            locks += (NO_PROJECT, job.log, *job.locks)
        if self._creations:
            locks.append(NO_PROJECT)
        heads = transaction.lock(locks)
        for place, creation in self._creations:
            self._results[place] = self._create(creation, transaction)
        for requests in self._by_project.values():
            requests.write(heads.get(requests.project), transaction, self._results)
        for place, job in self._administrations:
            self._results[place] = administer(job, transaction, self._at)
        assert None not in self._results
        return self._results  # type: ignore[return-value]

    def _create(self, job: Creation, transaction: Transaction) -> Result:
        head = transaction.lock([NO_PROJECT])[NO_PROJECT]
        before = transaction.events_with_keys(NO_PROJECT, [job.key]).get(job.key)
        if before is not None:
            try:
                return repeated_answer(before, "create", 0, job.body)
            except Refusal as refusal:
                return refusal
        if transaction.create(job.project, job.policy) is None:
            name = job.project.name
            return Refusal(
                409, f"there is a project {name!r} already, choose another name", "#/name"
            )
        event = Event(
            seq=head.seq + 1,
            key=job.key,
            kind="create",
            case=0,
            body=job.body,
            status=201,
            answer=job.answer,
            at=self._at,
        )
        transaction.append(NO_PROJECT, head._replace(seq=event.seq), [event], [], [])
        transaction.add_token(job.token)
        return Answer(201, job.answer)
