"""A ledger without what it does not need any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from askwise.service.api.messages import Cancelling
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.jobs import Answer
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.decisions.writer import Writer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.thinning import observing_cases, thin

PURGED = 10_000
"""Rows of deleted projects that are removed at a time."""

DAY = 24 * 3600 * 1_000_000
"""In microseconds."""

ABANDONED = "abandoned-"
"""How the keys of the events begin that cancel abandoned cases."""


class Sizes(NamedTuple):
    """The policies of a project, after they were thinned."""

    policies: int
    bytes: int
    thinned: int
    """The number of versions that were thinned now."""
    saved: int
    cancelled: int
    """The number of abandoned cases that were cancelled now."""


def compact(ledger: Ledger, cancel_after: float | None = None) -> Iterator[tuple[Project, Sizes]]:
    """Thin every project, then remove what deleted ones left, and give back the space.

    cancel_after: cases that have waited for an observation for longer than that are cancelled
    first, in days since they were opened. Else they keep the policies that they follow.
    """
    writer = Writer(ledger, PolicyCache(ledger))
    for project in ledger.projects():
        cancelled = 0
        if cancel_after is not None and not project.archived:
            cancelled = cancel_abandoned(ledger, writer, project, cancel_after)
        done = thin(ledger, project)
        sizes = [size for _, size in ledger.policy_sizes(project.id)]
        yield project, Sizes(len(sizes), sum(sizes), done.versions, done.saved, cancelled)
    while ledger.purge(PURGED):
        pass
    ledger.compact()


def cancel_abandoned(ledger: Ledger, writer: Writer, project: Project, days: float) -> int:
    """Cancel the cases that were opened so many days ago and still wait for an observation.

    Each becomes an event, as if a client had cancelled it. Returns how many were cancelled.
    """
    opened_before = time.time_ns() // 1000 - days * DAY
    cancelled = 0
    for cases in observing_cases(ledger, project):
        jobs = [
            Operation(project.name, f"{ABANDONED}{case.id}", case.id, Cancelling())
            for case in cases
            if decode_case(case).opened < opened_before
        ]
        cancelled += sum(isinstance(result, Answer) for result in writer.commit(jobs))
    return cancelled
