"""What people did in a case beside what it advised, and what may be counted of it.

A reward is a fair sample of what an action earns in a state ψ only if whoever took it knew no more
than ψ: who looks a customer in the face and declines knows more, and such cases end worse than ψ
alone would tell. The same holds of a look: who asks for a scan because the patient limps sees more
bad scans than ψ leads to. So what people did is counted apart, unless it is said that they knew no
more than the case did (`knew_more=False`).
"""

from __future__ import annotations

import numbers
from collections.abc import Collection
from typing import NamedTuple

from askwise.errors import CaseError, FileError
from askwise.policy.tables import Propensities
from askwise.states import Lattice


class PeopleDid(NamedTuple):
    """What people did in a case, as it stands; states and actions are integers."""

    unasked: dict[int, bool]
    """What they looked at without being asked: whether they knew more than the case."""
    advised: int | None = None
    """What was advised when they did something else, −1 if nothing was yet; None: they did not."""
    advised_in: int = -1
    """The state in which it was advised, once they have looked further; −1: the state it is in."""
    overruled_in: int = -1
    """The state in which they did something else."""
    knew_more: bool = True
    """Whether they knew more than the case when they did something else."""


NOTHING = PeopleDid({})


def check_flag(flag: object, what: str) -> bool:
    """The flag, or an error if it is neither True nor False."""
    if not isinstance(flag, bool):
        raise CaseError(f"{what} must be True or False, got {flag!r}")
    return flag


def check_propensity(propensity: object) -> float | None:
    """A probability above 0 that was told, or None if it was not."""
    if propensity is None:
        return None
    if isinstance(propensity, numbers.Real) and not isinstance(propensity, bool):
        number = float(propensity)
        if 0.0 < number <= 1.0:  # NaN is not
            return number
    raise CaseError(f"propensity must be a number above 0 and at most 1, got {propensity!r}")


def with_told(
    steps: Propensities | None, told: float | None, before: int
) -> tuple[float, ...] | None:
    """How likely the looks were, and then, as it was told, what people did; None if not known.

    `before` is what was advised, or −1: then the steps are looks only.
    """
    if told is None or steps is None:
        return None
    steps = steps() if callable(steps) else steps
    return (*(steps if before < 0 else steps[:-1]), told)


def check_people(people: PeopleDid, lattice: Lattice, states: Collection[int]) -> PeopleDid:
    """What was saved of a case that was in these states; what cannot be is a `FileError`."""
    places = (people.advised_in, people.overruled_in)
    if not all(place == -1 or place in states for place in places):
        raise FileError("people acted in a state that a case was never in")
    if not all(0 <= i < lattice.buyable for i in people.unasked):
        raise FileError("people looked at what there is not")
    if people.advised is not None and not -1 <= people.advised < len(lattice.problem.actions):
        raise FileError(f"people overruled an action {people.advised} that there is not")
    return people
