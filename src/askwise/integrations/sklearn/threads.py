"""The number of threads of scikit-learn's models.

The threads of a boosted tree wait for each other after each of its nodes, and they wait busily. If
another process has one of the cores, all of them wait for it at every node. With few rows a node
takes less time than such a wait. So the models of small tables use one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

THREADED_FROM = 5_000_000
"""The least number of cells for which a model uses several threads."""


def threads_for(cells: int) -> AbstractContextManager[Any]:
    """Returns a context in which models of a table with so many cells use the threads they need."""
    if cells >= THREADED_FROM:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> ThreadpoolController:
    """Finds the libraries that use threads, once: this takes longer than a prediction."""
    return ThreadpoolController()
