"""A progress bar for work that takes longer than two seconds, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, Self

PATIENCE = 2.0
OFTEN = 0.2
"""Seconds between two updates of a notebook's bar: each is a message to the browser."""


class Bar(Protocol):
    """A progress bar on a terminal or in a notebook."""

    def update(self, done: int) -> None:
        """Show that so many are done."""

    def close(self) -> None:
        """Take the bar away: the work is done."""


class ProgressBar:
    """A progress bar: `with ProgressBar("cases", 200_000) as bar: bar.advance(16_384)`."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._began = time.monotonic()
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def advance(self, steps: int) -> None:
        """Add to the number that is done."""
        self._done += steps
        if self._bar is None and time.monotonic() - self._began > PATIENCE:
            self._bar = _bar(self._what, self._done, self._total)
        elif self._bar is not None:
            self._bar.update(self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


@contextmanager
def polled(what: str, per_cent: Callable[[], float]) -> Iterator[None]:
    """Show a bar for work that reports no steps: a thread calls `per_cent` for its progress."""
    ended = threading.Event()

    def watch() -> None:
        with ProgressBar(f"{what}, per cent", 100) as progress:
            shown = 0
            while not ended.wait(OFTEN):
                now = max(shown, min(100, int(per_cent())))
                progress.advance(now - shown)
                shown = now

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _bar(what: str, done: int, total: int) -> Bar | None:
    """A bar for a terminal or a notebook; None if neither would show it."""
    if in_notebook():
        return NotebookBar(what, done, total)
    return TerminalBar(what, done, total) if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook. IPython is not imported to find out."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return hasattr(running, "kernel")


class TerminalBar:
    """A bar on the terminal that disappears at the end."""

    def __init__(self, what: str, done: int, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        self._rich = Rich(
            TextColumn(what),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._rich.add_task(what, completed=done, total=total)
        self._rich.start()

    def update(self, done: int) -> None:
        """Show that so many are done."""
        self._rich.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away: the work is done."""
        self._rich.stop()


class NotebookBar:
    """A bar below the cell that disappears at the end. It needs no widgets."""

    def __init__(self, what: str, done: int, total: int) -> None:
        display = import_module("IPython.display").display
        self._what, self._total = what, total
        self._shown_at = time.monotonic()
        self._handle: Any = display(_in_html(what, done, total), raw=True, display_id=True)

    def update(self, done: int) -> None:
        """Show that so many are done."""
        now = time.monotonic()
        if now - self._shown_at >= OFTEN:
            self._shown_at = now
            self._handle.update(_in_html(self._what, done, self._total), raw=True)

    def close(self) -> None:
        """Take the bar away: the work is done."""
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _in_html(what: str, done: int, total: int) -> dict[str, str]:
    said = f"{what} {done:,}/{total:,}"
    bar = f'<progress value="{done}" max="{total}" style="vertical-align:middle"></progress>'
    return {"text/plain": said, "text/html": f"<div>{bar} {said}</div>"}
