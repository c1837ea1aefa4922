"""The calls with which a project begins from a table. `Client` and `AsyncClient` have them."""

from __future__ import annotations

from typing import Literal

from askwise.problem import Problem
from askwise.service.api import calls
from askwise.service.api.messages import NewProject, ProjectAnswer
from askwise.service.api.tables import DraftAnswer, Drafting, FitAnswer, Fitting
from askwise.service.client.callers import AsyncCaller, Caller


class Tables(Caller):
    """The calls on tables of past cases, for a client that waits."""

    def draft(
        self,
        table: str,
        *,
        label: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        stake: str | None = None,
        order: str | None = None,
    ) -> DraftAnswer:
        """Drafts a problem from a CSV of past cases, with every price 1. The columns are named."""
        body = Drafting(table, label, action, reward, stake, order)
        return self.call(calls.DRAFT_PROBLEM, body=body)

    def fit(
        self,
        table: str,
        problem: Problem,
        *,
        label: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        stake: str | None = None,
        order: str | None = None,
        acquisition: Literal["simultaneous", "sequential"] | None = None,
    ) -> FitAnswer:
        """Learns from a CSV of past cases. `create_project_from_saved` starts with the answer."""
        body = Fitting(
            table, label, action, reward, stake, order, problem=problem, acquisition=acquisition
        )
        return self.call(calls.FIT_TABLE, body=body)

    def create_project_from_saved(self, name: str, saved: bytes) -> ProjectAnswer:
        """Creates a project that starts with a saved learner, such as that of `fit`."""
        return self.call(calls.CREATE_PROJECT, body=NewProject(name, saved=saved))


class AsyncTables(AsyncCaller):
    """The calls of `Tables`, to be awaited."""

    async def draft(
        self,
        table: str,
        *,
        label: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        stake: str | None = None,
        order: str | None = None,
    ) -> DraftAnswer:
        """Drafts a problem from a CSV of past cases, with every price 1. The columns are named."""
        body = Drafting(table, label, action, reward, stake, order)
        return await self.call(calls.DRAFT_PROBLEM, body=body)

    async def fit(
        self,
        table: str,
        problem: Problem,
        *,
        label: str | None = None,
        action: str | None = None,
        reward: str | None = None,
        stake: str | None = None,
        order: str | None = None,
        acquisition: Literal["simultaneous", "sequential"] | None = None,
    ) -> FitAnswer:
        """Learns from a CSV of past cases. `create_project_from_saved` starts with the answer."""
        body = Fitting(
            table, label, action, reward, stake, order, problem=problem, acquisition=acquisition
        )
        return await self.call(calls.FIT_TABLE, body=body)

    async def create_project_from_saved(self, name: str, saved: bytes) -> ProjectAnswer:
        """Creates a project that starts with a saved learner, such as that of `fit`."""
        return await self.call(calls.CREATE_PROJECT, body=NewProject(name, saved=saved))
