"""The packages of the optional extras, imported only when something needs them."""

from importlib import import_module
from typing import Any

from askwise.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import the module, or raise one clear error that names the extra."""
    try:
        return import_module(module)
    except ImportError as missing:
        absent = missing.name or module  # the missing module may be a dependency of this one
        raise MissingExtraError(
            f"this needs {absent}, which is not installed: pip install 'askwise[{extra}]'"
        ) from missing
