"""The application that has all commands, and how commands print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table as Grid
from typer.core import TyperCommand, TyperGroup

from askwise import __version__
from askwise.errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose help shows a flag without a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments, including --help."""
        return _flags_bare(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands with the same help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, including --help."""
        return _flags_bare(super().get_params(ctx))


def _flags_bare(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="askwise COMMAND --help has examples of a command.",
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


def command(name: str, *examples: str, on: typer.Typer = app) -> Callable[[F], F]:
    """Make a function a command, whose help ends with the examples, one a line."""
    said = "\n\n".join(["Examples:", *examples]).replace("[", "\\[")
    return on.command(name, cls=Command, epilog=said)


def say(text: str) -> None:
    """Print a text as it is."""
    typer.echo(text)


def check_folder(option: str, path: Path | None) -> None:
    """Raises an error if a file cannot be written because its folder does not exist.

    A command checks this first, before it computes what could then not be written.
    """
    if path is not None and not path.parent.is_dir():
        raise OptionError(f"{option} {path}: there is no folder {path.parent}: create it")


def plain_grid(**options: Any) -> Grid:
    """A table without lines."""
    return Grid(box=None, padding=(0, 2, 0, 0), **options)


def name_value_pairs(name: str, given: list[str] | None) -> list[tuple[str, str]]:
    """The (name, value) pairs of options given as `name=value`."""
    for text in given or []:
        if "=" not in text:
            raise OptionError(f"{name} {text}: expected name=value")
    return [(text.partition("=")[0], text.partition("=")[2]) for text in given or []]
