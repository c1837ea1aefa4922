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
from askwise.policy.mixing import at_prices_of_case
from askwise.problem import Seen
from askwise.problem.amounts import check_stake


class Follower:
    """Opens cases under one policy, and learns nothing from their results."""

    def __init__(self, policy: Policy, rng: RandomSource = None) -> None:
        self.policy = policy
        self.lock = threading.RLock()
        self.opened = 0
        self.rng = as_generator(rng)

    def open(self, known: Mapping[str, Seen] | None = None, *, stake: float | None = None) -> Case:
        """Opens a case that follows the policy, with its own stake or the policy's.

        The case does the same at every stake.
        """
        with self.lock:
            lattice = self.policy.lattice
            if stake is not None:
                stake = check_stake(stake, lattice.per_unit.problem.reward_value)
            start = lattice.index({} if known is None else known)
            subset = 0 if start < lattice.contexts else lattice.subset_of(start)
            tag = random_bits(self.rng, TAG_BITS)
            at = lattice.stake if stake is None else stake
            case = Case(self.opened + 1, self.policy, self, tag, start, subset, at)
            self.opened += 1
            return case

    def acted(self, case: Case) -> None:
        """Ignores that a case has its action."""

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """Ignores the reward of a case."""

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Ignores the prices that were paid."""

    def stopped(self, case: Case, *, is_fair: bool) -> None:
        """Ignores that people act early."""

    def overruled(self, case: Case, before: int | None, now: int | None) -> None:
        """Ignores that people took another action than advised."""

    def looked_unasked(self, case: Case, observations: Sequence[int]) -> None:
        """Ignores observations that people made without being asked."""

    def spent_later(self, case: Case, amount: float) -> None:
        """Ignores the cost of observations after the advice."""

    def cancelled(self, case: Case) -> None:
        """Ignores that there will be no action, or no reward."""


def open_case(
    policy: Policy,
    known: Mapping[str, Seen] | None,
    prices: Mapping[str, float] | None,
    stake: float | None,
    rng: RandomSource,
) -> Any:
    """Opens a case that follows a policy, at its own prices if there are any."""
    if prices is not None:
        policy = at_prices_of_case(policy, prices)
    return Follower(policy, rng).open(known, stake=stake)


Policy._opens = staticmethod(open_case)
