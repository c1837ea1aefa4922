"""Background threads that give way to requests."""

from __future__ import annotations

import contextlib
import os


def lower_priority() -> None:
    """Lowers the priority of the calling thread, so that requests go first.

    A thread that holds the ledger must not call this, or requests wait for it.
    """
    with contextlib.suppress(OSError):  # a sandbox may forbid it: then the thread runs beside them
        if hasattr(os, "SCHED_BATCH"):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.nice(10)
