"""Background threads that give way to requests."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any


def lower_priority() -> None:
    """Lowers the priority of the calling thread, so that requests go first.

    A thread that holds the ledger must not call this, or requests wait for it.
    """
    with contextlib.suppress(OSError):  # a sandbox may forbid it: then the thread runs beside them
        if hasattr(os, "SCHED_BATCH"):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.nice(10)


class ReportThread(Executor):
    """One thread for reports that take seconds. The end of the process does not wait for them.

    A `ThreadPoolExecutor` is waited for. A report loses nothing if it is broken off: it only reads.
    """

    def __init__(self, name: str, begin: Callable[[], None] = lambda: None) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._is_closed = False
        threading.Thread(target=self._run, args=(begin,), name=name, daemon=True).start()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Returns the future result of the call."""
        future: Future[Any] = Future()
        self._work.put((future, lambda: call(*arguments, **named)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Begins no more reports. The one that is being made goes on, and is not waited for."""
        self._is_closed = True
        self._work.put(None)

    def _run(self, begin: Callable[[], None]) -> None:
        begin()
        while (next_one := self._work.get()) is not None:
            future, call = next_one
            if self._is_closed:
                future.cancel()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
