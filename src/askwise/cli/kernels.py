"""Finds out which kernels are compiled already, so that the first use need not wait for them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any, NamedTuple

import askwise._kernels


class KernelsOnDisk(NamedTuple):
    """How many kernels are compiled for this processor and this version."""

    kernels: int
    compiled: int
    folder: Path | None
    """The folder of the cache; None if no folder can be used."""


def kernels_on_disk() -> KernelsOnDisk:
    """Check for every kernel whether it is cached. Nothing is compiled."""
    indexes = [_index_of(kernel) for kernel in _kernels()]
    known = [index for index in indexes if index is not None]
    folder = known[0].parent if known else None
    return KernelsOnDisk(len(indexes), sum(index.is_file() for index in known), folder)


def _kernels() -> list[Any]:
    """Every kernel of the package, once."""
    found: dict[int, Any] = {}
    package = askwise._kernels
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "py_func") and hasattr(value, "_cache"):
                found[id(value)] = value
    return list(found.values())


def _index_of(kernel: Any) -> Path | None:
    """The file that lists the cached versions of a kernel."""
    file = getattr(kernel._cache, "_cache_file", None)
    return None if file is None else Path(file._index_path)
