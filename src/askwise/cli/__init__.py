"""The command line: each command calls one library function."""

import sys

import typer

from askwise.cli import (  # noqa: F401 (each adds its commands)
    explaining,
    fitting,
    reproducing,
    serving,
    simulating,
)
from askwise.cli.app import app
from askwise.cli.words import in_words_of_the_command_line
from askwise.errors import AskwiseError

__all__ = ["app", "main"]


def main() -> None:
    """The entry point: what askwise raises on purpose is one line, not a traceback."""
    try:
        app()
    except (AskwiseError, OSError) as error:
        typer.echo(f"askwise: {in_words_of_the_command_line(str(error))}", err=True)
        sys.exit(1)
