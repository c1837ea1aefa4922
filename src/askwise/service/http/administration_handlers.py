"""The calls of operators: tokens, and projects as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec

from askwise.service.api import operator_calls
from askwise.service.api.administration import Cloning, Tokens
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.decisions.administration import (
    archiving,
    deletion,
    renaming,
    repricing,
    token_creation,
    token_revocation,
    token_rotation,
    token_story,
)
from askwise.service.decisions.commit_groups import Creation
from askwise.service.decisions.creation import cloned_before, project_clone
from askwise.service.decisions.erasing import ChangedMeanwhile, erasure
from askwise.service.decisions.jobs import Administration, Answer, Result
from askwise.service.http.bodies import check_depth, encoded, read_body
from askwise.service.http.decision_handlers import single_response
from askwise.service.http.project_handlers import ProjectHandlers
from askwise.service.http.requests import Request, Response, Target
from askwise.service.http.threads import ReaderThreads, Submissions
from askwise.service.logging import log

_ID = re.compile(r"[0-9a-f]{12}")

ERASED_WITHIN = 5
"""Times that a case is read to be erased, should it change each time before that is written."""


class AdministrationHandlers:
    """Handlers of the calls that operators make."""

    def __init__(
        self,
        backend: Backend,
        readers: ReaderThreads,
        submissions: Submissions,
        projects: ProjectHandlers,
    ) -> None:
        self._backend = backend
        self._readers = readers
        self._submissions = submissions
        self._projects = projects

    # --- tokens ----------------------------------------------------------------------------------

    async def tokens(self, request: Request, target: Target) -> Response:
        """Lists all tokens, without their secrets."""
        request.arguments()
        found = await self._readers.run(self._backend.ledger.tokens)
        return encoded(Tokens([token_story(token) for token in found]))

    async def create_token(self, request: Request, target: Target) -> Response:
        """Make a token, and show it once."""
        body = read_body(request, operator_calls.CREATE_TOKEN.decoder)
        return await self._show_once(*token_creation(request.idempotency_key(), body))

    async def rotate_token(self, request: Request, target: Target) -> Response:
        """Make a token in place of another, and show it once."""
        body = read_body(request, operator_calls.ROTATE_TOKEN.decoder)
        key, which = request.idempotency_key(), _token_id(target)
        return await self._show_once(*token_rotation(key, which, body.overlap))

    async def revoke_token(self, request: Request, target: Target) -> Response:
        """Makes a token invalid."""
        read_body(request, operator_calls.REVOKE_TOKEN.decoder)
        return await self._write(token_revocation(request.idempotency_key(), _token_id(target)))

    async def _show_once(self, token: str, job: Administration) -> Response:
        result: Result = await self._submissions.submit([job], itemgetter(0))
        if isinstance(result, Answer) and result.is_new:
            made = msgspec.json.decode(result.body)["id"]
            asked = msgspec.json.decode(job.body)
            log("info", f"administration: {job.kind}", asked=asked, made=made)
            await self._readers.run(self._backend.tokens.refresh)
            return encoded(msgspec.json.decode(result.body) | {"token": token}, result.status)
        return single_response([result])

    # --- projects --------------------------------------------------------------------------------

    async def archive(self, request: Request, target: Target) -> Response:
        """Makes a project refuse requests."""
        read_body(request, operator_calls.ARCHIVE_PROJECT.decoder)
        return await self._change(request, archiving, target.project, archives=True)

    async def restore(self, request: Request, target: Target) -> Response:
        """Makes a project accept requests again."""
        read_body(request, operator_calls.RESTORE_PROJECT.decoder)
        return await self._change(request, archiving, target.project, archives=False)

    async def rename(self, request: Request, target: Target) -> Response:
        """Gives a project another name."""
        body = read_body(request, operator_calls.RENAME_PROJECT.decoder)
        return await self._change(request, renaming, target.project, body)

    async def delete(self, request: Request, target: Target) -> Response:
        """Remove a project and all that it holds."""
        body = read_body(request, operator_calls.DELETE_PROJECT.decoder)
        return await self._change(request, deletion, target.project, body)

    async def reprice(self, request: Request, target: Target) -> Response:
        """Change the prices of a project's observations."""
        body = read_body(request, operator_calls.REPRICE_PROJECT.decoder)
        key = request.idempotency_key()
        project = await self._readers.run(self._backend.project, target.project)
        job = await self._readers.run(repricing, project, key, body)
        return await self._write(job, target.project)

    async def erase(self, request: Request, target: Target) -> Response:
        """Erase a case, on request of the person that it was about."""
        read_body(request, operator_calls.ERASE_CASE.decoder)
        key, backend = request.idempotency_key(), self._backend

        def prepare() -> Administration:
            project = backend.project(target.project)
            find = partial(backend.policy_cache.version_or_thin, project.id)
            return erasure(backend.ledger, project, key, target.case, find)

        for _ in range(ERASED_WITHIN):
            job = await self._readers.run(prepare)
            result: Result = await self._submissions.submit([job], itemgetter(0))
            if not isinstance(result, ChangedMeanwhile):
                break
        return await self._written(job, result, target.project)

    async def clone(self, request: Request, target: Target) -> Response:
        """Create a project that begins with what another has learned."""
        key, ledger = request.idempotency_key(), self._backend.ledger

        def read() -> tuple[Cloning, Answer | None]:
            check_depth(request.body)
            body: Cloning = read_body(request, operator_calls.CLONE_PROJECT.decoder)
            return body, cloned_before(ledger, target.project, key, body)

        body, before = await self._readers.run(read)
        if before is not None:
            return single_response([before])

        def plan() -> tuple[str, str, Creation]:
            project = self._backend.project(target.project)
            return body.name, *project_clone(ledger, project, key, body)

        return await self._projects.create_planned(plan)

    async def _change(
        self, request: Request, job: Callable[..., Administration], *arguments: Any, **named: Any
    ) -> Response:
        key, ledger = request.idempotency_key(), self._backend.ledger

        def prepare() -> Administration:
            return job(ledger, key, *arguments, **named)

        return await self._write(await self._readers.run(prepare))

    async def _write(self, job: Administration, project: str = "") -> Response:
        result: Result = await self._submissions.submit([job], itemgetter(0))
        return await self._written(job, result, project)

    async def _written(self, job: Administration, result: Result, project: str = "") -> Response:
        """The response to a job, which is logged with the project that its body does not name."""
        if isinstance(result, Answer) and result.is_new:
            named = {"project": project} if project else {}
            asked = named | msgspec.json.decode(job.body)
            log("info", f"administration: {job.kind}", asked=asked)
            await self._readers.run(self._backend.tokens.refresh)
        return single_response([result])


def _token_id(target: Target) -> str:
    if not _ID.fullmatch(target.token_id):
        raise Refusal(404, f"there is no token {target.token_id[:40]!r}", "path:token")
    return target.token_id
