"""Drafts a problem file from a log, with prices to be filled in.

Numbers and dates are cut into bins and texts are categories, by `problem/cuts.py`. What a log
cannot tell gets a simple default (every price is 1, nothing is given) with a comment to edit it.
"""
# ruff: noqa: S608 (every name and every text in a query is quoted by `askwise.logs.sql`)

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import msgspec

from askwise._support.frames import columns_of
from askwise.errors import OptionError, ProblemError, TableError
from askwise.logs.cells import parts_of
from askwise.logs.draft_remarks import (
    numbers_with_gaps,
    of_combinations,
    of_copies,
    of_empty_cells,
    of_one_action,
    of_telling_alone,
    of_totals,
    why_a_leak,
)
from askwise.logs.files import are_paths, is_relation, named, opened
from askwise.logs.frame_log import FrameLog
from askwise.logs.roles import check_apart
from askwise.logs.suspects import why_not_to_look
from askwise.problem import Observation, Problem
from askwise.problem.bins import as_date, is_missing
from askwise.problem.booleans import BOOLEANS, as_text
from askwise.problem.cuts import observations
from askwise.problem.observation import UNAVAILABLE

MOST_ROWS = 100_000
"""The number of rows that are read."""
MOST_ACTIONS = 100
MOST_LOOKS = 4
"""The drafted max_observations if there are more observations than that."""
WORTH = 100.0
"""The drafted worth of a reward of 1, where every observation costs 1."""
SERVICE = ("action", "reward", "order", "propensity", "stake")
"""Columns with a known role, which are not observations."""


class Draft(NamedTuple):
    """A drafted problem, to be checked and edited."""

    problem: Problem
    left_out: Mapping[str, str]
    """The columns that were left out, each with the reason."""
    remarks: tuple[str, ...] = ()
    """What to check before fitting."""
    stake: str | None = None
    """The column of stakes."""

    def text(self) -> str:
        """The problem as YAML, with comments that say what to edit."""
        import yaml

        def line(value: Any) -> str:
            flow = yaml.safe_dump(
                value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
            )
            return str(flow).strip()

        lines = [
            "# Drafted from a log: read it, and change what does not fit.",
            "#",
            "# cost: the price of the observation, in the currency of reward_value; here 1.",
            "# given: true, without a cost, if the value is known from the start in every case.",
            "# fails: charged or refunded, if the observation may fail to give a value.",
            "# edges: the bins of a number or a date; move them to thresholds that you use.",
            "# other: the value for every text that is not listed.",
            "observations:",
        ]
        for observation in self.problem.observations:
            data = msgspec.to_builtins(observation)
            if "edges" in data:
                del data["values"]  # the names of the bins follow from the edges
            lines.append(f"  - {line(data)}")
        for name, why in self.left_out.items():
            lines.append(f"# left out: {' '.join(name.splitlines())} {why}")
        lines += [f"# check: {remark}" for remark in self.remarks]
        lines += [
            "# what can be decided; the order breaks ties",
            f"actions: {line(list(self.problem.action_names))}",
            *self._most(),
            *self._rewards(line),
        ]
        return "\n".join(lines) + "\n"

    def _most(self) -> list[str]:
        most, bought = self.problem.m, sum(not o.given for o in self.problem.observations)
        said = "the most observations bought in one case; the number of states grows fast with it"
        if most < bought:
            return [f"# {said}", f"max_observations: {most}"]
        return [f"# max_observations: {said}.", "# Without it, all that are not given."]

    def _rewards(self, line: Callable[[Any], str]) -> list[str]:
        per_unit = [] if self.stake is None else ["# rewards are per unit of stake"]
        if self.problem.rewards is None:
            return [
                *per_unit,
                "# what a reward of 1 is worth, in the currency of the costs",
                f"reward_value: {self.problem.reward_value:g}",
            ]
        return [
            *per_unit,
            "# the lowest and the highest that an action can earn, in the currency of the costs",
            f"rewards: {line(list(self.problem.rewards))}",
        ]


