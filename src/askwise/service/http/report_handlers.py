"""The calls that read what a project has done: cases, policies, summaries, events, changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from askwise.errors import CaseError
from askwise.problem.amounts import check_stake
from askwise.service.api.call import LARGEST, STAKE
from askwise.service.api.calls import (
    GET_POLICY,
    GET_WORTH,
    LIST_AWAITED,
    LIST_CASES,
    LIST_EVENTS,
    LIST_VERSIONS,
)
from askwise.service.api.messages import Summary
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.api.reports import Alarm, Alarms, VersionAnswer, Versions
from askwise.service.backend.backend import Backend
from askwise.service.dashboard.alarms import Facts, find_alarms
from askwise.service.dashboard.explanations import Explanations
from askwise.service.dashboard.summaries import (
    awaited,
    bought,
    budget_of_version,
    case_story,
    pages_of_lines,
    summary,
)
from askwise.service.http.bodies import encoded, number, query_numbers, whole_number
from askwise.service.http.live import changes
from askwise.service.http.requests import Request, Response, Target
from askwise.service.http.shares import Shares
from askwise.service.http.threads import ReaderThreads
from askwise.service.ledger.rows import PolicyHead, Project, StoredCase, StoredToken
from askwise.service.logging import timestamp
from askwise.service.replanning.policy_versions import PolicyVersion
from askwise.service.replanning.thinning import THIN

DEFAULT_LIMIT = 50
"""Cases of an answer, if the request does not say how many."""


MOST_STREAMS = 100
"""Streams of changes of one token, in one worker."""

_VERSIONS = "GET …/versions"


def _version_answer(head: PolicyHead) -> VersionAnswer:
    is_thinned = head.begins.startswith(THIN)
    return VersionAnswer(head.version, timestamp(head.at), head.watermark, is_thinned)


def _stake(given: Mapping[str, str], planned: PolicyVersion) -> float:
    """Returns the stake of the request, if this project allows it."""
    if "stake" not in given:
        return 1.0
    stake = number(given["stake"], *STAKE)
    try:
        return check_stake(stake, planned.lattice.problem.reward_value)
    except CaseError as error:
        raise Refusal(422, in_fields(str(error)), "query:stake") from None


class ReportHandlers:
    """Handlers of the calls that read.

    is_closing: set when the server ends, so that streams without end do.
    """

    def __init__(self, backend: Backend, readers: ReaderThreads, is_closing: asyncio.Event) -> None:
        self._backend = backend
        self._readers = readers
        self._is_closing = is_closing
        self._explanations = Explanations()
        self._streams = Shares(MOST_STREAMS, "streams of changes")

    def close(self) -> None:
        """Work out no more explanations."""
        self._explanations.close()

    # --- cases -----------------------------------------------------------------------------------

    async def case(self, request: Request, target: Target) -> Response:
        """Returns the current state of a case."""
        request.arguments()
        return await self._readers.run(self._case, target)

    def _case(self, target: Target) -> Response:
        backend = self._backend
        project = backend.project(target.project)
        found = backend.ledger.case(project.id, target.case)
        if found is None:
            raise Refusal(404, f"there is no case {target.case} in {project.name!r}", "path:case")
        return encoded(case_story(backend.decider(project), found))

    async def cases(self, request: Request, target: Target) -> Response:
        """The newest cases, or those before a number."""
        given = query_numbers(request, LIST_CASES)
        before, limit = given.get("before", LARGEST), given.get("limit", DEFAULT_LIMIT)
        return await self._readers.run(self._cases, target, before, limit)

    def _cases(self, target: Target, before: int, limit: int) -> Response:
        project = self._backend.project(target.project)
        reports = self._backend.reports
        found = reports.latest_cases(project.id, before, limit, with_erased=False)
        return self._stories(project, found)

    async def awaited(self, request: Request, target: Target) -> Response:
        """The cases that wait longest for their reward."""
        limit = query_numbers(request, LIST_AWAITED).get("limit", DEFAULT_LIMIT)
        return await self._readers.run(self._awaited, target, limit)

    def _awaited(self, target: Target, limit: int) -> Response:
        project = self._backend.project(target.project)
        return self._stories(project, awaited(self._backend.reports, project.id, limit))

    def _stories(self, project: Project, cases: Sequence[StoredCase]) -> Response:
        decider = self._backend.decider(project)
        return encoded({"cases": [case_story(decider, case) for case in cases if case.data]})

    # --- policies --------------------------------------------------------------------------------

    async def policy(self, request: Request, target: Target) -> Response:
        """The policy as a tree."""
        given = request.arguments(*(name for name, *_ in GET_POLICY.query))
        found = await self._readers.run(self._policy_version, target, given.get("version"))
        return encoded(await self._explanations.tree(*found, _stake(given, found[1])))

    def _policy_version(
        self, target: Target, version: str | None = None
    ) -> tuple[int, PolicyVersion]:
        project = self._backend.project(target.project)
        number = project.version
        if version is not None:
            number = whole_number(version, "version", 1, project.version)
        if number < project.version:
            stored = self._backend.ledger.policy(project.id, number)
            if stored is not None and stored.blob.startswith(THIN):
                why = f"of version {number} only the prices are left; {_VERSIONS} says of which"
                raise Refusal(410, why, "query:version")
        return project.id, self._backend.policy_cache.version(project.id, number)

    async def versions(self, request: Request, target: Target) -> Response:
        """When which version was planned."""
        given = query_numbers(request, LIST_VERSIONS)
        before, limit = given.get("before"), given.get("limit", DEFAULT_LIMIT)
        return await self._readers.run(self._versions, target, before, limit)

    def _versions(self, target: Target, before: int | None, limit: int) -> Response:
        project = self._backend.project(target.project)
        until = LARGEST if before is None else before * 1_000_000
        heads = self._backend.reports.latest_policies(project.id, until, limit)
        return encoded(Versions([_version_answer(head) for head in heads]))

    async def worth(self, request: Request, target: Target) -> Response:
        """Returns the worth of each observation."""
        given = request.arguments(*(name for name, *_ in GET_WORTH.query))
        found = await self._readers.run(self._policy_version, target)
        answer = await self._explanations.worth(*found, _stake(given, found[1]))
        counts = await self._readers.run(self._bought, target)
        observations = [
            msgspec.structs.replace(o, bought=counts[o.name]) for o in answer.observations
        ]
        return encoded(msgspec.structs.replace(answer, observations=observations))

    def _bought(self, target: Target) -> dict[str, int]:
        backend = self._backend
        return bought(backend.reports, backend.decider(backend.project(target.project)))

    # --- what happened ---------------------------------------------------------------------------

    async def summary(self, request: Request, target: Target) -> Response:
        """Returns the earnings and the spend, and what is still to learn."""
        request.arguments()
        answer = await self._readers.run(self._summary, target)
        found = await self._readers.run(self._policy_version, target)
        answer.still_to_learn = self._explanations.still_to_learn(*found)
        answer.budget = budget_of_version(found[1].learner)
        replica = self._backend.replica
        answer.behind = None if replica is None else replica.behind
        return encoded(answer)

    def _summary(self, target: Target) -> Summary:
        backend = self._backend
        return summary(backend.reports, backend.decider(backend.project(target.project)))

    async def alarms(self, request: Request, target: Target) -> Response:
        """Returns the alarms for operators."""
        request.arguments()
        found = await self._readers.run(self._alarms, target)
        return encoded(Alarms([Alarm(name, detail) for name, detail in found.items()]))

    def _alarms(self, target: Target) -> dict[str, str]:
        return self.alarms_of(self._backend.project(target.project))

    def alarms_of(self, project: Project) -> dict[str, str]:
        """The alarms of a project by name, and a sentence for each."""
        backend, readiness = self._backend, self._backend.readiness
        facts = Facts(
            is_late=project.name in readiness.late,
            unreadable=readiness.unreadable.get(project.name, ""),
        )
        return find_alarms(backend.reports, project, facts)

    async def events(self, request: Request, target: Target) -> Response:
        """Streams all events, one a line."""
        after = query_numbers(request, LIST_EVENTS).get("after", 0)
        project = await self._readers.run(self._backend.project, target.project)
        stream = self._event_lines(project, after)
        return Response(200, content_type=LIST_EVENTS.content_type, stream=stream)

    async def _event_lines(self, project: Project, after: int) -> AsyncIterator[bytes]:
        pages = pages_of_lines(self._backend.reports, project, after)
        while (page := await self._readers.run(next, pages, None)) is not None:
            yield page

    async def live(self, request: Request, target: Target) -> Response:
        """Streams the changes of a project as they happen."""
        request.arguments()
        self._streams.check(target.token)
        await self._readers.run(self._backend.project, target.project)
        found = changes(self._backend, target.project, target.token, self._is_closing)
        stream = self._counted(target.token, found)
        return Response(200, content_type="text/event-stream", stream=stream)

    async def _counted(
        self, token: StoredToken, stream: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The stream, counted for its token for as long as it is read."""
        self._streams.take(token)
        try:
            async for part in stream:
                yield part
        finally:
            self._streams.give_back(token)
