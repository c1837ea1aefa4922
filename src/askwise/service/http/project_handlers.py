"""The calls about projects as such: creating, listing, and what the token may do."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import msgspec

from askwise.service.api.calls import CREATE_PROJECT, SIGN_IN
from askwise.service.api.messages import NewProject, TokenAnswer
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.decisions.administration import token_story
from askwise.service.decisions.commit_groups import Creation
from askwise.service.decisions.creation import project_answer, project_creation
from askwise.service.decisions.jobs import Answer, Result
from askwise.service.http.bodies import check_depth, encoded, read_body
from askwise.service.http.decision_handlers import single_response
from askwise.service.http.requests import Request, Response, Target
from askwise.service.http.threads import ReaderThreads, SlowThreads, Submissions
from askwise.service.logging import log
from askwise.service.tokens import link_used

MOST_CREATING = 16
"""Projects that are being created, or wait for it; beyond, the answer is 503."""


MOST_PROJECTS = 10_000
"""The most streams of one server. Each costs memory, and a check every fraction of a second."""


class ProjectHandlers:
    """Handlers of the calls that create and list projects."""

    def __init__(self, backend: Backend, readers: ReaderThreads, submissions: Submissions) -> None:
        self._backend = backend
        self._readers = readers
        self._submissions = submissions
        beyond = "too many projects are being created, nothing was written"
        self._creator = SlowThreads("creator", 1, MOST_CREATING, beyond)
        """Plans for new projects, one after the other; whatever reads has its own threads."""

    def close(self) -> None:
        """Create no more projects."""
        self._creator.close()

    def token(self, request: Request, target: Target) -> Response:
        """Returns the rights of the token of the request."""
        request.arguments()
        return encoded(TokenAnswer(target.token.scope, target.token.project or None))

    async def create(self, request: Request, target: Target) -> Response:
        """Create a project; its first policy is planned in a thread, before the project exists."""
        key = request.idempotency_key()
        return await self.create_planned(lambda: _read_and_plan(key, request))

    async def create_planned(self, plan: Callable[[], tuple[str, str, Creation]]) -> Response:
        """Create the project that is planned: its name, its token and what is written."""
        if len(self._backend.projects) >= MOST_PROJECTS:
            why = f"there are {MOST_PROJECTS:,} projects, more are not served: delete some"
            raise Refusal(409, why)
        name, token, creation = await self._creator.run(plan)
        result: Result = await self._submissions.submit([creation], itemgetter(0))
        if isinstance(result, Answer) and result.is_new:
            log("info", "project created", project=name, token=creation.token.id)
            await self._readers.run(self._backend.tokens.refresh)
            shown = msgspec.json.decode(result.body) | {"token": token}
            return encoded(shown, 201)
        return single_response([result])

    async def sign_in(self, request: Request, target: Target) -> Response:
        """Change the link of the request for a token, once."""
        request.arguments()
        read_body(request, SIGN_IN.decoder)
        used = await self._readers.run(link_used, self._backend.ledger, target.token)
        if used is None:
            raise Refusal(401, "this link was used already", "header:Authorization")
        token, kept = used
        await self._readers.run(self._backend.tokens.refresh)
        log("info", "signed in with a link", link=target.token.id, token=kept.id)
        return encoded(msgspec.structs.replace(token_story(kept), token=token), 201)

    async def projects(self, request: Request, target: Target) -> Response:
        """Lists the projects that the token may read."""
        request.arguments()
        return await self._readers.run(self._projects, target.token.project)

    def _projects(self, only: str) -> Response:
        projects = [p for p in self._backend.ledger.projects() if not only or p.name == only]
        return encoded({"projects": [project_answer(p) for p in projects]})

    async def project(self, request: Request, target: Target) -> Response:
        """Returns the current state of a project."""
        request.arguments()
        return await self._readers.run(self._project, target.project)

    def _project(self, name: str) -> Response:
        return encoded(project_answer(self._backend.project(name)))


def _read_and_plan(key: str, request: Request) -> tuple[str, str, Creation]:
    """Runs in a thread, because a large body takes long to read, and a large project to plan."""
    check_depth(request.body)
    body: NewProject = read_body(request, CREATE_PROJECT.decoder)
    return body.name, *project_creation(key, body)