def draft(
    log: Any,
    *,
    rewards: Mapping[str, str] | None = None,
    label: str | None = None,
    action: str | None = None,
    reward: str | None = None,
    order: str | None = None,
    propensity: str | None = None,
    stake: str | None = None,
    bins: int = 4,
) -> Draft:
    """Drafts a problem from the first rows of a log.

    Rewards that are not all from 0 to 1 are money, from the lowest to the highest in the log. The
    actions are the labels, the values in the column of actions, or the columns of rewards. Every
    other column becomes an observation, cut where it separates the label best, or at quantiles
    without one. Columns that look like identifiers, like timestamps or like results of a decision
    are `left_out`, and so are columns without information, each with the reason. The `remarks` say
    what to check, for example whether rewards grow with the stake, or whether one column tells the
    label. `order` and `propensity` are as in `fit`. An observation that every row has, but no order
    names, is given.

    >>> log = {"age": [31, 35, 42, 47, 51, 58] * 5, "best": (["wait"] * 3 + ["treat"] * 3) * 5}
    >>> print(draft(log, label="best").problem.observations[0])
    Observation(name='age', values=('<45', '>=45'), cost=1.0, edges=(45,))
    """
    _check_kind(rewards, label, (action, reward), (order, propensity))
    columns = _first_rows(log)
    if label is None and not rewards:
        action, reward = action or "action", reward or "reward"
    roles = {"label": label, "action": action, "reward": reward, "stake": stake}
    said = _named_columns(log, columns, rewards, roles | {"order": order, "propensity": propensity})
    decided = label or action
    actions = list(rewards or {}) if decided is None else _actions(decided, columns[decided])
    stakes = columns[stake] if stake else [1.0] * len(next(iter(columns.values())))
    earned = {name: columns[name] for name in (*(rewards or {}).values(), reward) if name}
    labels = columns[label] if label else None
    leaks = (columns[action], columns[reward], stakes) if action and reward else None

    def drafted(name: str) -> tuple[Observation, list[str]]:
        return _column(name, columns[name], actions, labels, leaks, bins)

    found, left_out, remarks = _each_drafted([n for n in columns if n not in said], drafted)
    if action is not None:
        found = _with_given(found, columns, order or "order")
    bought = [o.name for o in found if not o.given]
    most = min(MOST_LOOKS, len(bought))
    if action is not None:
        most = max(most, _most_in_a_row([columns[name] for name in bought]))
    remarks += of_copies({o.name: columns[o.name] for o in found})
    remarks += [] if decided is None else of_one_action(decided, actions)
    remarks += [] if stake is None else of_totals(stake, stakes, earned)
    remarks += of_combinations(found, len(stakes))
    within = _rewards(list(earned.values()))
    worth: dict[str, Any] = {"reward_value": WORTH} if within is None else {"rewards": within}
    problem = Problem(observations=found, actions=actions, max_observations=most, **worth)
    return Draft(problem, left_out, tuple(remarks), stake)


def _check_kind(
    rewards: Mapping[str, str] | None,
    label: str | None,
    decided: tuple[str | None, str | None],
    looked: tuple[str | None, str | None],
) -> None:
    """Raises an error if complete records have columns of logged decisions, too."""
    if rewards is not None and not isinstance(rewards, Mapping):
        raise OptionError(f"rewards must be {{action: column}}, got {rewards!r}")
    if label is None and not rewards:
        return
    if decided != (None, None) or (label is not None and rewards):
        raise OptionError(
            "label, rewards, and action with reward exclude each other: give one of them"
        )
    if looked != (None, None):
        raise OptionError("order= and propensity= go with action= and reward=: leave them out")


def _named_columns(
    log: Any,
    columns: Mapping[str, Any],
    rewards: Mapping[str, str] | None,
    roles: Mapping[str, str | None],
) -> list[str]:
    """Returns the columns that have a role. Raises an error unless each is there, and has one."""
    check_apart(roles, rewards)
    said = [*(rewards or {}).values(), *(name for name in roles.values() if name)]
    for name in said:
        if name not in columns:
            raise TableError(
                f"{named(log)} has no column {name!r}, it has: {', '.join(columns)}. A draft needs "
                "label=, the column of the right action; or action= and reward=; or "
                "rewards={action: column}"
            )
    return said


def _column(
    name: str,
    given: Sequence[Any],
    actions: Sequence[str],
    labels: Sequence[Any] | None,
    decided: tuple[Sequence[Any], Sequence[Any], Sequence[Any]] | None,
    bins: int,
) -> tuple[Observation, list[str]]:
    """The observation of a column, and remarks. Decisions have actions, rewards and stakes."""
    mended = numbers_with_gaps(given)
    cells, remarks = (given, []) if mended is None else (mended[0], [f"{name}: {mended[1]}"])
    _check_suspect(name, cells, actions)
    if decided is not None:
        leak = why_a_leak(cells, *decided)
        if leak is not None:
            raise TableError(leak)
        remarks += of_empty_cells(name, given)
    observation = _observation(name, cells, labels, bins, is_seen=decided is None)
    if labels is not None:
        remarks += of_telling_alone(observation, cells, labels)
    return observation, remarks


def _with_given(
    found: Sequence[Observation], columns: Mapping[str, Sequence[Any]], order: str
) -> list[Observation]:
    """The observations, of which those are given that every row has and no order names."""
    named = {name for cell in columns.get(order, ()) for name in parts_of(cell)}
    if not named.intersection(o.name for o in found):
        return list(found)  # the orders say nothing about these columns

    def is_given(o: Observation) -> bool:
        return o.name not in named and not any(map(is_missing, columns[o.name]))

    return [msgspec.structs.replace(o, given=True, cost=0.0) if is_given(o) else o for o in found]


