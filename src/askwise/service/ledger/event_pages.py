"""All events of a project, read some at a time."""

from __future__ import annotations

from collections.abc import Iterator

from askwise._support.progress import ProgressBar
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Event, Project

PAGE = 250
"""Events that are read at a time."""


def pages_of_events(ledger: Ledger, project: Project, after: int) -> Iterator[list[Event]]:
    """All events after `after`, up to the newest one of the project as given, some at a time."""
    while after < project.seq:
        events = ledger.events(project.id, after, min(PAGE, project.seq - after))
        if not events:
            return
        yield events
        after = events[-1].seq


def watched_pages(ledger: Ledger, project: Project) -> Iterator[list[Event]]:
    """All events of a project, some at a time, with a progress bar for the command line."""
    with ProgressBar("events", project.seq) as progress:
        for page in pages_of_events(ledger, project, 0):
            yield page
            progress.advance(len(page))
