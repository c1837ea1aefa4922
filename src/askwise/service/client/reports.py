"""The reports on a project. `Client` and `AsyncClient` have them."""

from __future__ import annotations

from askwise.service.api import calls
from askwise.service.api.messages import PolicyAnswer, Summary, WorthAnswer
from askwise.service.api.reports import Alarm, VersionAnswer
from askwise.service.client.callers import AsyncCaller, Caller


class Reports(Caller):
    """The reports on a project, for a client that waits."""

    def policy(
        self, project: str, *, version: int | None = None, stake: float | None = None
    ) -> PolicyAnswer:
        """Returns the policy as a tree: the newest version, or an older one that is still kept.

        stake: The tree is for cases whose reward counts that many times.
        """
        query = {"version": version, "stake": stake}
        return self.call(calls.GET_POLICY, project=project, query=query)

    def versions(
        self, project: str, *, before: float | None = None, limit: int | None = None
    ) -> list[VersionAnswer]:
        """Lists the versions of the policy, the newest first.

        before: Only versions that were planned before this time, in seconds since 1970.
        """
        query = {"before": None if before is None else int(before), "limit": limit}
        return (self.call(calls.LIST_VERSIONS, project=project, query=query)).versions

    def worth(self, project: str, *, stake: float | None = None) -> WorthAnswer:
        """Returns the worth of each observation, for cases whose reward counts that many times."""
        return self.call(calls.GET_WORTH, project=project, query={"stake": stake})

    def summary(self, project: str) -> Summary:
        """Returns what was earned and spent."""
        return self.call(calls.GET_SUMMARY, project=project)

    def alarms(self, project: str) -> list[Alarm]:
        """Lists the alarms of a project, each with a name and a sentence."""
        return (self.call(calls.LIST_ALARMS, project=project)).alarms


class AsyncReports(AsyncCaller):
    """The calls of `Reports`, to be awaited."""

    async def policy(
        self, project: str, *, version: int | None = None, stake: float | None = None
    ) -> PolicyAnswer:
        """Returns the policy as a tree: the newest version, or an older one that is still kept.

        stake: The tree is for cases whose reward counts that many times.
        """
        query = {"version": version, "stake": stake}
        return await self.call(calls.GET_POLICY, project=project, query=query)

    async def versions(
        self, project: str, *, before: float | None = None, limit: int | None = None
    ) -> list[VersionAnswer]:
        """Lists the versions of the policy, the newest first.

        before: Only versions that were planned before this time, in seconds since 1970.
        """
        query = {"before": None if before is None else int(before), "limit": limit}
        return (await self.call(calls.LIST_VERSIONS, project=project, query=query)).versions

    async def worth(self, project: str, *, stake: float | None = None) -> WorthAnswer:
        """Returns the worth of each observation, for cases whose reward counts that many times."""
        return await self.call(calls.GET_WORTH, project=project, query={"stake": stake})

    async def summary(self, project: str) -> Summary:
        """Returns what was earned and spent."""
        return await self.call(calls.GET_SUMMARY, project=project)

    async def alarms(self, project: str) -> list[Alarm]:
        """Lists the alarms of a project, each with a name and a sentence."""
        return (await self.call(calls.LIST_ALARMS, project=project)).alarms
