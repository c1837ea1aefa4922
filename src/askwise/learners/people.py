"""What people did in a case instead of the advice, and what may be counted of it.

A reward is a fair sample of what an action earns in a state ψ only if the action was chosen from ψ
alone. An officer who sees the customer and declines knows more, and such cases end worse than ψ
alone predicts. The same holds for an observation: a doctor who orders a scan because the patient
limps sees more bad scans than ψ predicts. So what people did is counted separately, unless
`knew_more=False` says that they knew no more than the case did.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from askwise.errors import CaseError, FileError
from askwise.policy.tables import Propensities
from askwise.problem.bins import is_number
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.learners.cases import Case


class PeopleDid(NamedTuple):
    """What people did in a case so far. States and actions are integers."""

    unasked: dict[int, bool]
    """The observations that they made without being asked, and whether they knew more than the
    case.
    """
    advised: int | None = None
    """The advice when they took another action, −1 if there was none yet; None if they did not."""
    advised_in: int = -1
    """The state of the advice, if they observed more since; −1 if it is the current state."""
    overruled_in: int = -1
    """The state in which they took another action."""
    knew_more: bool = True
    """Whether they knew more than the case when they took another action."""


NOTHING = PeopleDid({})


def check_flag(flag: object, what: str) -> bool:
    """Returns the flag, or raises an error if it is neither True nor False."""
    if not isinstance(flag, bool):
        raise CaseError(f"{what} must be True or False, got {flag!r}")
    return flag


def check_propensity(propensity: object) -> float | None:
    """Returns a reported probability above 0, or None if none was reported."""
    if propensity is None:
        return None
    if is_number(propensity):
        number = float(propensity)  # type: ignore[arg-type]
        if 0.0 < number <= 1.0:
            return number
    raise CaseError(f"propensity must be a number above 0 and at most 1, got {propensity!r}")


def check_same_report(case: Case, knew_more: bool, told: float | None) -> None:
    """Raises an error if people's action is reported again, with other circumstances."""
    if case.is_overruled and (told is not None or knew_more != case.people.knew_more):
        raise CaseError(
            f"case {case.id}: people's action {case.action!r} was reported before; knew_more and "
            "propensity are told with the first report"
        )


def with_told(
    steps: Propensities | None, told: float | None, before: int
) -> tuple[float, ...] | None:
    """The propensities of the observations, then the reported one of the action; None if unknown.

    `before` is the advice, or −1 if all steps are observations.
    """
    if told is None or steps is None:
        return None
    steps = steps() if callable(steps) else steps
    return (*(steps if before < 0 else steps[:-1]), told)


def check_people(people: PeopleDid, lattice: Lattice, states: Collection[int]) -> PeopleDid:
    """Returns the saved part of a case in these states. An invalid one raises a `FileError`."""
    places = (people.advised_in, people.overruled_in)
    if not all(place == -1 or place in states for place in places):
        raise FileError("people acted in a state that a case was never in")
    if not all(0 <= i < lattice.buyable for i in people.unasked):
        raise FileError("people looked at what there is not")
    if people.advised is not None and not -1 <= people.advised < len(lattice.problem.actions):
        raise FileError(f"people overruled an action {people.advised} that there is not")
    return people
