"""Work that would hold up the event loop, done in other threads."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from askwise.service.api.refusals import Refusal
from askwise.service.decisions.commit_groups import Job
from askwise.service.decisions.jobs import Result
from askwise.service.decisions.writer import Writer
from askwise.service.priority import lower_priority

T = TypeVar("T")


class ReaderThreads:
    """Threads that read the ledger for handlers."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(4, "reader")

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Returns the result of the call. Other requests are answered meanwhile."""
        return await self._loop.run_in_executor(self._threads, call, *arguments)

    def close(self) -> None:
        """Begin no more calls, and let those end that run."""
        self._threads.shutdown(cancel_futures=True)


class SlowThreads:
    """Threads of low priority, for work that takes seconds; only so much may wait for them."""

    def __init__(self, name: str, threads: int, most: int, beyond: str) -> None:
        """`most` may run or wait at a time; `beyond` says what further ones are refused with."""
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(threads, name, initializer=lower_priority)
        self._most, self._beyond = most, beyond
        self._accepted = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Returns the result of the work, or refuses if too much work waits."""
        if self._accepted >= self._most:
            raise Refusal(503, self._beyond, retry=1)
        self._accepted += 1
        try:
            return await self._loop.run_in_executor(self._threads, work)
        finally:
            self._accepted -= 1

    def close(self) -> None:
        """Begin no more work, and let that end which runs."""
        self._threads.shutdown(cancel_futures=True)


class Submissions:
    """Hands jobs to the writer, and brings its results back to the event loop."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._finished: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def submit(self, jobs: Sequence[Job], render: Callable[[list[Result]], T]) -> asyncio.Future[T]:
        """Has the jobs decided and written. Returns what `render` makes of the results."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._writer.submit(jobs, lambda results: self._finish(future, render, results))
        return future

    def _finish(
        self,
        future: asyncio.Future[T],
        render: Callable[[list[Result]], T],
        results: list[Result],
    ) -> None:
        """Runs in the writing thread. Waking the loop takes long, so it is done once for all
        results.
        """
        self._finished.append(lambda: _resolve(future, render(results)))
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_woken = False  # before looking: what comes later wakes the loop again
        while self._finished:
            self._finished.popleft()()


def _resolve(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)
