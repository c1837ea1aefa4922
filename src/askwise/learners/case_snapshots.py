"""A case as a value: what is needed to go on with it where it was."""

from __future__ import annotations

from typing import NamedTuple

from askwise.learners.people import NOTHING, PeopleDid
from askwise.policy.tables import Propensities


class CaseSnapshot(NamedTuple):
    """All that a case is, beside its policy and its prices."""

    id: int
    start: int
    """What was known when it was opened, as an integer of the lattice."""
    path: list[tuple[int, int]]
    """What was bought, in order: (observation, the state it led to)."""
    tag: int = 0
    looks: tuple[int, ...] | None = None
    """What it wants now; None: whatever its policy says."""
    action: int = -1
    """What was done; −1: nothing yet."""
    share: float | None = None
    """Its reward, from 0 to 1."""
    is_by_default: bool = False
    is_cancelled: bool = False
    block: int = 0
    propensities: Propensities | None = None
    stake: float = 1.0
    people: PeopleDid = NOTHING
