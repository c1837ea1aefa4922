"""Reports on a project: its cases, versions of its policy, its budget, and alarms."""

from __future__ import annotations

import msgspec


class CaseStory(msgspec.Struct):
    """A case with its current state and its history."""

    case: int
    status: str
    wanted: tuple[str, ...]
    action: str | None
    cost: float
    policy_version: int
    known: dict[str, str | int | None]
    path: tuple[str, ...]
    """The purchases in order."""
    reward: float | None
    by_default: bool
    opened: str
    stake: float = 1.0
    overruled: bool = False
    """Whether people took the action instead of the advice, or before there was advice."""
    prices: dict[str, float] = {}
    """What each wanted observation costs now in this case, if they are bought in this order."""


class Cases(msgspec.Struct):
    """Some cases, in the order that was asked for."""

    cases: list[CaseStory]


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


class BudgetAnswer(msgspec.Struct):
    """The spend on observations within a budget, when the newest policy version was planned."""

    spent: float
    """The mean spend of a case so far."""
    allowed: float
    """The average that a case may spend."""
    shadow_price: float
    """What one more to spend on a case would add to its gain; 0 if the budget does not bind."""


class Alarm(msgspec.Struct):
    """A problem that an operator should check."""

    name: str
    detail: str


class Alarms(msgspec.Struct):
    """The alarms of a project; none, if all is well."""

    alarms: list[Alarm]
