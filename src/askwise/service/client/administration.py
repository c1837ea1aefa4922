"""The calls of operators, on tokens and whole projects. `Client` and `AsyncClient` have them."""

from __future__ import annotations

from collections.abc import Mapping

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
from askwise.service.api.messages import NewProject, ProjectAnswer
from askwise.service.client.callers import AsyncCaller, Caller


class Administration(Caller):
    """The calls of operators, for a client that waits."""

    def create_project_from(self, name: str, learner: BaseLearner) -> ProjectAnswer:
        """Creates a project that starts with the knowledge of a learner."""
        return self.call(calls.CREATE_PROJECT, body=NewProject(name, saved=learner.to_bytes()))

    def tokens(self) -> list[TokenStory]:
        """Lists all tokens with their rights; the secrets are not stored."""
        return (self.call(operator_calls.LIST_TOKENS)).tokens

    def create_token(
        self,
        scope: Scope = "decide",
        *,
        project: str | None = None,
        expires_in: int | None = None,
        rate: int | None = None,
    ) -> TokenStory:
        """Creates a token, which is shown once. It may have a lifetime in seconds and a rate a
        minute.
        """
        return self.call(
            operator_calls.CREATE_TOKEN, body=NewToken(scope, project, expires_in, rate)
        )

    def rotate_token(self, id: str, *, overlap: int = 0) -> TokenStory:
        """Replaces a token by a new one with the same rights. The old one stays valid for some
        seconds.
        """
        return self.call(operator_calls.ROTATE_TOKEN, token=id, body=Rotation(overlap))

    def revoke_token(self, id: str) -> TokenStory:
        """Revokes a token at once."""
        return self.call(operator_calls.REVOKE_TOKEN, token=id)

    def archive(self, project: str) -> ProjectAnswer:
        """Archives a project: it refuses requests, and can still be read."""
        return self.call(operator_calls.ARCHIVE_PROJECT, project=project)

    def restore(self, project: str) -> ProjectAnswer:
        """Restores an archived project, which accepts requests again."""
        return self.call(operator_calls.RESTORE_PROJECT, project=project)

    def rename(self, project: str, name: str) -> ProjectAnswer:
        """Renames a project. Its tokens are valid for the new name."""
        return self.call(operator_calls.RENAME_PROJECT, project=project, body=Renaming(name))

    def delete(self, project: str) -> Deleted:
        """Removes a project and all its events for good."""
        return self.call(operator_calls.DELETE_PROJECT, project=project, body=Deleting(project))

    def erase(self, project: str, case: int) -> Erased:
        """Erases a finished case for good; its contribution to the counters stays."""
        return self.call(operator_calls.ERASE_CASE, project=project, case=case)

    def clone(self, project: str, name: str, problem: Problem | None = None) -> ProjectAnswer:
        """Creates a project with the knowledge of this one, perhaps with more values or actions."""
        return self.call(operator_calls.CLONE_PROJECT, project=project, body=Cloning(name, problem))

    def reprice(self, project: str, prices: Mapping[str, float]) -> ProjectAnswer:
        """Sets new prices of observations, from the next plan on."""
        return self.call(
            operator_calls.REPRICE_PROJECT, project=project, body=Repricing(dict(prices))
        )


class AsyncAdministration(AsyncCaller):
    """The calls of `Administration`, to be awaited."""

    async def create_project_from(self, name: str, learner: BaseLearner) -> ProjectAnswer:
        """Creates a project that starts with the knowledge of a learner."""
        return await self.call(
            calls.CREATE_PROJECT, body=NewProject(name, saved=learner.to_bytes())
        )

    async def tokens(self) -> list[TokenStory]:
        """Lists all tokens with their rights; the secrets are not stored."""
        return (await self.call(operator_calls.LIST_TOKENS)).tokens

    async def create_token(
        self,
        scope: Scope = "decide",
        *,
        project: str | None = None,
        expires_in: int | None = None,
        rate: int | None = None,
    ) -> TokenStory:
        """Creates a token, which is shown once. It may have a lifetime in seconds and a rate a
        minute.
        """
        return await self.call(
            operator_calls.CREATE_TOKEN, body=NewToken(scope, project, expires_in, rate)
        )

    async def rotate_token(self, id: str, *, overlap: int = 0) -> TokenStory:
        """Replaces a token by a new one with the same rights. The old one stays valid for some
        seconds.
        """
        return await self.call(operator_calls.ROTATE_TOKEN, token=id, body=Rotation(overlap))

    async def revoke_token(self, id: str) -> TokenStory:
        """Revokes a token at once."""
        return await self.call(operator_calls.REVOKE_TOKEN, token=id)

    async def archive(self, project: str) -> ProjectAnswer:
        """Archives a project: it refuses requests, and can still be read."""
        return await self.call(operator_calls.ARCHIVE_PROJECT, project=project)

    async def restore(self, project: str) -> ProjectAnswer:
        """Restores an archived project, which accepts requests again."""
        return await self.call(operator_calls.RESTORE_PROJECT, project=project)

    async def rename(self, project: str, name: str) -> ProjectAnswer:
        """Renames a project. Its tokens are valid for the new name."""
        return await self.call(operator_calls.RENAME_PROJECT, project=project, body=Renaming(name))

    async def delete(self, project: str) -> Deleted:
        """Removes a project and all its events for good."""
        return await self.call(
            operator_calls.DELETE_PROJECT, project=project, body=Deleting(project)
        )

    async def erase(self, project: str, case: int) -> Erased:
        """Erases a finished case for good; its contribution to the counters stays."""
        return await self.call(operator_calls.ERASE_CASE, project=project, case=case)

    async def clone(self, project: str, name: str, problem: Problem | None = None) -> ProjectAnswer:
        """Creates a project with the knowledge of this one, perhaps with more values or actions."""
        return await self.call(
            operator_calls.CLONE_PROJECT, project=project, body=Cloning(name, problem)
        )

    async def reprice(self, project: str, prices: Mapping[str, float]) -> ProjectAnswer:
        """Sets new prices of observations, from the next plan on."""
        return await self.call(
            operator_calls.REPRICE_PROJECT, project=project, body=Repricing(dict(prices))
        )
