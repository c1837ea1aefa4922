"""The options of commands that read a log: the files, and the names of their columns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from askwise.cli.app import name_value_pairs
from askwise.errors import OptionError

Files = Annotated[list[str], typer.Argument(help="CSV or Parquet files, or patterns of them.")]
Labelled = Annotated[str | None, typer.Option(help="The column that names the right action.")]
Done = Annotated[str | None, typer.Option(help="The column of what was done.")]
Earned = Annotated[str | None, typer.Option(help="The column of what that earned.")]
Rewarded = Annotated[
    list[str] | None,
    typer.Option(
        help="The reward column of an action, as action=column, once for each; "
        "or, with --action, the column of the reward."
    ),
]
Likely = Annotated[
    str | None, typer.Option(help="The column of how probable that was, at once or for each step.")
]
Acquired = Annotated[
    str | None, typer.Option(help="How looks were chosen: 'simultaneous' or 'sequential'.")
]
Ordered = Annotated[str | None, typer.Option(help="The column of the looks in their order.")]
Staked = Annotated[
    str | None, typer.Option(help="The column of how many times the reward of a case counts.")
]
Confident = Annotated[float, typer.Option(help="Of the intervals.")]


def columns_of_rewards(action: str | None, reward: list[str] | None) -> dict[str, Any]:
    """The columns of rewards: one for logged decisions, one for each action in complete records."""
    if action is None and any("=" in text for text in reward or []):
        return {"rewards": dict(name_value_pairs("--reward", reward))}
    if len(reward or []) > 1:
        raise OptionError(
            f"--reward is given {len(reward or [])} times: name one column of logged decisions, or "
            "ACTION=COLUMN for each action of complete records"
        )
    return {"reward": reward[0] if reward else None}
