"""The calls that read what a project has done: cases, policies, summaries, events, changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec

from askwise.service.api.call import LARGEST
from askwise.service.api.calls import GET_POLICY, LIST_AWAITED, LIST_CASES, LIST_EVENTS
from askwise.service.api.messages import Alarm, Alarms, Summary
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.dashboard.alarms import AlarmLog, Facts, find_alarms
from askwise.service.dashboard.explanations import Explanations
from askwise.service.dashboard.summaries import (
    awaited,
    bought,
    case_story,
    pages_of_lines,
    summary,
)
from askwise.service.http.bodies import encoded, query_numbers, whole_number
from askwise.service.http.live import changes
from askwise.service.http.requests import Request, Response, Target
from askwise.service.http.threads import ReaderThreads
from askwise.service.ledger.rows import Project, StoredCase
from askwise.service.replanning.policy_versions import PolicyVersion

DEFAULT_LIMIT = 50
"""Cases of an answer, if the request does not say how many."""


class ReportHandlers:
    """Handlers of the calls that read.

    is_closing: set when the server ends, so that streams without end do.
    """

    def __init__(self, backend: Backend, readers: ReaderThreads, is_closing: asyncio.Event) -> None:
        self._backend = backend
        self._readers = readers
        self._is_closing = is_closing
        self._explanations = Explanations()
        self._alarm_log = AlarmLog()

    def close(self) -> None:
        """Work out no more explanations."""
        self._explanations.close()

    # --- cases -----------------------------------------------------------------------------------

    async def case(self, request: Request, target: Target) -> Response:
        """One case as it stands."""
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
        return self._stories(project, self._backend.ledger.latest_cases(project.id, before, limit))

    async def awaited(self, request: Request, target: Target) -> Response:
        """The cases that wait longest for their reward."""
        limit = query_numbers(request, LIST_AWAITED).get("limit", DEFAULT_LIMIT)
        return await self._readers.run(self._awaited, target, limit)

    def _awaited(self, target: Target, limit: int) -> Response:
        project = self._backend.project(target.project)
        return self._stories(project, awaited(self._backend.ledger, project.id, limit))

    def _stories(self, project: Project, cases: Sequence[StoredCase]) -> Response:
        decider = self._backend.decider(project)
        return encoded({"cases": [case_story(decider, case) for case in cases if case.data]})

    # --- policies --------------------------------------------------------------------------------

    async def policy(self, request: Request, target: Target) -> Response:
        """The policy as a tree."""
        names = (name for name, *_ in GET_POLICY.query)
        version = request.arguments(*names).get("version")
        found = await self._readers.run(self._policy_version, target, version)
        return encoded(await self._explanations.tree(*found))

    def _policy_version(
        self, target: Target, version: str | None = None
    ) -> tuple[int, PolicyVersion]:
        project = self._backend.project(target.project)
        number = project.version
        if version is not None:
            number = whole_number(version, "version", 1, project.version)
        return project.id, self._backend.policy_cache.version(project.id, number)

    async def worth(self, request: Request, target: Target) -> Response:
        """What each observation is worth."""
        request.arguments()
        found = await self._readers.run(self._policy_version, target)
        answer = await self._explanations.worth(*found)
        counts = await self._readers.run(self._bought, target)
        observations = [
            msgspec.structs.replace(o, bought=counts[o.name]) for o in answer.observations
        ]
        return encoded(msgspec.structs.replace(answer, observations=observations))

    def _bought(self, target: Target) -> dict[str, int]:
        backend = self._backend
        return bought(backend.ledger, backend.decider(backend.project(target.project)))

    # --- what happened ---------------------------------------------------------------------------

    async def summary(self, request: Request, target: Target) -> Response:
        """What was earned and spent, and what is still to learn."""
        request.arguments()
        answer = await self._readers.run(self._summary, target)
        found = await self._readers.run(self._policy_version, target)
        answer.still_to_learn = self._explanations.still_to_learn(*found)
        return encoded(answer)

    def _summary(self, target: Target) -> Summary:
        backend = self._backend
        return summary(backend.ledger, backend.decider(backend.project(target.project)))

    async def alarms(self, request: Request, target: Target) -> Response:
        """What an operator should look at."""
        request.arguments()
        found = await self._readers.run(self._alarms, target)
        return encoded(Alarms([Alarm(name, detail) for name, detail in found.items()]))

    def _alarms(self, target: Target) -> dict[str, str]:
        return self.alarms_of(self._backend.project(target.project))

    def alarms_of(self, project: Project) -> dict[str, str]:
        """The alarms of a project by name; those that are new, or over, are logged."""
        backend, readiness = self._backend, self._backend.readiness
        planned = backend.policy_cache.in_memory(project.id)
        facts = Facts(
            is_late=project.name in readiness.late,
            unreadable=readiness.unreadable.get(project.name, ""),
            worth=self._explanations.known_worth(project.id),
            explores=planned is None or planned.policy.exploration is not None,
        )
        found = find_alarms(backend.ledger, project, facts)
        self._alarm_log.note(project.name, found)
        return found

    async def events(self, request: Request, target: Target) -> Response:
        """All events, a line each."""
        after = query_numbers(request, LIST_EVENTS).get("after", 0)
        project = await self._readers.run(self._backend.project, target.project)
        stream = self._event_lines(project, after)
        return Response(200, content_type=LIST_EVENTS.content_type, stream=stream)

    async def _event_lines(self, project: Project, after: int) -> AsyncIterator[bytes]:
        pages = pages_of_lines(self._backend.ledger, project, after)
        while (page := await self._readers.run(next, pages, None)) is not None:
            yield page

    async def live(self, request: Request, target: Target) -> Response:
        """What changes, as it changes."""
        request.arguments()
        await self._readers.run(self._backend.project, target.project)
        stream = changes(self._backend, target.project, target.token, self._is_closing)
        return Response(200, content_type="text/event-stream", stream=stream)
