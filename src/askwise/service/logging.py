"""Structured logs: one JSON object a line, on standard error. No body, header or query goes in."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import traceback
from typing import Any

import msgspec


def log(level: str, what: str, **more: Any) -> None:
    """Write one line; where none can be written, on a full disk, the work goes on without."""
    line = {
        "at": timestamp(time.time_ns() // 1000),
        "level": level,
        "what": what,
        "pid": os.getpid(),
    }
    with contextlib.suppress(OSError):
        sys.stderr.write(msgspec.json.encode(line | more).decode() + "\n")
        sys.stderr.flush()


class JsonHandler(logging.Handler):
    """Writes what the library logs as the same lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line for what was logged."""
        log(record.levelname.lower(), record.getMessage())


def log_as_json() -> None:
    """From now on the library logs lines of JSON, and nothing else goes to standard error."""
    logger = logging.getLogger("askwise")
    logger.addHandler(JsonHandler())
    logger.propagate = False


def log_failure(what: str, error: BaseException) -> None:
    """Log an unexpected error: where it was raised, but not its text, which may quote a request."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in frames[-6:]]
    log("error", what, error=type(error).__name__, where=places)


def timestamp(at: int) -> str:
    """Microseconds since 1970 as ISO 8601, UTC.

    >>> timestamp(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    seconds, rest = divmod(at, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:06}Z"
