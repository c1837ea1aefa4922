"""Reports on a project beside its cases: versions of its policy, and alarms."""

from __future__ import annotations

import msgspec


class VersionAnswer(msgspec.Struct):
    """When a version of the policy was planned, and with how many events."""

    version: int
    planned: str
    events: int
    is_thinned: bool
    """Whether only its prices are left, so that it has no tree any more."""


class Versions(msgspec.Struct):
    """Versions of a policy, the newest first."""

    versions: list[VersionAnswer]


class Alarm(msgspec.Struct):
    """A problem that an operator should check."""

    name: str
    detail: str


class Alarms(msgspec.Struct):
    """The alarms of a project; none, if all is well."""

    alarms: list[Alarm]
