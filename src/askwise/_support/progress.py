"""A progress bar for whatever takes longer than two seconds, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0


class Progress:
    """`with Progress("cases", 200_000) as progress: progress.advance(16_384)`."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def advance(self, steps: int) -> None:
        """So many more are done."""
        self._done += steps
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() - self._began > PATIENCE and sys.stderr.isatty():
            self._show()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn(self._what),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._what, total=self._total, completed=self._done)
        self._bar.start()
