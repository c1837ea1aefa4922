"""The small self-contained tables that notebooks show for problems, runs and learners.

They use only the colour of the surrounding text, so they can be read in light and in dark mode. All
texts from users are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from askwise._support.numbers import shown

_TABLE = "border-collapse:collapse;background:transparent;color:inherit;font-size:inherit;"
_TABLE += "margin:0.4em 0"
_LINE = "1px solid currentColor"
_CELL = "text-align:left;vertical-align:top;padding:0.15em 1.2em 0.15em 0;background:transparent"
MOST_ROWS = 60
MOST_LINES = 40


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts and numbers; the first cell of a row is its name."""
    rows = list(rows)
    head = "".join(
        f'<th style="{_CELL};border-bottom:{_LINE}" scope="col">{escape(h)}</th>' for h in headers
    )
    body = [_row(row) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        body.append(_row([f"… and {len(rows) - MOST_ROWS:,} more", *[""] * (len(headers) - 1)]))
    return (
        f'<table style="{_TABLE}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _row(cells: Sequence[object]) -> str:
    first, *rest = (escape(text(cell)) for cell in cells)
    name = f'<th style="{_CELL};font-weight:inherit" scope="row">{first}</th>'
    others = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in rest)
    return f"<tr>{name}{others}</tr>"


def text(cell: object) -> str:
    """A number in few digits; any other value unchanged."""
    if isinstance(cell, float):
        return shown(cell, significant=4)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def line(*parts: str) -> str:
    """Several words in one line, with space between them."""
    return f'<div style="margin:0.3em 0">{" · ".join(escape(part) for part in parts)}</div>'


def title(name: str, *parts: str) -> str:
    """A heading: the kind of the object, and its main facts."""
    rest = "".join(f" · {escape(part)}" for part in parts)
    return f'<div style="margin:0.3em 0"><strong>{escape(name)}</strong>{rest}</div>'


def lines(shown: str) -> str:
    """Text that keeps its line breaks; beyond a number of lines it is cut."""
    kept = shown.splitlines()
    if len(kept) > MOST_LINES:
        kept = [*kept[:MOST_LINES], f"… and {len(kept) - MOST_LINES:,} more lines"]
    style = "margin:0.3em 0;line-height:1.3;background:transparent;color:inherit;overflow-x:auto"
    return f'<pre style="{style}">{escape(chr(10).join(kept))}</pre>'


def _of_action(action: Any) -> str:
    """The name of an action, with what it costs and requires."""
    said = [f"costs {text(action.cost)}"] if action.cost else []
    said += [f"requires {' and '.join(action.requires)}"] if action.requires else []
    return f"{action.name} ({', '.join(said)})" if said else str(action.name)


def of_problem(problem: Any) -> str:
    """A `Problem` as a table: what can be bought, at what price, and what can be decided."""
    observations = problem.observations
    rows = [
        (o.name, ", ".join(map(str, o.values)), "given" if o.given else o.cost, o.fails or "")
        for o in observations
    ]
    headers = ["observation", "values", "price", "if it fails"]
    if not any(o.fails for o in observations):
        headers, rows = headers[:3], [row[:3] for row in rows]  # type: ignore[misc]
    panels = [(_members(panel), panel.fee) for panel in problem.panels]
    looks = sum(not o.given for o in observations)
    return "".join(
        [
            title(
                "Problem",
                f"at most {problem.m} of {looks} observations",
                f"a reward of 1 is worth {text(problem.reward_value)}"
                if problem.rewards is None
                else f"rewards {' to '.join(map(text, problem.rewards))}",
            ),
            table(headers, rows),
            table(["panel", "fee"], panels) if panels else "",
            line(f"actions: {', '.join(map(_of_action, problem.actions))}"),
        ]
    )


def _members(panel: Any) -> str:
    """The observations of a panel, with their prices within it if it has any."""
    if panel.prices is None:
        return ", ".join(panel.observations)
    return ", ".join(f"{name} at {text(price)}" for name, price in panel.prices.items())
