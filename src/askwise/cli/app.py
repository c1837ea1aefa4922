"""The application that the commands join, and how they speak."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from askwise import __version__
from askwise.errors import OptionError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn which information is worth its price, and what to do with the answer.",
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"askwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None: ...


def say(text: str) -> None:
    """Print a text as it is."""
    typer.echo(text)


def plain_grid(**options: Any) -> Grid:
    """A table without lines."""
    return Grid(box=None, padding=(0, 2, 0, 0), **options)


def name_value_pairs(name: str, given: list[str] | None) -> list[tuple[str, str]]:
    """`name=value`, as given on the command line."""
    for text in given or []:
        if "=" not in text:
            raise OptionError(f"{name} {text}: expected name=value")
    return [(text.partition("=")[0], text.partition("=")[2]) for text in given or []]
