"""A log as numbers, wherever it is: a data frame in memory, or what DuckDB can read.

Both give the same: groups of complete records by state, or decisions as digits. What follows does
not know where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from askwise._support.typing import Floats, Integers
from askwise.errors import TableError
from askwise.estimation.complete_records import CompleteRecords
from askwise.logs.counting import Decisions, DecisionsWithPropensities, Records
from askwise.logs.files import are_paths, is_relation, named, opened
from askwise.logs.frame_log import FrameLog
from askwise.logs.query_log import QueryLog
from askwise.logs.roles import Kind, Roles, roles_of
from askwise.problem import Problem
from askwise.states import Lattice


class LogSource(Protocol):
    """Where rows come from."""

    columns: list[str]

    def records(
        self, lattice: Lattice, roles: Roles
    ) -> tuple[CompleteRecords, Iterator[Records], int]:
        """Complete records as they are, by state in every subset of the lattice, and how many."""

    def records_with_stakes(self, lattice: Lattice, roles: Roles) -> tuple[CompleteRecords, Floats]:
        """Complete records row by row, and the stake of each."""

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """Logged decisions; equal ones may stand together. Propensities are checked."""

    def decisions_with_propensities(
        self, lattice: Lattice, roles: Roles
    ) -> DecisionsWithPropensities:
        """Logged decisions row by row, with their propensities and stakes."""

    def stakes(self, problem: Problem, roles: Roles) -> tuple[float, Integers | None]:
        """The mean of the stakes, and the stakes by kind; 1 and None if the log does not say."""


@contextmanager
def _naming(log: Any) -> Iterator[None]:
    """Names the files in errors that speak of the log as a whole."""
    try:
        yield
    except TableError as error:
        said = str(error)
        if not said.startswith("the log has no "):
            raise
        raise TableError(f"{named(log)}{said.removeprefix('the log')}") from None


@contextmanager
def opened_log(log: Any) -> Iterator[LogSource]:
    """The log, ready to be read: paths, a DuckDB relation, a data frame or a mapping of lists."""
    if are_paths(log) or is_relation(log):
        with _naming(log), opened(log) as query:
            yield QueryLog(query)
    else:
        yield FrameLog(log)


def kind_of(log: Any, problem: Problem, **columns: Any) -> Kind:
    """Returns the kind of a log, as `fit` finds it: by the columns that are named, or by its own.

    `columns` are those of `fit`. One that is left out is not named.
    """
    names = ("rewards", "label", "action", "reward", "acquisition", "order", "propensity", "stake")
    with opened_log(log) as opened:
        return roles_of(problem, opened.columns, **(dict.fromkeys(names) | columns)).kind
