"""Reads CSV files in which every cell is known."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from askwise.errors import OptionError
from askwise.logs.files import check_header
from askwise.problem import Observation, Problem
from askwise.simulation.environments import Table


def read_table(
    problem: Problem, path: Path, rewards: dict[str, str], stake: str | None = None
) -> Table:
    """Read a CSV as a table. Its cells are texts, which are matched with the printed values.

    `stake` is the column of how many times the reward of a row counts.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names, *rows = csv.reader(file)
    except UnicodeDecodeError as error:
        raise OptionError(f"{path}: not UTF-8 text ({error.reason}): save it as UTF-8") from None
    except ValueError:
        raise OptionError(f"{path} is empty: expected a header and a row for each case") from None
    check_header(str(path), names)
    while rows and not rows[-1]:
        rows.pop()
    for line, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise OptionError(
                f"{path}, line {line}: {len(row)} cells, expected {len(names)}, one for each column"
            )
    columns: dict[str, list[Any]] = {n: [row[k] for row in rows] for k, n in enumerate(names)}
    for observation in problem.observations:
        printed = {str(value): value for value in observation.values}
        if observation.name in columns:
            cells = columns[observation.name]
            columns[observation.name] = [
                printed[cell] if cell in printed else _cell(observation, cell) for cell in cells
            ]
    rewards = {action: rewards.get(action, action) for action in {*problem.action_names, *rewards}}
    if stake in columns and stake is not None:
        columns[stake] = [_stake(cell) for cell in columns[stake]]
    return Table(problem, columns, rewards=rewards, stake=stake)


def _stake(cell: str) -> Any:
    """The number of a cell, or its text, which the table refuses."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _cell(observation: Observation, cell: str) -> Any:
    """A cell that is no declared value: None if empty, a number if numbers are taken, else text."""
    if not cell.strip():
        return None
    try:
        return float(cell) if observation.takes_numbers else cell
    except ValueError:
        return cell
