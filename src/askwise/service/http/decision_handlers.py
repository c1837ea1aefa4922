"""The calls that change a case: on their way to the writer, and back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from askwise.errors import LedgerError
from askwise.service.api.calls import ACT, BATCH, CANCEL, OBSERVE, OPEN_CASE, REWARD
from askwise.service.api.messages import BatchItem, Opening
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.case_decider import Request as CaseRequest
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Result
from askwise.service.http.bodies import read_body
from askwise.service.http.requests import Answering, Request, Response, Target, refused
from askwise.service.http.threads import ReaderThreads, Submissions


class DecisionHandlers:
    """Handlers of the calls that open a case or go on with one."""

    def __init__(self, backend: Backend, readers: ReaderThreads, submissions: Submissions) -> None:
        self._backend = backend
        self._readers = readers
        self._submissions = submissions

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
        return self._decide(jobs, batch_response)

    def _decide_one(self, request: Request, target: Target, body: CaseRequest) -> Answering:
        job = Operation(target.project, request.idempotency_key(), target.case, body)
        return self._decide([job], single_response)

    def _decide(
        self, jobs: list[Operation], render: Callable[[list[Result]], Response]
    ) -> Answering:
        """Have them written; what must be planned for them alone is planned first, by a reader."""
        decider = self._backend.deciders.get(jobs[0].project)
        openings = [job.body for job in jobs if isinstance(job.body, Opening)]
        if decider is not None:
            openings = [body for body in openings if decider.needs_own_policy(body)]
        if decider is not None and not openings:
            return self._submissions.submit(jobs, render)
        return self._plan_and_decide(decider, openings, jobs, render)

    async def _plan_and_decide(
        self,
        decider: CaseDecider | None,
        openings: list[Opening],
        jobs: list[Operation],
        render: Callable[[list[Result]], Response],
    ) -> Response:
        if decider is None:  # nobody asked for this project yet
            with suppress(LedgerError):  # the writer finds that out, too
                decider = await self._readers.run(self._backend.load, jobs[0].project)
        if decider is not None:
            openings = [body for body in openings if decider.needs_own_policy(body)]
            await self._readers.run(self._backend.plan_openings, decider, openings)
        return await self._submissions.submit(jobs, render)


def operation_of(project: str, place: int, item: BatchItem) -> Operation:
    """What an item of a batch asks."""
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
