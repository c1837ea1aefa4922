"""A ledger without what it does not need any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project
from askwise.service.replanning.thinning import thin

PURGED = 10_000
"""Rows of deleted projects that are removed at a time."""


class Sizes(NamedTuple):
    """The policies of a project, after they were thinned."""

    policies: int
    bytes: int
    thinned: int
    """The number of versions that were thinned now."""
    saved: int


def compact(ledger: Ledger) -> Iterator[tuple[Project, Sizes]]:
    """Thin every project, then remove what deleted ones left, and give back the space."""
    for project in ledger.projects():
        done = thin(ledger, project)
        sizes = [size for _, size in ledger.policy_sizes(project.id)]
        yield project, Sizes(len(sizes), sum(sizes), done.versions, done.saved)
    while ledger.purge(PURGED):
        pass
    ledger.compact()
