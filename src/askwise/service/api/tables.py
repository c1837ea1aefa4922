"""The bodies and answers for a project that begins with a table of past cases."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from askwise._support.documents import prepare
from askwise.problem import Problem
from askwise.service.api.messages import Body, Text, TreeAnswer


class Drafting(Body):
    """A table, with its column of the right action, or its columns of the action and the reward.

    Without these columns, the answer has only the names of all columns.
    """

    table: Annotated[str, Meta(min_length=1)]
    """A CSV: a line of names, then a line for every case."""
    label: Text | None = None
    """The column of the right action."""
    action: Text | None = None
    """The column of the action that was taken; `reward` is then the column of its reward."""
    reward: Text | None = None
    stake: Text | None = None
    """The column of how many times the reward of a case counts."""
    order: Text | None = None
    """The column that lists the observations of a case in the order in which they were made."""


class DraftAnswer(msgspec.Struct):
    """The content of a table as a problem, with prices to fill in."""

    columns: list[str]
    rows: int
    problem: Problem | None = None
    """The problem with every price 1; null if the columns were not named."""
    left_out: dict[str, str] = {}
    """Columns that are not in it, and why."""
    remarks: list[str] = []
    """What to check before fitting: empty cells, totals, combinations with few cases."""


class Fitting(Drafting, kw_only=True):
    """A table and its problem, with the prices filled in."""

    problem: Problem
    acquisition: Literal["simultaneous", "sequential"] | None = None
    """How observations were chosen, if the table has decisions; "sequential" needs `order`."""
    weight: Annotated[float, Meta(gt=0.0, le=1.0)] = 1.0
    """The part of the table's cases that count, for an old table."""


class FitAnswer(msgspec.Struct):
    """The notes on a table, and a learner that starts from it."""

    rows: int
    notes: list[str]
    """What can be learned from it, and what cannot."""
    recommends: TreeAnswer
    saved: bytes
    """The learner, in Base64: a new project may begin with it."""


prepare(*(kind for kind in list(globals().values()) if isinstance(kind, msgspec.StructMeta)))
