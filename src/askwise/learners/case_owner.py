"""What a case reports to: whatever opened it and counts what happens in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from askwise.learners.cases import Case


class CaseOwner(Protocol):
    """What opened a case and counts what happens in it."""

    @property
    def lock(self) -> threading.RLock:
        """Held while a case changes."""

    def acted(self, case: Case) -> None:
        """All that was wanted is known, and the action is chosen."""

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """The reward has come, from 0 to 1; it replaces the one before, if there was one."""

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Observations cost so much: {name: amount}."""

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """People act while it still wants something; fair if they knew no more than it does."""

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """People did an action in place of what was advised; None: what was advised is done."""

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """People looked at these without being asked."""

    def cancelled(self, case: Case) -> None:
        """There will be no action, or no reward."""
