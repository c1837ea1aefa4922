"""A log as numbers, wherever it is: a data frame in memory, or what DuckDB can read.

Both give the same: groups of complete records by state, or decisions as digits. What follows does
not know where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from askwise._frames import columns_of
from askwise._typing import Choices, Integers
from askwise.errors import AskwiseError, TableError
from askwise.lattice import Lattice
from askwise.logs import cells, sql
from askwise.logs.counting import Decisions, Records, records_of, states_of
from askwise.logs.files import Query, are_paths, is_relation, opened
from askwise.logs.roles import Roles
from askwise.statistics import MOST_CASES, UNIT

SETS_AT_A_TIME = 64
"""Grouping sets of a query: each has a table of its own while it runs."""

T = TypeVar("T")


class Courses(NamedTuple):
    """Logged decisions row by row, with how probable each was."""

    decisions: Decisions
    propensities: list[tuple[float, ...]]
    """The distinct ones,"""
    which: Integers
    """and which of them each row has."""


class Log(Protocol):
    """Where rows come from."""

    columns: list[str]

    def records(self, lattice: Lattice, roles: Roles) -> tuple[Iterator[Records], int]:
        """Complete records by state, in every subset of the lattice, and how many rows there are.
        """

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """Logged decisions; equal ones may stand together. Propensities are checked."""

    def courses(self, lattice: Lattice, roles: Roles) -> Courses:
        """Logged decisions row by row, with their propensities."""


@contextmanager
def opened_log(log: Any) -> Iterator[Log]:
    """The log, ready to be read: paths, a DuckDB relation, a data frame or a mapping of lists."""
    if are_paths(log) or is_relation(log):
        with opened(log) as query:
            yield QueryLog(query)
    else:
        yield FrameLog(log)


class FrameLog:
    """A data frame in memory."""

    def __init__(self, frame: Any) -> None:
        import narwhals as nw

        if isinstance(frame, dict):
            self.columns = list(frame)
        else:
            try:
                table = nw.from_native(frame)
            except TypeError:
                raise TableError(
                    "expected a path, a list of paths, a DuckDB relation, a data frame or a "
                    f"mapping of columns, got a {type(frame).__name__}"
                ) from None
            if isinstance(table, nw.LazyFrame):
                frame = table.collect().to_native()
            self.columns = table.collect_schema().names()
        self._frame = frame

    def records(self, lattice: Lattice, roles: Roles) -> tuple[Iterator[Records], int]:
        """The rows, grouped by numpy."""
        columns, digits = self._read(lattice, roles)
        actions = lattice.problem.actions
        if roles.label is not None:
            right = cells.actions_of(roles.label, columns[roles.label], actions)
            earned = np.eye(len(actions))[right]
        else:
            named = [roles.rewards[action] for action in actions]
            earned = np.column_stack([cells.rewards_of(name, columns[name]) for name in named])
        return records_of(lattice, digits, _units(earned)), len(digits)

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """The rows as they are."""
        columns, digits = self._read(lattice, roles)
        assert roles.action is not None
        assert roles.reward is not None
        n = len(digits)
        orders: list[tuple[int, ...]] = [()] * n
        if roles.order is not None:
            orders = cells.orders_of(roles.order, columns[roles.order], lattice)
        if roles.propensity is not None:
            cells.propensities_of(roles.propensity, columns[roles.propensity])
        places = {order: place for place, order in enumerate(dict.fromkeys(orders))}
        decisions = Decisions(
            digits,
            cells.actions_of(roles.action, columns[roles.action], lattice.problem.actions),
            np.ones(n, np.int64),
            _units(cells.rewards_of(roles.reward, columns[roles.reward])),
            np.array([places[order] for order in orders], np.int64),
            list(places),
        )
        _check_looks(lattice, roles, decisions, lambda row: f"row {row}")
        return decisions

    def courses(self, lattice: Lattice, roles: Roles) -> Courses:
        """The rows as they are."""
        decisions = self.decisions(lattice, roles)
        assert roles.propensity is not None
        column = columns_of(self._frame, [roles.propensity])[roles.propensity]
        given = cells.propensities_of(roles.propensity, column)
        places = {p: place for place, p in enumerate(dict.fromkeys(given))}
        return Courses(decisions, list(places), np.array([places[p] for p in given], np.int64))

    def _read(self, lattice: Lattice, roles: Roles) -> tuple[dict[str, list[Any]], Choices]:
        columns = columns_of(self._frame, roles.columns)
        _check_rows(len(columns[roles.observations[0]]))
        digits = [
            cells.digits_of(
                o, columns[o.name], may_be_absent=not (roles.is_complete or o.given)
            )
            for o in lattice.observations
        ]
        return columns, np.column_stack(digits)


class QueryLog:
    """What DuckDB can read: only groups of equal rows leave it."""

    def __init__(self, query: Query) -> None:
        self.columns = query.columns
        self._query = query

    def records(self, lattice: Lattice, roles: Roles) -> tuple[Iterator[Records], int]:
        """The rows, grouped by full state in one pass, and then by every subset of the lattice."""
        names = [f"u{k}" for k in range(len(lattice.problem.actions))]
        sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in names)
        wrong = " OR ".join(f"{name} = {sql.WRONG}" for name in names)
        of_digits = self._digits(lattice, roles)
        digits, least = ", ".join(of_digits), ", ".join(f"min({d}) AS {d}" for d in of_digits)
        read = {**of_digits, **self._earned(lattice, roles)}
        self._query.keep(
            "cells",
            f"SELECT {digits}, count(*) AS n, {sums}, count(*) FILTER ({wrong}) AS wrong "
            f"FROM (SELECT {sql.selected(read)} FROM log) GROUP BY {digits}",
        )
        found = self._query.connection.sql(
            f"SELECT {least}, coalesce(sum(n), 0)::BIGINT AS n, sum(wrong)::BIGINT AS wrong "
            "FROM cells"
        ).to_arrow_table()
        rows = _column(found, "n").item()
        _check_rows(rows)
        self._check_digits(lattice, roles, found)
        if _column(found, "wrong").any():
            self._explain_rewards(lattice, roles)
        return self._rolled_up(lattice, names), rows

    def _rolled_up(self, lattice: Lattice, names: list[str]) -> Iterator[Records]:
        sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in ["n", *names])
        digits = [f"d{i}" for i in range(len(lattice.observations))]
        given = digits[lattice.buyable :]
        shown = ", ".join(f"coalesce({d}, {cells.ABSENT}::SMALLINT) AS {d}" for d in digits)
        for first in range(0, lattice.subsets, SETS_AT_A_TIME):
            some = range(first, min(first + SETS_AT_A_TIME, lattice.subsets))
            sets = ", ".join(
                f"({', '.join([*given, *(digits[i] for i in lattice.members(subset))])})"
                for subset in some
            )
            groups = self._query.connection.sql(
                f"SELECT {shown}, {sums} FROM cells GROUP BY GROUPING SETS ({sets})"
            ).fetchnumpy()
            states, _ = states_of(lattice, np.column_stack([groups[d] for d in digits]))
            units = np.column_stack([groups[name] for name in names])
            yield Records(states, groups["n"], units)

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """The rows, equal ones together."""
        read, digits = self._decided(lattice, roles), ", ".join(self._digits(lattice, roles))
        found = self._query.ask(
            f"SELECT {digits}, a, o, count(*) AS n, sum(u)::BIGINT AS u, "
            f"count(*) FILTER (u = {sql.WRONG}) AS wrong, count(*) FILTER (NOT p) AS improbable "
            f"FROM (SELECT {sql.selected(read)} FROM log) GROUP BY {digits}, a, o"
        )
        return self._checked(lattice, roles, found, _column(found, "n"))

    def courses(self, lattice: Lattice, roles: Roles) -> Courses:
        """Every row by itself."""
        assert roles.propensity is not None
        read = self._decided(lattice, roles)
        kind = self._query.kinds[roles.propensity]
        read["q"] = sql.list_text(roles.propensity, kind)
        found = self._query.ask(
            f"SELECT *, u = {sql.WRONG} AS wrong, NOT p AS improbable "
            f"FROM (SELECT {sql.selected(read)} FROM log)"
        )
        decisions = self._checked(lattice, roles, found, np.ones(len(found), np.int64))
        texts, which = _coded(found, "q")
        return Courses(decisions, cells.propensities_of(roles.propensity, texts), which)

    def _checked(self, lattice: Lattice, roles: Roles, found: Any, counts: Integers) -> Decisions:
        """The decisions that were found; the first that cannot be is an error."""
        assert roles.action is not None
        assert roles.reward is not None
        _check_rows(int(counts.sum()))
        self._check_digits(lattice, roles, found)
        actions = _column(found, "a")
        if (actions == sql.WRONG).any():
            condition = f"{sql.place_among(roles.action, lattice.problem.actions)} = {sql.WRONG}"
            known = ", ".join(lattice.problem.actions)
            self._refuse(condition, roles.action, f"expected an action, one of: {known}")
        if _column(found, "wrong").any():
            self._refuse_reward(roles.reward)
        if _column(found, "improbable").any() and roles.propensity is not None:
            likely = sql.is_propensity(roles.propensity, self._query.kinds[roles.propensity])
            self._refuse(f"NOT {likely}", roles.propensity, "expected a propensity above 0, up to 1")
        texts, orders = _coded(found, "o")
        distinct = [self._order(lattice, roles, order) for order in texts]
        digits = self._digits_found(lattice, found)
        decisions = Decisions(digits, actions, counts, _column(found, "u"), orders, distinct)
        _check_looks(
            lattice, roles, decisions, lambda row: self._place(roles, texts[orders[row]])
        )
        return decisions

    def _decided(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        assert roles.action is not None
        assert roles.reward is not None
        kinds = self._query.kinds
        return {
            **self._digits(lattice, roles),
            "a": sql.place_among(roles.action, lattice.problem.actions),
            "u": sql.units(roles.reward),
            "o": "''" if roles.order is None else sql.list_text(roles.order, kinds[roles.order]),
            "p": "true"
            if roles.propensity is None
            else sql.is_propensity(roles.propensity, kinds[roles.propensity]),
        }

    def _digits(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        kinds = self._query.kinds
        return {
            f"d{i}": sql.digit(
                o, kinds[o.name], may_be_absent=not (roles.is_complete or o.given)
            )
            for i, o in enumerate(lattice.observations)
        }

    def _earned(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        actions = lattice.problem.actions
        if roles.label is not None:
            of_action = sql.label_units(roles.label, actions)
        else:
            of_action = {action: sql.units(roles.rewards[action]) for action in actions}
        return {f"u{k}": of_action[action] for k, action in enumerate(actions)}

    def _digits_found(self, lattice: Lattice, found: Any) -> Choices:
        return np.column_stack([_column(found, f"d{i}") for i in range(len(lattice.observations))])

    def _check_digits(self, lattice: Lattice, roles: Roles, found: Any) -> None:
        for i, o in enumerate(lattice.observations):
            if (_column(found, f"d{i}") == sql.WRONG).any():
                wanted = "a number or a date that fits, or one of" if o.edges else "one of"
                known = ", ".join(map(repr, o.values))
                hint = "" if o.fails else "; declare fails= if it may be missing"
                condition = f"{self._digits(lattice, roles)[f'd{i}']} = {sql.WRONG}"
                self._refuse(condition, o.name, f"expected {wanted}: {known}{hint}")

    def _explain_rewards(self, lattice: Lattice, roles: Roles) -> None:
        actions = lattice.problem.actions
        if roles.label is not None:
            condition = f"{sql.place_among(roles.label, actions)} = {sql.WRONG}"
            self._refuse(condition, roles.label, f"expected an action, one of: {', '.join(actions)}")
        for column in roles.rewards.values():
            wrong = self._query.ask(f"SELECT max({sql.units(column)} = {sql.WRONG}) AS w FROM log")
            if _column(wrong, "w")[0]:
                self._refuse_reward(column)

    def _refuse_reward(self, column: str) -> None:
        condition = f"{sql.units(column)} = {sql.WRONG}"
        self._refuse(condition, column, "expected a reward from 0 to 1")

    def _refuse(self, condition: str, column: str, expected: str) -> None:
        raise TableError(f"{self._query.first(condition, column)}, {expected}")

    def _order(self, lattice: Lattice, roles: Roles, order: str) -> tuple[int, ...]:
        try:
            return cells.orders_of("order", [order], lattice)[0]
        except AskwiseError as error:
            said = str(error).removeprefix("column 'order', row 0: ")
            raise TableError(f"{self._place(roles, order)}: {said}") from None

    def _place(self, roles: Roles, order: str) -> str:
        """Where an order of looks stands."""
        if roles.order is None:
            return "a row"
        of_row = sql.list_text(roles.order, self._query.kinds[roles.order])
        return self._query.first(f"{of_row} = {sql.text(order)}", roles.order)


def _units(rewards: Any) -> Integers:
    """Rewards in units of 2⁻³⁰, halves to the even one, as they are counted one by one."""
    return np.rint(rewards / UNIT).astype(np.int64)


def _column(table: Any, name: str) -> Any:
    return table.column(name).to_numpy()


def _coded(table: Any, name: str) -> tuple[list[str], Integers]:
    """The distinct texts of a column, and which of them each row has."""
    coded = table.column(name).combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)


def _check_rows(rows: int) -> None:
    if rows == 0:
        raise TableError("the log has no rows")
    if rows > MOST_CASES:
        raise TableError(f"the log has {rows:,} rows: at most {MOST_CASES:,} can be counted")


def _check_looks(
    lattice: Lattice, roles: Roles, decisions: Decisions, where: Callable[[int], str]
) -> None:
    """No row may have looked at more than m, nor in an order of other looks than it took."""
    looked = decisions.digits[:, : lattice.buyable] >= 0
    many = looked.sum(axis=1)
    if many.max() > lattice.m:
        row = int(many.argmax())
        raise TableError(
            f"{where(row)}: looked at {many[row]} observations, but the problem allows "
            f"max_observations={lattice.m}: what was done there is of no state of the problem"
        )
    if roles.order is None:
        return
    named = np.zeros((len(decisions.distinct), lattice.buyable), np.bool_)
    for place, order in enumerate(decisions.distinct):
        named[place, list(order)] = True
    odd = named[decisions.orders] != looked
    if odd.any():
        row, i = (int(place[0]) for place in np.nonzero(odd))
        name = lattice.observations[i].name
        said = "names it" if named[decisions.orders[row], i] else "does not name it"
        seen = "has a value" if looked[row, i] else "has none"
        raise TableError(
            f"{where(row)}: observation {name!r} {seen}, but column {roles.order!r} {said}"
        )
