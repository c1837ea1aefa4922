"""The packages of the optional extras, imported only when something needs them."""

from importlib import import_module
from typing import Any

from askwise.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """The module, or one clear error that says which extra brings it."""
    try:
        return import_module(module)
    except ImportError as missing:
        absent = missing.name or module  # it may be what the module itself needs
        raise MissingExtraError(
            f"this needs {absent}, which is not installed: pip install 'askwise[{extra}]'"
        ) from missing
