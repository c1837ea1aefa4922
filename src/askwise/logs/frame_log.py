"""Reads logs in memory: any data frame that narwhals supports, or a mapping of columns to lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from askwise._support.frames import columns_of, unique_columns
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import UNIT
from askwise.errors import TableError
from askwise.estimation.complete_records import CompleteRecords, grouped
from askwise.learners.case_kinds import kinds_of
from askwise.logs import cells
from askwise.logs.checks import check_propensities, check_rows, in_its_order, steps_of
from askwise.logs.counting import Decisions, DecisionsWithPropensities, Records, records_of
from askwise.logs.roles import Roles
from askwise.problem import Problem
from askwise.states import Lattice


class FrameLog:
    """A log in a data frame."""

    def __init__(self, frame: Any) -> None:
        import narwhals as nw

        if isinstance(frame, dict):
            self.columns = list(frame)
        else:
            try:
                with unique_columns():
                    table = nw.from_native(frame)
            except TypeError:
                raise TableError(
                    "expected a path, a list of paths, a DuckDB relation, a data frame or a "
                    f"mapping of columns, got a {type(frame).__name__}"
                ) from None
            if isinstance(table, nw.LazyFrame):
                frame = table.collect().to_native()
            self.columns = table.collect_schema().names()
        self.frame = frame

    def records(
        self, lattice: Lattice, roles: Roles
    ) -> tuple[CompleteRecords, Iterator[Records], int]:
        """The rows, grouped by numpy: by full state, and by every state that they agree with."""
        rows = self._rows(lattice, roles)
        found = grouped(*rows)
        return found, records_of(lattice, found), len(rows.digits)

    def records_with_stakes(self, lattice: Lattice, roles: Roles) -> tuple[CompleteRecords, Floats]:
        """The rows as they are."""
        rows, stakes = self._rows(lattice, roles), self._stakes(lattice.problem, roles)
        assert stakes is not None
        return rows, stakes

    def _rows(self, lattice: Lattice, roles: Roles) -> CompleteRecords:
        columns, digits = self._read(lattice, roles)
        actions = lattice.problem.action_names
        if roles.label is not None:
            right = cells.actions_of(roles.label, columns[roles.label], actions)
            earned = np.eye(len(actions))[right]
        else:
            named = [roles.rewards[action] for action in actions]
            within = lattice.problem.rewards
            earned = np.column_stack(
                [cells.rewards_of(name, columns[name], within) for name in named]
            )
        return CompleteRecords(digits, np.ones(len(digits), np.int64), *_units(earned))

    def decisions(self, lattice: Lattice, roles: Roles) -> Decisions:
        """The rows as they are."""
        columns, digits = self._read(lattice, roles)
        assert roles.action is not None
        assert roles.reward is not None
        n = len(digits)
        orders: list[tuple[int, ...]] = [()] * n
        if roles.order is not None:
            orders = cells.orders_of(roles.order, columns[roles.order], lattice)
        places = {order: place for place, order in enumerate(dict.fromkeys(orders))}
        decisions = Decisions(
            digits,
            cells.actions_of(roles.action, columns[roles.action], lattice.problem.action_names),
            np.ones(n, np.int64),
            *_units(cells.rewards_of(roles.reward, columns[roles.reward], lattice.problem.rewards)),
            np.array([places[order] for order in orders], np.int64),
            list(places),
        )
        decisions = in_its_order(lattice, roles, decisions, lambda row: f"row {row}")
        name = roles.propensity
        if name is not None:
            given = cells.propensities_of(name, columns[name], may_be_unknown=True)
            lengths = np.array([len(numbers) for numbers in given])
            check_propensities(
                lengths,
                steps_of(roles, decisions),
                lambda row: f"column {name!r}, row {row}",
                may_be_unknown=True,
                without_order=self.columns if roles.acquisition is None else None,
            )
        return decisions

    def decisions_with_propensities(
        self, lattice: Lattice, roles: Roles
    ) -> DecisionsWithPropensities:
        """The rows as they are."""
        decisions = self.decisions(lattice, roles)
        assert roles.propensity is not None
        column = columns_of(self.frame, [roles.propensity])[roles.propensity]
        given = cells.propensities_of(roles.propensity, column)
        places = {p: place for place, p in enumerate(dict.fromkeys(given))}
        which = np.array([places[p] for p in given], np.int64)
        stakes = self._stakes(lattice.problem, roles)
        return DecisionsWithPropensities(decisions, list(places), which, stakes)

    def stakes(self, problem: Problem, roles: Roles) -> tuple[float, Integers | None]:
        """The mean of the stakes, and the stakes by kind; 1 and None if the log does not say."""
        stakes = self._stakes(problem, roles)
        return (1.0, None) if stakes is None else (float(stakes.mean()), kinds_of(stakes))

    def _stakes(self, problem: Problem, roles: Roles) -> Floats | None:
        if roles.stake is None:
            return None
        column = columns_of(self.frame, [roles.stake])[roles.stake]
        return cells.stakes_of(roles.stake, column, problem)

    def _read(self, lattice: Lattice, roles: Roles) -> tuple[dict[str, list[Any]], Choices]:
        columns = columns_of(self.frame, roles.columns)
        check_rows(len(columns[roles.observations[0]]))
        digits = [
            cells.digits_of(o, columns[o.name], may_be_absent=not (roles.is_complete or o.given))
            for o in lattice.observations
        ]
        return columns, np.column_stack(digits)


def _units(rewards: Any) -> tuple[Integers, Integers]:
    """Rewards, and r(1 − r), in units of 2⁻³⁰: `counting.units_of` for many."""
    units: Integers = np.rint(rewards / UNIT).astype(np.int64)
    return units, units - np.rint(rewards * rewards / UNIT).astype(np.int64)
