"""The options of commands that read a log: the files, and the names of their columns."""

from __future__ import annotations

from typing import Annotated

import typer

Files = Annotated[list[str], typer.Argument(help="CSV or Parquet files, or patterns of them.")]
Done = Annotated[str | None, typer.Option(help="The column of what was done.")]
Earned = Annotated[str | None, typer.Option(help="The column of what that earned.")]
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
