"""The command line: each command calls one library function."""

import sys

import typer

from askwise.cli import (  # noqa: F401 (each adds its commands)
    doctor,
    explaining,
    fitting,
    policies,
    reproducing,
    serving,
    simulating,
)
from askwise.cli.app import app
from askwise.cli.words import in_words_of_the_command_line
from askwise.errors import AskwiseError

__all__ = ["app", "main"]


def main() -> None:
    """The entry point. An error that askwise raises on purpose prints one line, not a traceback."""
    try:
        app()
    except (AskwiseError, OSError) as error:
        typer.echo(f"askwise: {_said(error)}", err=True)
        sys.exit(1)


def _said(error: Exception) -> str:
    """The message of an error, without the number of the operating system."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return in_words_of_the_command_line(str(error))
