"""The calls that change a case: on their way to the writer, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from askwise.errors import LedgerError
from askwise.policy import Policy
from askwise.service.api.calls import ACT, BATCH, CANCEL, OBSERVE, OPEN_CASE, REWARD
from askwise.service.api.messages import BatchItem, Opening
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.case_decider import Request as CaseRequest
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Result
from askwise.service.decisions.writer import MOST_WAITING
from askwise.service.http.bodies import read_body
from askwise.service.http.requests import Answering, Request, Response, Target, refused
from askwise.service.http.shares import Shares
from askwise.service.http.threads import ReaderThreads, Submissions
from askwise.service.ledger.rows import StoredToken
from askwise.service.priority import lower_priority

LARGE = 1_000
"""States from which on a policy for one case takes more than some milliseconds."""


class DecisionHandlers:
    """Handlers of the calls that open a case or go on with one."""

    def __init__(self, backend: Backend, readers: ReaderThreads, submissions: Submissions) -> None:
        self._backend = backend
        self._readers = readers
        self._submissions = submissions
        self._shares = Shares(MOST_WAITING // 2, "requests that wait to be written")
        self._loop = asyncio.get_running_loop()
        self._planner = ThreadPoolExecutor(1, "openings", initializer=lower_priority)
        """Plans for cases on their own terms; a thousand of them in a batch take long, and calls
        that read have their own threads."""
        self._finder = ThreadPoolExecutor(1, "finder")
        """Reads cases that may have to be planned for."""

    def close(self) -> None:
        """Plan for no more cases."""
        self._finder.shutdown(cancel_futures=True)
        self._planner.shutdown(cancel_futures=True)

    def open(self, request: Request, target: Target) -> Answering:
        """Open a case under the newest policy."""
        return self._decide_one(request, target, read_body(request, OPEN_CASE.decoder))

    def observe(self, request: Request, target: Target) -> Answering:
        """Take in what was bought."""
        return self._decide_one(request, target, read_body(request, OBSERVE.decoder))

    def act(self, request: Request, target: Target) -> Answering:
        """Take in what people did, whatever was advised."""
        return self._decide_one(request, target, read_body(request, ACT.decoder))

    def reward(self, request: Request, target: Target) -> Answering:
        """Take in how well a case went."""
        return self._decide_one(request, target, read_body(request, REWARD.decoder))

    def cancel(self, request: Request, target: Target) -> Answering:
        """Abandon a case: no action, or no reward, will come."""
        return self._decide_one(request, target, read_body(request, CANCEL.decoder))

    def batch(self, request: Request, target: Target) -> Answering:
        """Take many of those, each with its own key."""
        items = read_body(request, BATCH.decoder)
        most = self._backend.settings.most_items
        if not 1 <= len(items) <= most:
            raise Refusal(422, f"a batch has 1 to {most:,} items, got {len(items):,}", "#")
        self._backend.limits.owe(target.token, len(items) - 1)
        jobs = [operation_of(target.project, k, item) for k, item in enumerate(items)]
        return self._decide(target.token, jobs, batch_response)

    def _decide_one(self, request: Request, target: Target, body: CaseRequest) -> Answering:
        job = Operation(target.project, request.idempotency_key(), target.case, body)
        return self._decide(target.token, [job], single_response)

    def _decide(
        self,
        token: StoredToken,
        jobs: list[Operation],
        render: Callable[[list[Result]], Response],
    ) -> Answering:
        """Submits the requests to the writer, within the token's share of the queue."""
        self._shares.take(token, len(jobs))
        try:
            answering = asyncio.ensure_future(self._write(jobs, render))
        except BaseException:
            self._shares.give_back(token, len(jobs))
            raise
        answering.add_done_callback(lambda _: self._shares.give_back(token, len(jobs)))
        return answering

    def _write(
        self, jobs: list[Operation], render: Callable[[list[Result]], Response]
    ) -> asyncio.Future[Response] | Coroutine[Any, Any, Response]:
        """What must be planned for them alone is planned first, aside."""
        decider = self._backend.deciders.get(jobs[0].project)
        if decider is not None and not any(self._to_plan(decider, jobs)):
            return self._submissions.submit(jobs, render)
        return self._plan_and_decide(decider, jobs, render)

    async def _plan_and_decide(
        self,
        decider: CaseDecider | None,
        jobs: list[Operation],
        render: Callable[[list[Result]], Response],
    ) -> Response:
        if decider is None:  # the project is not loaded yet
            with suppress(LedgerError):  # the writer finds that out, too
                decider = await self._readers.run(self._backend.load, jobs[0].project)
        plans: list[Policy | None] = []
        """Kept until the cases are decided, so that the writer finds them."""
        if decider is not None:
            openings, numbers = self._to_plan(decider, jobs)
            if openings:
                plans += await self._plan(self._backend.plan_openings, decider, openings)
            if numbers:
                find, run = self._backend.cases_to_plan, self._loop.run_in_executor
                cases = await run(self._finder, find, decider, numbers)
                if cases:
                    plans += await self._plan(self._backend.plan_steps, decider, cases)
        answer = await self._submissions.submit(jobs, render)
        plans.clear()
        return answer

    def _plan(
        self, plan: Callable[..., list[Policy | None]], *arguments: Any
    ) -> asyncio.Future[list[Policy | None]]:
        return self._loop.run_in_executor(self._planner, plan, *arguments)

    def _to_plan(
        self, decider: CaseDecider, jobs: list[Operation]
    ) -> tuple[list[Opening], list[int]]:
        """The openings and the cases that may need a policy of their own.

        For a case in a small problem, planning is as quick as reading the case before.
        """
        openings = [job.body for job in jobs if isinstance(job.body, Opening)]
        openings = [body for body in openings if decider.needs_own_policy(body)]
        if decider.lattice.size <= LARGE:
            return openings, []
        numbers = {job.case for job in jobs if job.case}
        in_memory = self._backend.writer.in_memory
        return openings, [n for n in numbers if not in_memory(jobs[0].project, n)]


def operation_of(project: str, place: int, item: BatchItem) -> Operation:
    """Returns the operation of an item of a batch."""
    asked = (item.open, item.observations, item.acted, item.reward, item.cancel)
    bodies = [body for body in asked if body is not None]
    if len(bodies) != 1:
        what = "expected just one of open, observations, acted, reward, cancel"
        raise Refusal(422, what, f"#/{place}")
    if (item.open is None) == (item.case is None):
        what = "a new case has no number yet" if item.open else "the number of the case is missing"
        raise Refusal(422, what, f"#/{place}/case")
    return Operation(project, item.key, item.case or 0, bodies[0])


def single_response(results: list[Result]) -> Response:
    """The response to a request by itself."""
    (result,) = results
    if isinstance(result, Refusal):
        return refused(result)
    return Response(result.status, result.body)


def batch_response(results: list[Result]) -> Response:
    """The response to a batch."""
    parts = [
        b'{"status":%d,"problem":%s}' % (r.status, r.encoded())
        if isinstance(r, Refusal)
        else b'{"status":%d,"answer":%s}' % (r.status, r.body)
        for r in results
    ]
    return Response(200, b"[" + b",".join(parts) + b"]")
