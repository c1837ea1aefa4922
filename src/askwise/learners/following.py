"""Cases that follow a frozen policy: nothing is counted, and nothing is learned."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from askwise._support.random import as_generator, random_bits
from askwise._support.typing import RandomSource
from askwise.learners.cases import Case
from askwise.learners.model_strategy import TAG_BITS
from askwise.policy import Policy
from askwise.problem import Seen


class Follower:
    """Opens cases under one policy, and learns nothing from what is reported of them."""

    def __init__(self, policy: Policy, rng: RandomSource = None) -> None:
        self.policy = policy
        self.lock = threading.RLock()
        self.opened = 0
        self._rng = as_generator(rng)

    def open(self, known: Mapping[str, Seen] | None = None) -> Case:
        """A new case that follows the policy."""
        with self.lock:
            lattice = self.policy.lattice
            start = lattice.index({} if known is None else known)
            self.opened += 1
            subset = 0 if start < lattice.contexts else lattice.subset_of(start)
            tag = random_bits(self._rng, TAG_BITS)
            return Case(self.opened, self.policy, self, tag, start, subset)

    def acted(self, case: Case) -> None:
        """A case has its action."""

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """A reward has come."""

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Observations cost so much."""

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """People act while it still wants something."""

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """People did an action in place of what was advised."""

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """People looked at these without being asked."""

    def cancelled(self, case: Case) -> None:
        """There will be no action, or no reward."""


def open_case(policy: Policy, known: Mapping[str, Seen] | None, rng: RandomSource) -> Any:
    """A case that follows a policy."""
    return Follower(policy, rng).open(known)


Policy._opens = staticmethod(open_case)
