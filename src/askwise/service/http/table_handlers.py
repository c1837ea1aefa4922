"""The calls with which a project begins from a table of past cases: drafting and fitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from askwise.service.api.call import Call
from askwise.service.api.calls import DRAFT_PROBLEM, FIT_TABLE
from askwise.service.dashboard.tables import drafted, fitted
from askwise.service.http.bodies import check_depth, encoded, read_body
from askwise.service.http.requests import Request, Response, Target
from askwise.service.http.threads import SlowThreads

MOST_TABLES = 16
"""Tables that are being read, or wait for it; beyond, the answer is 503."""

READING = 2
"""Tables that are read at a time: one that takes long does not hold up the next, and the memory
that they take is bounded. Projects are created in another thread meanwhile."""


class TableHandlers:
    """Handlers of the calls that read a table; none of them changes anything."""

    def __init__(self) -> None:
        beyond = "too many tables are being read, nothing was done"
        self._threads = SlowThreads("tables", READING, MOST_TABLES, beyond)

    def close(self) -> None:
        """Read no more tables."""
        self._threads.close()

    async def draft(self, request: Request, target: Target) -> Response:
        """A problem that a table fits."""
        return await self._aside(request, DRAFT_PROBLEM, drafted)

    async def fit(self, request: Request, target: Target) -> Response:
        """Returns the notes on a table, and a learner that starts from it."""
        return await self._aside(request, FIT_TABLE, fitted)

    async def _aside(
        self, request: Request, call: Call[Any], work: Callable[[Any], object]
    ) -> Response:
        """Work it out in a thread: reading a table and learning from it take seconds."""
        request.arguments()

        def read_and_work() -> Response:
            check_depth(request.body)
            return encoded(work(read_body(request, call.decoder)))

        return await self._threads.run(read_and_work)
