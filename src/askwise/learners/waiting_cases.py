"""The cases that wait for their reward, by number."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING

from askwise.errors import UnknownCaseError

if TYPE_CHECKING:
    from askwise.learners.cases import Case


class WaitingCases(Mapping[int, "Case"]):
    """The cases that wait, by number. They may end while one iterates over them.

    The error for a case that does not wait says why.
    """

    def __init__(self, cases: dict[int, Case], opened: int) -> None:
        self._cases = cases
        self._opened = opened

    def __getitem__(self, number: int) -> Case:
        if number in self._cases:
            return self._cases[number]
        if isinstance(number, int) and 1 <= number <= self._opened:
            raise UnknownCaseError(
                f"case {number} waits for no reward: it was rewarded or cancelled. Keep the case "
                "itself to correct its reward, with reward(…, replaces=True)"
            )
        raise UnknownCaseError(f"case {number!r} is unknown: {self._opened:,} cases were opened")

    def __len__(self) -> int:
        return len(self._cases)

    # A copy is made at once, so another thread may open or end cases meanwhile.

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._cases))

    def keys(self) -> KeysView[int]:
        """The numbers of the cases that wait now."""
        return self._cases.copy().keys()

    def values(self) -> ValuesView[Case]:
        """The cases that wait now."""
        return self._cases.copy().values()

    def items(self) -> ItemsView[int, Case]:
        """The numbers and the cases that wait now."""
        return self._cases.copy().items()

    def __repr__(self) -> str:
        return f"<WaitingCases: {len(self):,} of {self._opened:,}>"