def _each_drafted(
    names: Sequence[str], drafted: Callable[[str], tuple[Observation, list[str]]]
) -> tuple[list[Observation], dict[str, str], list[str]]:
    """The observations, the columns that are left out with the reasons, and the remarks."""
    found, left_out, remarks = list[Observation](), dict[str, str](), list[str]()
    for name in names:
        try:
            observation, said = drafted(name)
        except (TableError, ProblemError) as error:
            left_out[name] = re.sub(r"^(column|observation) 'cells'[,:]? ", "", str(error))
        else:
            found.append(observation)
            remarks += said
    if not found:
        why = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise TableError(f"the log has no column that could be an observation{why and ': '}{why}")
    return found, left_out, remarks


def _most_in_a_row(columns: Sequence[Sequence[Any]]) -> int:
    """The most observations of one row."""
    if not columns:
        return 0
    return max(sum(not is_missing(cell) for cell in row) for row in zip(*columns, strict=True))


def _rewards(columns: Sequence[Sequence[Any]]) -> tuple[float, float] | None:
    """From what to what rewards are; None: from 0 to 1."""
    earned = [float(c) for cells in columns for c in cells if isinstance(c, int | float)]
    earned = [number for number in earned if math.isfinite(number)]
    if not earned or (min(earned) >= 0 and max(earned) <= 1) or min(earned) == max(earned):
        return None
    return min(earned), max(earned)


def _first_rows(log: Any) -> dict[str, list[Any]]:
    """The first rows, with texts that are numbers as numbers."""
    if are_paths(log) or is_relation(log):
        with opened(log) as query:
            table = query.ask(f"SELECT * FROM log LIMIT {MOST_ROWS}")
            columns = {name: table.column(name).to_pylist() for name in table.column_names}
    else:
        frame = FrameLog(log)
        columns = columns_of(frame.frame, frame.columns)
        columns = {name: cells[:MOST_ROWS] for name, cells in columns.items()}
    if not any(columns.values()):
        raise TableError(f"{named(log)} has no rows")
    return {name: _typed(cells) for name, cells in columns.items()}


def _typed(cells: list[Any]) -> list[Any]:
    """The cells of a column as what they are, whether a file has them as text or a frame does not.

    Texts are numbers or dates if all of them are, and blank ones are nothing; booleans are texts.
    """
    cells = [as_text(cell) for cell in cells]
    if not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return cells
    texts = [None if is_missing(cell) or not cell.strip() else cell for cell in cells]
    for read in (float, _date, _truth):
        try:
            return [c if c in (None, UNAVAILABLE) else read(c) for c in texts]
        except ValueError:
            continue
    return texts


def _date(text: str) -> date:
    found = as_date(text.strip())
    if found is None:
        raise ValueError
    return found


def _truth(text: str) -> str:
    if text.strip().lower() not in BOOLEANS:
        raise ValueError
    return text.strip().lower()


def _check_suspect(name: str, cells: Sequence[Any], actions: Sequence[str]) -> None:
    """Raises an error with the reason if a column should not be an observation."""
    if name in SERVICE:
        raise TableError("has the name of a part of a decision, not of an observation")
    present = [cell for cell in cells if not is_missing(cell) and cell != UNAVAILABLE]
    why = why_not_to_look(name, present, actions)
    if why is not None:
        raise TableError(why)


def _observation(
    name: str, cells: Sequence[Any], labels: Sequence[Any] | None, bins: int, *, is_seen: bool
) -> Observation:
    """Drafts one column. If not all rows have the observation, an empty cell is no failure."""
    rows = range(len(cells)) if is_seen else [k for k, c in enumerate(cells) if not is_missing(c)]
    kept = [None if cells[k] == UNAVAILABLE else cells[k] for k in rows]
    frame: dict[str, list[Any]] = {"cells": kept}
    if labels is not None:
        frame["label"] = [labels[k] for k in rows]
    label = None if labels is None else "label"
    drafted = observations(frame, {"cells": 1.0}, label=label, bins=bins)[0]
    if len({str(cell) for cell in kept if not is_missing(cell)}) == 1 and not drafted.fails:
        raise TableError("has one value only, so there is nothing to learn from it")
    if len(drafted.values) < 2:
        raise TableError("has no value that is common enough to learn from")
    return msgspec.structs.replace(drafted, name=name)


def _actions(name: str, cells: Sequence[Any]) -> list[str]:
    """The values in a column of actions."""
    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    found = sorted({str(cell) for cell in whole if not is_missing(cell)})
    if not 0 < len(found) <= MOST_ACTIONS:
        raise TableError(
            f"column {name!r} has {len(found)} different actions, expected 1 to {MOST_ACTIONS}"
        )
    return found
