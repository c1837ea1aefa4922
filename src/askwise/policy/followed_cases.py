"""What a case shows that follows a policy; `learners/cases.py` has the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from askwise.problem import Seen, Value


class FollowedCase(Protocol):
    """What `Policy.open` gives: an `askwise.Case`."""

    wanted: tuple[str, ...]
    """The names to buy now; none once the action is chosen."""

    @property
    def action(self) -> str | None:
        """What to do; None while something is still wanted."""

    @property
    def state(self) -> dict[str, Value | None]:
        """What is known in the case."""

    @property
    def cost(self) -> float:
        """What was spent on observations so far."""

    @property
    def propensity(self) -> tuple[float, ...] | None:
        """How likely each step was."""

    def observe(self, values: Mapping[str, Seen]) -> None:
        """What was bought showed these values."""

    def reward(self, reward: float) -> None:
        """How well it went, as `askwise.Case.reward` takes it."""
