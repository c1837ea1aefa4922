"""A case reports to its owner, which opened it and counts its results."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from askwise.learners.cases import Case


class CaseOwner(Protocol):
    """The owner opens a case and counts its results."""

    @property
    def lock(self) -> threading.RLock:
        """The lock that is held while a case changes."""

    def acted(self, case: Case) -> None:
        """Reports that all wanted observations are known and the action is chosen."""

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """Reports the reward, from 0 to 1. It replaces an earlier reward."""

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Reports the prices that were paid: {name: amount}."""

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """Reports that people act early. The sample is fair if they knew no more than the case."""

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """Reports the action that people took instead of the advice; None if they followed it."""

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """Reports observations that people made without being asked."""

    def spent_later(self, case: Case, amount: float) -> None:
        """Reports the cost of observations that people made after the action was chosen."""

    def cancelled(self, case: Case) -> None:
        """Reports that there will be no action, or no reward."""
