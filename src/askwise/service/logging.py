"""Structured logs: one JSON object a line, on standard error. No body, header or query goes in."""

from __future__ import annotations

import contextlib
import logging
import math
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


class SparseLog:
    """Logs what may happen very often: a few lines a minute, and how many were left out."""

    def __init__(self, most: int = 3, within: float = 60.0) -> None:
        self._most, self._within = most, within
        self._since = -math.inf
        self._lines = self._left_out = 0

    def log(self, level: str, what: str, **more: Any) -> None:
        """Write a line, or count it for the first line of the next minute."""
        now = time.monotonic()
        if now - self._since >= self._within:
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines > self._most:
            self._left_out += 1
            return
        left_out = {"left_out": self._left_out} if self._left_out else {}
        self._left_out = 0
        log(level, what, **more, **left_out)


class JsonHandler(logging.Handler):
    """Writes what the library logs as the same lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line for what was logged."""
        log(record.levelname.lower(), record.getMessage())


def log_as_json() -> None:
    """Makes the library log lines of JSON, and write nothing else to standard error."""
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
