"""A log that DuckDB can read, counted there: only groups of equal rows leave it.

Complete records are grouped by full state in one pass over the log, and those groups by every
subset of the lattice with GROUPING SETS.
"""
# ruff: noqa: S608 (every name and every text in a query is quoted by `askwise.logs.sql`)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.errors import AskwiseError, TableError
from askwise.estimation.complete_records import MOST_RECORDS, CompleteRecords, grouped
from askwise.learners.case_kinds import KINDS
from askwise.logs import cells, sql
from askwise.logs.checks import check_propensities, check_rows, in_its_order, steps_of
from askwise.logs.counting import Decisions, DecisionsWithPropensities, Records, states_of
from askwise.logs.files import Query
from askwise.logs.roles import Roles
from askwise.problem import Problem
from askwise.problem.rewards import Range, remedy_of_cell
from askwise.states import Lattice

SETS_AT_A_TIME = 64
"""Grouping sets of a query: each has a table of its own while it runs."""


class QueryLog:
    """A log that DuckDB reads. Only groups of equal rows leave DuckDB."""

    def __init__(self, query: Query) -> None:
        self.columns = query.columns
        self._query = query

    def records(
        self, lattice: Lattice, roles: Roles
    ) -> tuple[CompleteRecords, Iterator[Records], int]:
        """The rows, grouped by full state in one pass, and then by every subset of the lattice."""
        actions = range(len(lattice.problem.actions))
        names = [f"{kind}{k}" for kind in "ug" for k in actions]
        counted = [sql.units(f"r{k}") for k in actions] + [
            sql.graded_units(f"r{k}") for k in actions
        ]
        sums = ", ".join(
            f"coalesce(sum({units}), 0)::BIGINT AS {name}"
            for name, units in zip(names, counted, strict=True)
        )
        wrong = " OR ".join(f"r{k} IS NULL" for k in actions)
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
        check_rows(rows)
        self._check_digits(lattice, roles, found)
        if _column(found, "wrong").any():
            self._explain_rewards(lattice, roles)
        return self._full(lattice, names), self._rolled_up(lattice, names), rows

    def records_with_stakes(self, lattice: Lattice, roles: Roles) -> tuple[CompleteRecords, Floats]:
        """Every row by itself."""
        assert roles.stake is not None
        actions = range(len(lattice.problem.actions))
        of_digits, earned = self._digits(lattice, roles), self._earned(lattice, roles)
        read = {**of_digits, **earned, "s": sql.stake(roles.stake, lattice.problem.reward_value)}
        sums = {f"u{k}": sql.units(f"r{k}") for k in actions}
        sums |= {f"g{k}": sql.graded_units(f"r{k}") for k in actions}
        self._query.connection.execute("SET preserve_insertion_order = true")
        found = self._query.ask(
            f"SELECT {', '.join(of_digits)}, s, {sql.selected(sums)} "
            f"FROM (SELECT {sql.selected(read)} FROM log)"
        )
        check_rows(len(found))
        self._check_digits(lattice, roles, found)
        if any(found.column(f"u{k}").null_count for k in actions):
            self._explain_rewards(lattice, roles)
        if found.column("s").null_count:
            self._refuse_stake(roles.stake, lattice.problem)
        columns = {name: _column(found, name) for name in sums}
        digits, ones = self._digits_found(lattice, found), np.ones(len(found), np.int64)
        records = CompleteRecords(digits, ones, *_units_and_graded(columns, list(sums)))
        return records, _column(found, "s")

    def _full(self, lattice: Lattice, names: list[str]) -> CompleteRecords:
        """The groups by full state; of more than a model takes, a sample."""
        digits = [f"d{i}" for i in range(len(lattice.observations))]
        some = f"ORDER BY hash({', '.join(digits)}), {', '.join(digits)} LIMIT {MOST_RECORDS}"
        found = self._query.connection.sql(
            f"SELECT {', '.join(f'{d}::SMALLINT AS {d}' for d in digits)}, n, {', '.join(names)} "
            f"FROM cells {some}"
        ).fetchnumpy()
        columns = (np.column_stack([found[d] for d in digits]), found["n"])
        return grouped(*columns, *_units_and_graded(found, names))

    def _rolled_up(self, lattice: Lattice, names: list[str]) -> Iterator[Records]:
        sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in ["n", *names])
        digits = [f"d{i}" for i in range(len(lattice.observations))]
        given = digits[lattice.buyable :]
        for first in range(0, lattice.subsets, SETS_AT_A_TIME):
            some = range(first, min(first + SETS_AT_A_TIME, lattice.subsets))
            sets = [[*given, *(digits[i] for i in lattice.members(subset))] for subset in some]
            used = set().union(*sets)
            shown = ", ".join(
                f"coalesce({d if d in used else 'NULL'}, {cells.ABSENT})::SMALLINT AS {d}"
                for d in digits
            )
            grouped = ", ".join(f"({', '.join(columns)})" for columns in sets)
            groups = self._query.connection.sql(
                f"SELECT {shown}, {sums} FROM cells GROUP BY GROUPING SETS ({grouped})"
            ).fetchnumpy()
            states, _ = states_of(lattice, np.column_stack([groups[d] for d in digits]))
            yield Records(states, groups["n"], *_units_and_graded(groups, names))

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """The rows, equal ones together."""
        read, digits = self._decided(lattice, roles), ", ".join(self._digits(lattice, roles))
        found = self._query.ask(
            f"SELECT {digits}, a, o, k, count(*) AS n, "
            f"coalesce(sum({sql.units('r')}), 0)::BIGINT AS u, "
            f"coalesce(sum({sql.graded_units('r')}), 0)::BIGINT AS g, "
            f"count(*) FILTER (r IS NULL) AS wrong, count(*) FILTER (NOT p) AS improbable "
            f"FROM (SELECT {sql.selected(read)} FROM log) GROUP BY {digits}, a, o, k"
        )
        decisions = self._checked(lattice, roles, found, _column(found, "n"))
        self._check_propensities(lattice, roles, decisions, found)
        return decisions

    def _check_propensities(
        self, lattice: Lattice, roles: Roles, decisions: Decisions, found: Any
    ) -> None:
        """There must be as many as the row took steps, or one, or none."""
        name = roles.propensity
        if name is None:
            return
        read, lengths = self._decided(lattice, roles), _column(found, "k")

        def where(row: int) -> str:
            order = sql.text(found.column("o")[row].as_py())
            return self._query.first(
                f"{read['k']} = {lengths[row]} AND {read['o']} = {order}", name
            )[0]

        check_propensities(
            lengths,
            steps_of(roles, decisions),
            where,
            may_be_unknown=True,
            without_order=self.columns if roles.acquisition is None else None,
        )

    def decisions_with_propensities(
        self, lattice: Lattice, roles: Roles
    ) -> DecisionsWithPropensities:
        """Every row by itself."""
        assert roles.propensity is not None
        read = self._decided(lattice, roles)
        kind = self._query.kinds[roles.propensity]
        read["q"] = sql.list_text(roles.propensity, kind)
        if roles.stake is not None:
            read["s"] = sql.stake(roles.stake, lattice.problem.reward_value)
        self._query.connection.execute("SET preserve_insertion_order = true")
        found = self._query.ask(
            f"SELECT *, coalesce({sql.units('r')}, 0) AS u, "
            f"coalesce({sql.graded_units('r')}, 0) AS g, r IS NULL AS wrong, NOT p AS improbable "
            f"FROM (SELECT {sql.selected(read)} FROM log)"
        )
        decisions = self._checked(lattice, roles, found, np.ones(len(found), np.int64))
        texts, which = _coded(found, "q")
        if any(not text.strip() for text in texts):
            empty = sql.is_empty(roles.propensity, kind)
            where, _ = self._query.first(empty, roles.propensity)
            raise TableError(f"{where}: {cells.NO_PROPENSITY}")
        likely = cells.propensities_of(roles.propensity, texts)
        if roles.stake is None:
            return DecisionsWithPropensities(decisions, likely, which)
        if found.column("s").null_count:
            self._refuse_stake(roles.stake, lattice.problem)
        return DecisionsWithPropensities(decisions, likely, which, _column(found, "s"))

    def stakes(self, problem: Problem, roles: Roles) -> tuple[float, Integers | None]:
        """The mean of the stakes, and the stakes by kind; 1 and None if the log does not say."""
        if roles.stake is None:
            return 1.0, None
        stake = sql.stake(roles.stake, problem.reward_value)
        found = self._query.ask(
            f"SELECT {sql.KIND_OF_STAKE} AS kind, count(*) AS n, sum(s) AS total, "
            f"sum({sql.UNITS_OF_STAKE})::BIGINT AS units, count(*) FILTER (s IS NULL) AS wrong "
            f"FROM (SELECT {stake} AS s FROM log) GROUP BY kind"
        )
        if _column(found, "wrong").any():
            self._refuse_stake(roles.stake, problem)
        counts = _column(found, "n")
        kinds = np.zeros((KINDS, 2), np.int64)
        kinds[_column(found, "kind")] = np.column_stack([counts, _column(found, "units")])
        return float(_column(found, "total").sum() / counts.sum()), kinds

    def _checked(self, lattice: Lattice, roles: Roles, found: Any, counts: Integers) -> Decisions:
        """The decisions that were found; the first that cannot be is an error."""
        assert roles.action is not None
        assert roles.reward is not None
        check_rows(int(counts.sum()))
        self._check_digits(lattice, roles, found)
        actions = _column(found, "a")
        if (actions == sql.WRONG).any():
            condition = (
                f"{sql.place_among(roles.action, lattice.problem.action_names)} = {sql.WRONG}"
            )
            self._refuse_action(condition, roles.action, lattice.problem.action_names)
        if _column(found, "wrong").any():
            self._refuse_reward(roles.reward, lattice.problem.rewards)
        if _column(found, "improbable").any() and roles.propensity is not None:
            likely = sql.is_propensity(roles.propensity, self._query.kinds[roles.propensity])
            self._refuse(
                f"NOT {likely}", roles.propensity, "expected a propensity above 0, up to 1"
            )
        texts, orders = _coded(found, "o")
        distinct = [self._order(lattice, roles, order) for order in texts]
        digits = self._digits_found(lattice, found)
        units = _column(found, "u"), _column(found, "g")
        decisions = Decisions(digits, actions, counts, *units, orders, distinct)
        return in_its_order(
            lattice, roles, decisions, lambda row: self._place(roles, texts[orders[row]])
        )

    def _decided(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        assert roles.action is not None
        assert roles.reward is not None
        kinds = self._query.kinds
        return {
            **self._digits(lattice, roles),
            "a": sql.place_among(roles.action, lattice.problem.action_names),
            "r": sql.share(roles.reward, lattice.problem.rewards),
            "o": "''" if roles.order is None else sql.list_text(roles.order, kinds[roles.order]),
            "p": "true"
            if roles.propensity is None
            else sql.is_propensity(roles.propensity, kinds[roles.propensity]),
            "k": "1"
            if roles.propensity is None
            else sql.number_of_parts(roles.propensity, kinds[roles.propensity]),
        }

    def _digits(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        kinds = self._query.kinds
        return {
            f"d{i}": sql.digit(o, kinds[o.name], may_be_absent=not (roles.is_complete or o.given))
            for i, o in enumerate(lattice.observations)
        }

    def _earned(self, lattice: Lattice, roles: Roles) -> dict[str, str]:
        actions = lattice.problem.action_names
        if roles.label is not None:
            of_action = sql.label_shares(roles.label, actions)
        else:
            within = lattice.problem.rewards
            of_action = {action: sql.share(roles.rewards[action], within) for action in actions}
        return {f"r{k}": of_action[action] for k, action in enumerate(actions)}

    def _digits_found(self, lattice: Lattice, found: Any) -> Choices:
        return np.column_stack([_column(found, f"d{i}") for i in range(len(lattice.observations))])

    def _check_digits(self, lattice: Lattice, roles: Roles, found: Any) -> None:
        for i, o in enumerate(lattice.observations):
            if (_column(found, f"d{i}") == sql.WRONG).any():
                condition = f"{self._digits(lattice, roles)[f'd{i}']} = {sql.WRONG}"
                where, cell = self._query.first(condition, o.name)
                seen = cell if cell is not None and cell.strip() else None
                got = "the cell is empty" if seen is None else f"got {cell!r}"
                raise TableError(f"{where}: {got}, expected {o.expected()}{o.remedy(seen)}")

    def _explain_rewards(self, lattice: Lattice, roles: Roles) -> None:
        actions = lattice.problem.action_names
        if roles.label is not None:
            condition = f"{sql.place_among(roles.label, actions)} = {sql.WRONG}"
            self._refuse_action(condition, roles.label, actions)
        for column in roles.rewards.values():
            earned = sql.share(column, lattice.problem.rewards)
            wrong = self._query.ask(f"SELECT max({earned} IS NULL) AS w FROM log")
            if _column(wrong, "w")[0]:
                self._refuse_reward(column, lattice.problem.rewards)

    def _refuse_reward(self, column: str, within: Range | None) -> None:
        condition = f"{sql.share(column, within)} IS NULL"
        where, cell = self._query.first(condition, column)
        hint = remedy_of_cell(cell, within)
        raise TableError(f"{where}: got {cell!r}, {cells.expected_reward(within)}; {hint}")

    def _refuse_stake(self, column: str, problem: Problem) -> None:
        condition = f"{sql.stake(column, problem.reward_value)} IS NULL"
        where, cell = self._query.first(condition, column)
        try:
            cells.stakes_of(column, [cell], problem)
        except TableError as error:
            said = str(error).removeprefix(f"column {column!r}, row 0: ")
            raise TableError(f"{where}: {said}") from None

    def _refuse_action(self, condition: str, column: str, actions: Sequence[str]) -> None:
        where, cell = self._query.first(condition, column)
        if cell is None or not cell.strip():
            raise TableError(f"{where}: the cell is empty, {cells.expected_action(actions)}")
        raise TableError(f"{where}: got {cell!r}, expected an action, one of: {', '.join(actions)}")

    def _refuse(self, condition: str, column: str, expected: str) -> None:
        where, cell = self._query.first(condition, column)
        raise TableError(f"{where}: got {cell!r}, {expected}")

    def _order(self, lattice: Lattice, roles: Roles, order: str) -> tuple[int, ...]:
        try:
            return cells.orders_of("order", [order], lattice)[0]
        except AskwiseError as error:
            said = str(error).removeprefix("column 'order', row 0: ")
            raise TableError(f"{self._place(roles, order)}: {said}") from None

    def _place(self, roles: Roles, order: str) -> str:
        """The column with the order of observations."""
        if roles.order is None:
            return "a row"
        of_row = sql.list_text(roles.order, self._query.kinds[roles.order])
        where, cell = self._query.first(f"{of_row} = {sql.text(order)}", roles.order)
        return f"{where}: got {cell!r}"


def _units_and_graded(found: Any, names: list[str]) -> tuple[Integers, Integers]:
    """The sums of rewards by action, and those of r(1 − r), which stand behind them."""
    sums = np.column_stack([found[name] for name in names])
    units, graded = np.hsplit(sums, 2)
    return units, graded


def _column(table: Any, name: str) -> Any:
    return table.column(name).to_numpy()


def _coded(table: Any, name: str) -> tuple[list[str], Integers]:
    """The distinct texts of a column, and which of them each row has."""
    coded = table.column(name).combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)
