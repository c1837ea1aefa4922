"""The packages of the optional extra `report`, asked for only when something is drawn."""

from importlib import import_module
from types import ModuleType

from askwise.errors import AskwiseError


class MissingExtraError(AskwiseError, ImportError):
    """A report was asked for, and a package it is made with is not installed."""


def need(name: str) -> ModuleType:
    """The package, or one clear error."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise MissingExtraError(
            f"a report needs {name}, which is not installed: pip install 'askwise[report]'"
        ) from missing
