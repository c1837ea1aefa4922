"""What operators ask: tokens, and projects as a whole. `Client` and `AsyncClient` have it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeVar

from askwise.learners.learner import BaseLearner
from askwise.problem import Problem
from askwise.service.api import calls, operator_calls
from askwise.service.api.administration import (
    Cloning,
    Deleted,
    Deleting,
    Erased,
    NewToken,
    Renaming,
    Repricing,
    Rotation,
    Scope,
    TokenStory,
)
from askwise.service.api.call import Call
from askwise.service.api.messages import NewProject, ProjectAnswer

T = TypeVar("T")


class Administration(ABC):
    """The calls of operators, for a client that waits."""

    @abstractmethod
    def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, int | None] | None = None,
    ) -> T:
        """The answer to a call of the table."""

    def create_project_from(self, name: str, learner: BaseLearner) -> ProjectAnswer:
        """A new project that begins with what a learner knows."""
        return self.call(calls.CREATE_PROJECT, body=NewProject(name, saved=learner.to_bytes()))

    def tokens(self) -> list[TokenStory]:
        """All tokens: not what they are, but what they may do."""
        return (self.call(operator_calls.LIST_TOKENS)).tokens

    def create_token(
        self,
        scope: Scope = "decide",
        *,
        project: str | None = None,
        expires_in: int | None = None,
        rate: int | None = None,
    ) -> TokenStory:
        """A new token, shown once; good for so many seconds, for so many requests a minute."""
        return self.call(
            operator_calls.CREATE_TOKEN, body=NewToken(scope, project, expires_in, rate)
        )

    def rotate_token(self, id: str, *, overlap: int = 0) -> TokenStory:
        """A token in place of this one, which is good for so many seconds still."""
        return self.call(operator_calls.ROTATE_TOKEN, token=id, body=Rotation(overlap))

    def revoke_token(self, id: str) -> TokenStory:
        """Let a token be good for nothing."""
        return self.call(operator_calls.REVOKE_TOKEN, token=id)

    def archive(self, project: str) -> ProjectAnswer:
        """Let a project take no more requests; it can still be read."""
        return self.call(operator_calls.ARCHIVE_PROJECT, project=project)

    def restore(self, project: str) -> ProjectAnswer:
        """Let an archived project take requests again."""
        return self.call(operator_calls.RESTORE_PROJECT, project=project)

    def rename(self, project: str, name: str) -> ProjectAnswer:
        """Give a project another name; its tokens are for that then."""
        return self.call(operator_calls.RENAME_PROJECT, project=project, body=Renaming(name))

    def delete(self, project: str) -> Deleted:
        """Remove a project and all its events, for ever."""
        return self.call(operator_calls.DELETE_PROJECT, project=project, body=Deleting(project))

    def erase(self, project: str, case: int) -> Erased:
        """Erase a case that is over, for ever; what it added to the counters stays."""
        return self.call(operator_calls.ERASE_CASE, project=project, case=case)

    def clone(self, project: str, name: str, problem: Problem | None = None) -> ProjectAnswer:
        """A new project that begins with what this one has learned, of this version of it."""
        return self.call(operator_calls.CLONE_PROJECT, project=project, body=Cloning(name, problem))

    def reprice(self, project: str, prices: Mapping[str, float]) -> ProjectAnswer:
        """Let observations have these prices from the next plan on."""
        return self.call(
            operator_calls.REPRICE_PROJECT, project=project, body=Repricing(dict(prices))
        )


class AsyncAdministration(ABC):
    """The same as `Administration`, to be awaited."""

    @abstractmethod
    async def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, int | None] | None = None,
    ) -> T:
        """The answer to a call of the table."""

    async def create_project_from(self, name: str, learner: BaseLearner) -> ProjectAnswer:
        """A new project that begins with what a learner knows."""
        return await self.call(
            calls.CREATE_PROJECT, body=NewProject(name, saved=learner.to_bytes())
        )

    async def tokens(self) -> list[TokenStory]:
        """All tokens: not what they are, but what they may do."""
        return (await self.call(operator_calls.LIST_TOKENS)).tokens

    async def create_token(
        self,
        scope: Scope = "decide",
        *,
        project: str | None = None,
        expires_in: int | None = None,
        rate: int | None = None,
    ) -> TokenStory:
        """A new token, shown once; good for so many seconds, for so many requests a minute."""
        return await self.call(
            operator_calls.CREATE_TOKEN, body=NewToken(scope, project, expires_in, rate)
        )

    async def rotate_token(self, id: str, *, overlap: int = 0) -> TokenStory:
        """A token in place of this one, which is good for so many seconds still."""
        return await self.call(operator_calls.ROTATE_TOKEN, token=id, body=Rotation(overlap))

    async def revoke_token(self, id: str) -> TokenStory:
        """Let a token be good for nothing."""
        return await self.call(operator_calls.REVOKE_TOKEN, token=id)

    async def archive(self, project: str) -> ProjectAnswer:
        """Let a project take no more requests; it can still be read."""
        return await self.call(operator_calls.ARCHIVE_PROJECT, project=project)

    async def restore(self, project: str) -> ProjectAnswer:
        """Let an archived project take requests again."""
        return await self.call(operator_calls.RESTORE_PROJECT, project=project)

    async def rename(self, project: str, name: str) -> ProjectAnswer:
        """Give a project another name; its tokens are for that then."""
        return await self.call(operator_calls.RENAME_PROJECT, project=project, body=Renaming(name))

    async def delete(self, project: str) -> Deleted:
        """Remove a project and all its events, for ever."""
        return await self.call(
            operator_calls.DELETE_PROJECT, project=project, body=Deleting(project)
        )

    async def erase(self, project: str, case: int) -> Erased:
        """Erase a case that is over, for ever; what it added to the counters stays."""
        return await self.call(operator_calls.ERASE_CASE, project=project, case=case)

    async def clone(self, project: str, name: str, problem: Problem | None = None) -> ProjectAnswer:
        """A new project that begins with what this one has learned, of this version of it."""
        return await self.call(
            operator_calls.CLONE_PROJECT, project=project, body=Cloning(name, problem)
        )

    async def reprice(self, project: str, prices: Mapping[str, float]) -> ProjectAnswer:
        """Let observations have these prices from the next plan on."""
        return await self.call(
            operator_calls.REPRICE_PROJECT, project=project, body=Repricing(dict(prices))
        )
