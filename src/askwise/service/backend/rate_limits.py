"""The rate limit of a token is a bucket that fills at a constant rate.

    tokens(t) = min(r, tokens(t₀) + (t − t₀) r / 60),    r requests a minute

A request takes one token out, and a batch one for each of its items. A deficit is owed, and the
next request waits for it. Each worker counts separately and allows its share of the rate. So a
client makes at most r (1 + t/60) requests in t seconds, however it spreads its connections.
"""

from __future__ import annotations

import math
import time

from askwise.service.api.refusals import Refusal
from askwise.service.ledger.rows import StoredToken

MOST_BUCKETS = 10_000
"""Tokens that are counted for; beyond, those that have had a minute to fill up are dropped."""


class RateLimits:
    """The buckets of one worker."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._buckets: dict[str, tuple[float, float]] = {}
        """By token: the number of requests that were left, and the time of that."""

    def owe(self, token: StoredToken, requests: int) -> None:
        """Count so many more, of a request that was charged already."""
        if token.id in self._buckets:
            left, at = self._buckets[token.id]
            self._buckets[token.id] = (left - requests, at)

    def charge(self, token: StoredToken) -> None:
        """Count a request of this token; a refusal if there were too many before it."""
        if not token.rate:
            return
        most, now = token.rate / self._workers, time.monotonic()
        left, at = self._buckets.get(token.id, (most, now))
        left = min(max(1.0, most), left + (now - at) * most / 60.0)
        if left < 1.0:
            self._buckets[token.id] = (left, now)
            wait = math.ceil((1.0 - left) * 60.0 / most)
            why = f"more than the {token.rate:,} requests a minute of this token, nothing was done"
            raise Refusal(429, why, "header:Authorization", retry=wait)
        self._buckets[token.id] = (left - 1.0, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets = {i: b for i, b in self._buckets.items() if now - b[1] < 60.0}
