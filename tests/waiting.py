"""How tests wait: for what happens, not for time to pass.

A machine may be many times slower than another, or busy with other things. So a limit of time is
only there to end a test of something that never comes.
"""

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds to wait for what must come."""


def until(what: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until it is so, and fail if it never is."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
