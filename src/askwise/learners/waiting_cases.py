"""The cases that wait for their reward, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from askwise.errors import UnknownCaseError

if TYPE_CHECKING:
    from askwise.learners.cases import Case
    from askwise.learners.rounds import Rounds


class WaitingCases(dict[int, "Case"]):
    """A dictionary of cases whose error explains why a case is missing."""

    def __init__(self, rounds: Rounds) -> None:
        super().__init__()
        self._rounds = rounds

    def __missing__(self, number: object) -> NoReturn:
        opened = self._rounds.now.opened
        if isinstance(number, int) and 1 <= number <= opened:
            raise UnknownCaseError(
                f"case {number} waits for no reward: it was rewarded or cancelled. Keep the case "
                "itself to correct its reward, with reward(…, replaces=True)"
            )
        raise UnknownCaseError(f"case {number!r} is unknown: {opened:,} cases were opened")
