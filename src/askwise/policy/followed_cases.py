"""The interface of a case that follows a policy; `learners/cases.py` has the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from askwise.problem import Seen, Value


class FollowedCase(Protocol):
    """`Policy.open` returns this case, an `askwise.Case`."""

    wanted: tuple[str, ...]
    """The names to buy now; none once the action is chosen."""

    @property
    def action(self) -> str | None:
        """The action to take; None while something is still wanted."""

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
        """Reports the values of what was bought."""

    def reward(self, reward: float) -> None:
        """Reports the reward, as `askwise.Case.reward` takes it."""
