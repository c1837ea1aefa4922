"""The calls that change a case: on their way to the writer, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from askwise.service.api.calls import ACT, BATCH, CANCEL, OBSERVE, OPEN_CASE, REWARD
from askwise.service.api.messages import BatchItem
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.decisions.case_decider import Request as CaseRequest
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Result
from askwise.service.decisions.writer import MOST_WAITING
from askwise.service.http.bodies import read_body
from askwise.service.http.plans_ahead import PlansAhead
from askwise.service.http.requests import Answering, Request, Response, Target, refused
from askwise.service.http.shares import Shares
from askwise.service.http.threads import ReaderThreads, Submissions
from askwise.service.ledger.rows import StoredToken


class DecisionHandlers:
    """Handlers of the calls that open a case or go on with one."""

    def __init__(self, backend: Backend, readers: ReaderThreads, submissions: Submissions) -> None:
        self._backend = backend
        self._plans = PlansAhead(backend, readers, submissions)
        self._shares = Shares(MOST_WAITING // 2, "requests that wait to be written")

    def close(self) -> None:
        """Plan for no more cases."""
        self._plans.close()

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
        """Plans for the requests and submits them, within the token's share of the queue."""
        self._shares.take(token, len(jobs))
        try:
            answering = asyncio.ensure_future(self._plans.submit(jobs, render))
        except BaseException:
            self._shares.give_back(token, len(jobs))
            raise
        answering.add_done_callback(lambda _: self._shares.give_back(token, len(jobs)))
        return answering


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
