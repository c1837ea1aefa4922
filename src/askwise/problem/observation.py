"""An observation can be bought: its values, its cost and its requirements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Literal, Self

import msgspec
import numpy as np

from askwise.errors import CaseError, ProblemError
from askwise.problem.amounts import check_amount
from askwise.problem.bins import bin_of, checked_edges, checked_names, edge_type, is_missing
from askwise.problem.booleans import BOOLEANS, as_text, place_alike
from askwise.problem.checks import (
    as_tuple,
    check_distinct,
    check_name,
    check_one_line,
    checked_requires,
    checked_stands_for,
    is_value,
)

Value = str | int

Seen = Value | bool | float | Decimal | date | np.generic | None
"""What you may report for an observation: a value, a boolean, a number or a date for its bin, or
nothing.
"""

_UNSAID = float("nan")
"""The default cost. A given observation needs no cost."""

Fails = Literal["charged", "refunded"]

UNAVAILABLE = "unavailable"
"""The text of a failed observation in a table. In logged decisions an empty cell was not observed;
in complete records it failed.
"""


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


MOST_NAMED = 8
"""An error message names at most so many values."""


class Observation(
    _Named,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """An observation that can be bought: i in D, with its values X_i and its cost c_i.

    given: The value is known from the start in every case, and costs nothing.
    fails: The observation may return no value. Its price is then "charged" or "refunded". A failure
    is one more outcome, written None; a missing cell (None, NaN, NaT, pandas.NA) is a failure.
    edges: The observation is a number or a date, and its values are the bins between the edges.
    other: The declared value that stands for every text or whole number that is not declared.
    stands_for: For each value, the texts or whole numbers that are read as this value. So alike
    categories can share one value.
    requires: The observations that must be known before this one is bought, or bought with it.
    ordered: The values are declared in their order. Neighbouring values lean on each other in
    estimates, and are ranges in trees. Bins are ordered, unless this is False.

    True and False match the values `true` and `false` in upper or lower case, or 1 and 0 if these
    are the two values. A whole number matches the text that it prints as.

    >>> Observation("mri", values=["neg", "pos"], cost=9.0)
    Observation(name='mri', values=('neg', 'pos'), cost=9.0)
    """

    values: Sequence[Value] = ()
    cost: float = _UNSAID
    given: bool = False
    fails: Fails | None = None
    edges: Sequence[Any] | None = None  # numbers, dates, or ISO texts as they stand in a file
    other: Value | None = None
    requires: Sequence[str] = ()
    ordered: bool | None = None  # as the edges say
    stands_for: Sequence[Sequence[Value]] = ()

    def __post_init__(self) -> None:
        who = f"observation {self.name!r}"
        check_name(self.name, "an observation's name")
        values = self._checked_values(who)
        for field, said in (("given", self.given), ("ordered", self.is_ordered)):
            if not isinstance(said, bool):
                raise ProblemError(f"{who}: {field} must be true or false, got {said!r}")
        if self.fails not in (None, "charged", "refunded"):
            raise ProblemError(f"{who}: fails must be 'charged' or 'refunded', got {self.fails!r}")
        cost = 0.0 if self.given and self.cost is _UNSAID else self.cost
        if cost is _UNSAID:
            raise ProblemError(f"{who}: cost is missing: give its price, 0 if it is free")
        cost = check_amount(cost, f"{who}: cost")
        if self.given and cost > 0:
            raise ProblemError(f"{who}: it is given, so its cost must be 0, got {self.cost!r}")
        requires = checked_requires(self.requires, who)
        stands_for = checked_stands_for(self.stands_for, values, self.edges is not None, who)
        if self.given and requires:
            raise ProblemError(f"{who}: it is given, so it cannot require others, got {requires!r}")
        msgspec.structs.force_setattr(self, "values", values)
        msgspec.structs.force_setattr(self, "cost", cost)
        msgspec.structs.force_setattr(self, "requires", requires)
        msgspec.structs.force_setattr(self, "stands_for", stands_for)

    def _checked_values(self, who: str) -> tuple[Any, ...]:
        """The values, or the names of the bins; edges and other become what they are kept as."""
        values = as_tuple(self.values, f"{who}: values")
        if self.edges is not None:
            edges = checked_edges(self.edges, who)
            values = checked_names(values, edges, who)
            if self.other is not None:
                raise ProblemError(f"{who}: it has edges, so leave out other, got {self.other!r}")
            msgspec.structs.force_setattr(self, "edges", edges)
        if not values:
            raise ProblemError(f"{who}: values is empty, expected at least one")
        for value in values:
            if not is_value(value):
                raise ProblemError(f"{who}: value {value!r} must be a text or a whole number")
            if value == "":
                raise ProblemError(
                    f"{who}: a value must not be an empty text, which in a table means that the "
                    'observation was not made: name it, such as "none"'
                )
            if isinstance(value, str):
                check_one_line(value, f"{who}: value {value!r}")
        check_distinct(values, f"{who}: value")
        if self.other is not None:
            if not is_value(self.other) or self.other not in values:
                known = ", ".join(map(repr, values))
                raise ProblemError(f"{who}: other must be one of {known}, got {self.other!r}")
            msgspec.structs.force_setattr(self, "other", values[values.index(self.other)])
        return values

    @classmethod
    def binned(cls, name: str, *, edges: Sequence[Any], **rest: Any) -> Self:
        """Declares a number or a date by its bins. An edge belongs to the bin above it.

        The other arguments are those of `Observation`. `values` gives the bins other names.

        >>> Observation.binned("age", edges=[40, 50, 60], cost=1.0).values
        ('<40', '40-50', '50-60', '>=60')
        """
        return cls(name, edges=edges, **rest)

    @property
    def outcomes(self) -> tuple[Value | None, ...]:
        """All possible results: the values, and None for a failure if the observation may fail."""
        return (*self.values, None) if self.fails else tuple(self.values)

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring values are alike."""
        return self.edges is not None if self.ordered is None else self.ordered

    @property
    def takes_numbers(self) -> bool:
        """Whether any number is accepted and put into its bin."""
        return self.edges is not None and not isinstance(self.edges[0], date)

    @property
    def places(self) -> dict[object, int]:
        """The index of each outcome, and of each text that a value stands for."""
        found: dict[object, int] = {}
        for x, texts in enumerate(self.stands_for):
            found.update(dict.fromkeys(texts, x))
        found.update({outcome: x for x, outcome in enumerate(self.outcomes)})
        return found

    def place(self, seen: Seen) -> int:
        """Returns the index of the outcome that a reported value stands for, if it is not a
        declared value.

        That is a value with the same text, a bin, a failure, or `other`. Raises `CaseError` if
        nothing fits.
        """
        text = as_text(seen)
        place = None
        if self.edges is None or isinstance(text, str):
            place = place_alike(self.values, text)
        if place is None and self.stands_for and not is_missing(seen):
            place = self._place_read_as(str(text))
        if place is not None:
            return place
        if is_missing(seen):
            if self.fails:
                return len(self.values)
        elif self.edges is not None:
            place = bin_of(self.edges, seen)
            if place is not None:
                return place
        elif self.other is not None and is_value(text):
            return self.values.index(self.other)
        raise CaseError(
            f"observation {self.name!r} has no value {seen!r}, expected {self.expected()}"
            f"{self.remedy(seen)}"
        )

    def _place_read_as(self, printed: str) -> int | None:
        """Returns the index of the value that stands for something that prints like this."""
        for place, texts in enumerate(self.stands_for):
            if any(str(text) == printed for text in texts):
                return place
        return None

    def expected(self) -> str:
        """Says which values are accepted, for an error message; of many values the first ones."""
        wanted = f"{edge_type(self.edges[0])}, or one of" if self.edges else "one of"
        known = ", ".join(map(repr, self.values[:MOST_NAMED]))
        more = len(self.values) - MOST_NAMED
        return f"{wanted}: {known}{f' and {more:,} more' if more > 0 else ''}"

    def remedy(self, seen: Seen) -> str:
        """Says what to declare so that this value is accepted, for the end of an error message."""
        if is_missing(seen):
            return "; declare fails= if it may be missing"
        if seen == UNAVAILABLE:
            return "; report None if it failed" if self.fails else "; declare fails= if it may fail"
        if self.edges is not None:
            return ""
        if str(seen).strip().lower() in BOOLEANS:
            return "; declare values 'true' and 'false', or 1 and 0, to take booleans"
        return "; declare other= if more may come" if is_value(seen) else ""
