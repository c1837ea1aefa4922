"""Policies for cases on their own terms are planned before their requests go to the writer.

One thread plans, and projects take turns in it, one case at a time. The requests of a batch are
written in order, in parts: a part is written once its plans have become large or old. So a batch
of a thousand cases keeps few plans in memory, and hardly any plan is of a version that has passed.
Each request of a batch has its own key and its own answer, so parts are as good as the whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend, CasePlan
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Result
from askwise.service.http.requests import Response
from askwise.service.http.threads import ReaderThreads, Submissions
from askwise.service.ledger.rows import StoredCase
from askwise.service.priority import lower_priority

LARGE = 1_000
"""States from which on a policy for one case takes more than some milliseconds."""

MOST_BYTES = 64 * 2**20
"""Bytes of plans that wait for the writer, over all requests: beyond, each next plan is followed by
writing. So there may be one plan more for each request that waits."""

LONGEST = 0.25
"""Seconds of planning after which a part is written: a newer version makes its plans useless."""

Render = Callable[[list[Result]], Response]


class PlansAhead:
    """Plans for cases on their own terms, and submits all requests to the writer."""

    def __init__(self, backend: Backend, readers: ReaderThreads, submissions: Submissions) -> None:
        self._backend = backend
        self._readers = readers
        self._submissions = submissions
        self._loop = asyncio.get_running_loop()
        self._planner = ThreadPoolExecutor(1, "openings", initializer=lower_priority)
        """Plans for cases; calls that read have their own threads."""
        self._finder = ThreadPoolExecutor(1, "finder")
        """Reads cases that may have to be planned for."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By project: it has one case at a time in the planner's queue."""
        self._bytes = 0
        """The memory of all plans that wait for the writer."""

    def close(self) -> None:
        """Plan for no more cases."""
        self._finder.shutdown(cancel_futures=True)
        self._planner.shutdown(cancel_futures=True)

    def submit(
        self, jobs: list[Operation], render: Render
    ) -> asyncio.Future[Response] | Coroutine[Any, Any, Response]:
        """Has the jobs decided and written; what must be planned for them alone is planned first.

        The jobs are all about one project. Returns what `render` makes of the results.
        """
        decider = self._backend.deciders.get(jobs[0].project)
        if decider is not None and not any(self._may_need_plan(decider, job) for job in jobs):
            return self._submissions.submit(jobs, render)
        return self._plan_and_submit(decider, jobs, render)

    async def _plan_and_submit(
        self, decider: CaseDecider | None, jobs: list[Operation], render: Render
    ) -> Response:
        if decider is None:  # the project is not loaded yet
            with suppress(Exception):  # the writer meets it too, and says what is wrong
                decider = await self._readers.run(self._backend.load, jobs[0].project)
        if decider is None:
            return await self._submissions.submit(jobs, render)
        going_on = await self._find(decider, jobs)
        results: list[Result] = []
        part = _Part(self._loop.time())
        try:
            for place, job in enumerate(jobs, 1):
                part.jobs.append(job)
                if _opens_on_own_terms(decider, job) or job.case in going_on:
                    await self._plan_for(part, decider, job, going_on.get(job.case))
                is_full = self._bytes > MOST_BYTES or self._loop.time() - part.began > LONGEST
                if place == len(jobs) or (part.plans and is_full):
                    results += await self._write(part, decider)
                    self._drop(part)
                    part = _Part(self._loop.time())
        except Refusal as refusal:  # the queue is full, or the server stops
            if not results:
                raise
            results += [refusal] * (len(jobs) - len(results))
        finally:
            self._drop(part)
        return render(results)

    def _may_need_plan(self, decider: CaseDecider, job: Operation) -> bool:
        return _opens_on_own_terms(decider, job) or self._may_go_on(decider, job)

    def _may_go_on(self, decider: CaseDecider, job: Operation) -> bool:
        """Whether the request may need a plan for a case that goes on.

        In a small problem, planning is as quick as reading the case before. A case that can be
        rewarded has acted, and needs no policy. One in the writer's memory has its policy, which
        may be without a plan for the state that an observation leads to.
        """
        if decider.lattice.size <= LARGE or isinstance(job.body, Opening | Rewarding):
            return False
        kept = self._backend.writer.in_memory(job.project, job.case)
        return kept is None or (kept.may_plan and isinstance(job.body, Observing))

    async def _find(self, decider: CaseDecider, jobs: Sequence[Operation]) -> dict[int, StoredCase]:
        """The cases that go on, on terms of their own, and may need a plan."""
        found: dict[int, StoredCase] = {}
        missing: set[int] = set()
        for job in jobs:
            if self._may_go_on(decider, job):
                kept = self._backend.writer.in_memory(job.project, job.case)
                if kept is None:
                    missing.add(job.case)
                else:
                    found[job.case] = kept.stored
        if missing:
            find, run = self._backend.cases_to_plan, self._loop.run_in_executor
            found |= await run(self._finder, find, decider, missing)
        return found

    async def _plan_for(
        self, part: _Part, decider: CaseDecider, job: Operation, stored: StoredCase | None
    ) -> None:
        """Plans for a case that is opened, or for one that was stored."""
        if isinstance(job.body, Opening):
            plan = await self._plan(decider, self._backend.plan_opening, job.body)
        else:
            plan = await self._plan(decider, self._backend.plan_step, stored, job.body)
        self._bytes += part.add(job, plan)

    async def _plan(
        self, decider: CaseDecider, plan: Callable[..., CasePlan], *what: Any
    ) -> CasePlan:
        project = decider.project.name
        turn = self._turns.get(project)
        if turn is None:
            turn = self._turns[project] = asyncio.Lock()
        async with turn:
            return await self._loop.run_in_executor(self._planner, plan, decider, *what)

    async def _write(self, part: _Part, decider: CaseDecider) -> list[Result]:
        """Writes a part, after what a newer version has made useless is planned again, once."""
        for job in part.drop_older():
            await self._plan_for(part, decider, job, None)
        return await self._submissions.submit(part.jobs, list)

    def _drop(self, part: _Part) -> None:
        """Drops the plans of a part, which the writer does not need any more."""
        self._bytes -= part.bytes
        part.plans.clear()
        part.bytes = 0


class _Part:
    """Requests that are written together, with the plans that the writer is to find."""

    def __init__(self, began: float) -> None:
        self.began = began
        """When it began, by the clock of the loop."""
        self.jobs: list[Operation] = []
        self.plans: list[tuple[Operation, CasePlan]] = []
        self.bytes = 0
        self._known: set[int] = set()
        """The policies of the plans: many cases may have the same one."""

    def add(self, job: Operation, plan: CasePlan) -> int:
        """Keeps a plan; returns the bytes that it adds."""
        self.plans.append((job, plan))
        more = 0 if id(plan.policy) in self._known else plan.bytes
        self._known.add(id(plan.policy))
        self.bytes += more
        return more

    def drop_older(self) -> list[Operation]:
        """Drops the plans for openings by a version before the newest; returns these openings."""
        newest = max((plan.version for job, plan in self.plans if not job.case), default=0)
        older = [job for job, plan in self.plans if not job.case and 0 < plan.version < newest]
        self.plans = [(job, plan) for job, plan in self.plans if job.case or plan.version == newest]
        return older


def _opens_on_own_terms(decider: CaseDecider, job: Operation) -> bool:
    return isinstance(job.body, Opening) and decider.needs_own_policy(job.body)
