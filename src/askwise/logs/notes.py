"""What can be learned from a log without bias, and what cannot, in plain sentences."""

from __future__ import annotations

import numpy as np

from askwise._support.typing import AcquisitionName
from askwise.counting import Statistics
from askwise.logs.counting import Decisions
from askwise.logs.roles import Roles
from askwise.states import Lattice

REFUSED = (
    "the rows looked at different things, and the log does not say how that was chosen: where what "
    "was looked at depended on what had been seen, the rows that looked are no fair sample of the "
    "others, and only rewards in the exact states, and steps along a known order, are without "
    "bias. Say acquisition='simultaneous' if each set was chosen before any of it was seen, or "
    "acquisition='sequential' with order= the column that has the names in the order in which they "
    "were looked at"
)


def notes_of(
    roles: Roles, lattice: Lattice, statistics: Statistics | None, decisions: Decisions | None
) -> tuple[str, ...]:
    """The sentences about one log."""
    if decisions is None or statistics is None:
        return _of_records(lattice)
    acquisition: AcquisitionName = roles.acquisition or "simultaneous"
    notes = [_LOOKS[acquisition], _REWARDS, *_untried(statistics)]
    if (decisions.digits >= 0).all():
        notes.append(
            "Every row saw everything, but only the reward of the action taken is known, and that "
            "action was chosen from all that was seen: what it earns when less is known is not "
            "counted, because it would be confounded with how it was chosen."
        )
    if roles.propensity is None:
        notes.append(
            "Without propensities it cannot be said what another policy would have earned on these "
            "rows (off_policy)."
        )
    else:
        notes.append(
            f"The propensities in column {roles.propensity!r} are probabilities: off_policy can "
            "say what another policy would have earned on these rows. They do not change what is "
            "counted."
        )
    return tuple(notes)


_LOOKS = {
    "simultaneous": (
        "Each set was chosen before any of it was seen, so every part of it is a fair sample: what "
        "buying a set at once shows can be learned without bias, for the sets that were bought and "
        "their parts. Policies that look one after the other cannot be learned from these counters."
    ),
    "sequential": (
        "Each look counts as a step from what had been seen before it: what the next look shows "
        "can be learned without bias along the orders in which looks were taken. Nothing is known "
        "of other orders, and sets bought at once cannot be learned from these counters."
    ),
}

_REWARDS = (
    "Rewards count in the exact state acted in. They are without bias if whoever acted knew no "
    "more than these columns; what else they knew and acted on is confounded with the action."
)


def _of_records(lattice: Lattice) -> tuple[str, ...]:
    return (
        "Everything is known in every row, the reward of every action too, so every state of at "
        f"most {lattice.m} looks is a fair sample: policies that buy at once and policies that "
        "look one after the other can both be learned without bias.",
        "This is so for cases like these: records that are complete because only some cases were "
        "looked at completely say nothing of the others.",
    )


def _untried(statistics: Statistics) -> list[str]:
    """Actions that were never taken, and how few states saw more than one."""
    actions, counts = statistics.lattice.problem.action_names, statistics.action_counts
    never = [actions[a] for a in np.flatnonzero(counts.sum(axis=0) == 0).tolist()]
    tried = (counts > 0).sum(axis=1)
    acted, several = int((tried > 0).sum()), int((tried > 1).sum())
    notes = [
        f"More than one action was tried in {several:,} of the {acted:,} states acted in: "
        "elsewhere nothing can be said of the actions that were not taken."
    ]
    if never:
        notes.append(f"Nothing can be learned of actions never taken: {', '.join(never)}.")
    return notes
