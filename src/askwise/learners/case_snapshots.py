"""A case as a value, from which it can continue."""

from __future__ import annotations

from typing import NamedTuple

from askwise.learners.people import NOTHING, PeopleDid
from askwise.policy.tables import Propensities


class CaseSnapshot(NamedTuple):
    """The state of a case, without its policy and its prices."""

    id: int
    start: int
    """The state when it was opened, as an integer of the lattice."""
    path: list[tuple[int, int]]
    """The purchases in order: (observation, the state it led to)."""
    tag: int = 0
    looks: tuple[int, ...] | None = None
    """The wanted observations; None if the policy decides."""
    action: int = -1
    """The action that was taken; −1 if there is none yet."""
    share: float | None = None
    """Its reward, from 0 to 1."""
    is_by_default: bool = False
    is_cancelled: bool = False
    block: int = 0
    propensities: Propensities | None = None
    stake: float = 1.0
    people: PeopleDid = NOTHING
