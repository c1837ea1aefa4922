"""Shares: what one token may take of something that all of them need at a time."""

from __future__ import annotations

from collections import Counter

from askwise.service.api.refusals import Refusal
from askwise.service.ledger.rows import StoredToken
from askwise.service.tokens import FULL_ACCESS


class Shares:
    """Counts what each token has of something, and refuses one that wants more than its share.

    Without tokens there is only one user, so there are no shares. All calls are of one thread.
    """

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken: Counter[str] = Counter()

    def check(self, token: StoredToken, more: int = 1) -> None:
        """Refuse, if that would be more than its share; what it takes alone is never too much."""
        taken = self._taken[token.id] if token is not FULL_ACCESS else 0
        if taken and taken + more > self._most:
            share = f"{self._most:,} {self._what} are the share of one token"
            raise Refusal(429, f"{share}, and this one has {taken:,}; nothing was done", retry=1)

    def take(self, token: StoredToken, number: int = 1) -> None:
        """Takes so many more for the token, if they are within its share."""
        self.check(token, number)
        self._taken[token.id] += number

    def give_back(self, token: StoredToken, number: int = 1) -> None:
        """Gives so many back to the share."""
        self._taken[token.id] -= number
        if self._taken[token.id] <= 0:
            del self._taken[token.id]
