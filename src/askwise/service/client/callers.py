"""What makes a call of the table in `api/calls.py`: a client that waits, or one to be awaited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeVar

from askwise.service.api.call import Call

T = TypeVar("T")


class Caller(ABC):
    """A client that waits for the answer."""

    @abstractmethod
    def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, float | None] | None = None,
    ) -> T:
        """Makes a call of the table and returns its answer."""


class AsyncCaller(ABC):
    """A client whose answers are awaited."""

    @abstractmethod
    async def call(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, float | None] | None = None,
    ) -> T:
        """Makes a call of the table and returns its answer."""
