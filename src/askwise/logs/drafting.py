"""A first problem file from a log: what stands in its columns, with prices to be filled in.

Numbers and dates are cut into bins and texts are categories, by `problem/cuts.py`. What a log
cannot say is written as plainly as can be (every price is 1, nothing is given) with a comment to
edit it.
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
from askwise.errors import OptionError, TableError
from askwise.logs.files import are_paths, is_relation, opened
from askwise.logs.frame_log import FrameLog
from askwise.logs.roles import UNAVAILABLE
from askwise.logs.suspects import why_not_to_look
from askwise.problem import Observation, Problem
from askwise.problem.bins import as_date, is_missing
from askwise.problem.booleans import BOOLEANS, as_text
from askwise.problem.cuts import observations

MOST_ROWS = 100_000
"""So many rows are looked at."""
MOST_ACTIONS = 100
MOST_LOOKS = 4
"""What max_observations is drafted as, if there is so much to look at."""
WORTH = 100.0
"""What a reward of 1 is drafted to be worth, where every look costs 1."""
SERVICE = ("action", "reward", "order", "propensity")
"""Columns that are called what they are, and are not observations."""


class Draft(NamedTuple):
    """A problem to look over."""

    problem: Problem
    left_out: Mapping[str, str]
    """The columns that are not in it, and why."""

    def text(self) -> str:
        """The problem as YAML, with comments that say what to edit."""
        import yaml

        def line(value: Any) -> str:
            flow = yaml.safe_dump(
                value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
            )
            return str(flow).strip()

        lines = [
            "# Drafted from a log: look it over, and change what does not fit.",
            "#",
            "# cost: what a look costs, in the currency of reward_value. Here every cost is 1.",
            "# given: true, without a cost, for what is known from the start in every case.",
            "# fails: charged or refunded, for a look that may show nothing.",
            "# edges: the bins of a number or a date; move them where they mean something.",
            "# other: the value that stands for every text that is not listed.",
            "observations:",
        ]
        for observation in self.problem.observations:
            data = msgspec.to_builtins(observation)
            if "edges" in data:
                del data["values"]  # the names of the bins follow from the edges
            lines.append(f"  - {line(data)}")
        lines += [f"# left out: {name} {why}" for name, why in self.left_out.items()]
        lines += [
            "# what can be decided; the order breaks ties",
            f"actions: {line(list(self.problem.action_names))}",
            "# the most looks in one case; every one more makes many more states",
            f"max_observations: {self.problem.max_observations}",
            *self._rewards(line),
        ]
        return "\n".join(lines) + "\n"

    def _rewards(self, line: Callable[[Any], str]) -> list[str]:
        if self.problem.rewards is None:
            return [
                "# what a reward of 1 is worth, in the currency of the costs",
                f"reward_value: {self.problem.reward_value:g}",
            ]
        return [
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
    bins: int = 4,
) -> Draft:
    """A problem that the first rows of a log fit.

    Rewards that are not all from 0 to 1 are money, from the lowest to the highest that came. The
    actions are the labels, or what stands in the column of actions, or those with rewards.
    Every other column is an observation, cut where a label is best separated, else by quantiles;
    but those that look like identifiers, or like what came of a decision, are `left_out`, and so
    is what tells nothing, each with the reason.

    >>> log = {"age": [31, 35, 42, 47, 51, 58] * 5, "best": (["wait"] * 3 + ["treat"] * 3) * 5}
    >>> print(draft(log, label="best").problem.observations[0])
    Observation(name='age', values=('<45', '>=45'), cost=1.0, edges=(45,))
    """
    columns = _first_rows(log)
    if label is None and not rewards:
        action, reward = action or "action", reward or "reward"
    elif action is not None or reward is not None or (label is not None and rewards):
        raise OptionError("label, rewards, and action with reward exclude each other")
    said = [*(rewards or {}).values(), *(name for name in (label, action, reward) if name)]
    for name in said:
        if name not in columns:
            raise TableError(
                f"the log has no column {name!r}, it has: {', '.join(columns)}. A draft needs "
                "label=, the column of the right action; or action= and reward=; or "
                "rewards={action: column}"
            )
    named = label or action
    actions = list(rewards or {}) if named is None else _actions(named, columns[named])
    found, left_out = [], {}
    for name, cells in columns.items():
        if name in said:
            continue
        try:
            _check_suspect(name, cells, actions)
            labels = columns[label] if label else None
            found.append(_observation(name, cells, labels, bins, is_seen=action is None))
        except TableError as error:
            left_out[name] = re.sub(r"^column 'cells',? ", "", str(error))
    if not found:
        why = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise TableError(f"the log has no column that could be looked at{why and ': '}{why}")
    most = min(MOST_LOOKS, len(found))
    within = _rewards([columns[name] for name in (*(rewards or {}).values(), reward) if name])
    worth: dict[str, Any] = {"reward_value": WORTH} if within is None else {"rewards": within}
    problem = Problem(observations=found, actions=actions, max_observations=most, **worth)
    return Draft(problem, left_out)


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
        raise TableError("the log has no rows")
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
    """Raise why a column is nothing to look at, if it is so."""
    if name in SERVICE:
        raise TableError("is called like a part of a decision, not like something to look at")
    present = [cell for cell in cells if not is_missing(cell) and cell != UNAVAILABLE]
    why = why_not_to_look(name, present, actions)
    if why is not None:
        raise TableError(why)


def _observation(
    name: str, cells: Sequence[Any], labels: Sequence[Any] | None, bins: int, *, is_seen: bool
) -> Observation:
    """One column: where not all of it was looked at, an empty cell is no failure."""
    rows = range(len(cells)) if is_seen else [k for k, c in enumerate(cells) if not is_missing(c)]
    kept = [None if not is_seen and cells[k] == UNAVAILABLE else cells[k] for k in rows]
    frame: dict[str, list[Any]] = {"cells": kept}
    if labels is not None:
        frame["label"] = [labels[k] for k in rows]
    label = None if labels is None else "label"
    drafted = observations(frame, {"cells": 1.0}, label=label, bins=bins)[0]
    if len(drafted.values) < 2:
        raise TableError("has no value that is common enough to learn from")
    return msgspec.structs.replace(drafted, name=name)


def _actions(name: str, cells: Sequence[Any]) -> list[str]:
    """What stands in a column of actions."""
    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    found = sorted({str(cell) for cell in whole if not is_missing(cell)})
    if not 0 < len(found) <= MOST_ACTIONS:
        raise TableError(
            f"column {name!r} has {len(found)} different actions, expected 1 to {MOST_ACTIONS}"
        )
    return found
