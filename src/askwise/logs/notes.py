"""States in plain sentences what a log shows without bias, and what it cannot show."""

from __future__ import annotations

import numpy as np

from askwise._support.numbers import as_price, shown
from askwise._support.typing import AcquisitionName, Integers
from askwise.counting import UNIT, Statistics
from askwise.estimation.complete_records import CompleteRecords
from askwise.logs.counting import Decisions
from askwise.logs.roles import Roles
from askwise.problem import Problem
from askwise.problem.rewards import range_words
from askwise.states import Lattice

NARROW = 0.0005
"""The largest standard deviation of rewards, as a part of their range, that is called narrow. It is
that of rewards which are half at one end and half at the other of a thousandth of the range.
"""

REFUSED = (
    "the rows have different observations, and the log does not say how these were chosen. If the "
    "choice depended on earlier results, the rows that have an observation are no fair sample of "
    "the others, and its results would be biased. Say acquisition='simultaneous' if each set was "
    "chosen before any result was known, or acquisition='sequential' with order= the column that "
    "lists the observations of a row in the order in which they were made. An empty cell means "
    "that the observation was not made: if it was made and gave no value, write 'unavailable' in "
    "the cell, and declare fails='charged' or 'refunded'"
)


def notes_of(
    roles: Roles, lattice: Lattice, statistics: Statistics | None, decisions: Decisions | None
) -> tuple[str, ...]:
    """The sentences about one log."""
    if decisions is None or statistics is None:
        return (*_of_records(lattice), *_of_label(roles, lattice))
    acquisition: AcquisitionName = roles.acquisition or "simultaneous"
    notes = [_LOOKS[acquisition], _REWARDS, *_untried(statistics), *_broken(lattice, decisions)]
    if (decisions.digits >= 0).all():
        notes.append(
            "Every row has every observation, but only the reward of the action taken. That action "
            "was chosen with all observations known, so its reward is counted in the full state "
            "only: in states with fewer observations it would be confounded with the choice."
        )
    if roles.propensity is None:
        notes.append(
            "The log has no propensities, so off_policy cannot estimate what another policy would "
            "have earned on these rows."
        )
    else:
        notes.append(
            f"The log has propensities (column {roles.propensity!r}), so off_policy can estimate "
            "what another policy would have earned on these rows. They do not change what is "
            "counted."
        )
    return tuple(notes)


def of_stakes(roles: Roles, mean: float) -> tuple[str, ...]:
    """The note on counts and on the recommendation, if cases have stakes."""
    if roles.stake is None or mean == 1.0:
        return ()
    return (
        f"The rewards of a case count as many times as the column {roles.stake!r} says, "
        f"{shown(mean)} times on average. They are counted per unit of stake. What is recommended "
        "is for a case of the mean stake; another stake has its own recommendation.",
    )


def of_rewards(problem: Problem, log: CompleteRecords | Decisions) -> tuple[str, ...]:
    """The note on rewards that are all equal, or nearly so by the range of the problem."""
    counts, units = log.counts, log.units.reshape(len(log.counts), -1)
    rewards = int(counts.sum()) * units.shape[1]
    if rewards < 2:
        return ()
    mean = UNIT * float(units.sum(dtype=np.float64)) / rewards
    square = mean - UNIT * float(log.graded.sum(dtype=np.float64)) / rewards  # r² = r − r(1 − r)
    if square - mean**2 > NARROW**2:
        return ()
    if _has_one_number(counts, units) and _has_one_number(counts, log.graded):
        return (
            f"All rewards of the log are equal ({shown(problem.as_money(mean))}). So it shows no "
            "action as better than another, and nothing as worth buying. Check that these are the "
            "columns of rewards.",
        )
    return (
        "The rewards of the log hardly differ: their standard deviation is below "
        f"{100 * NARROW:g}% of the range {range_words(problem.rewards)}. If they are in another "
        "unit, such as thousands, convert them into the currency of the costs. If they are right, "
        "declare a narrower range of rewards in the problem.",
    )


def _has_one_number(counts: Integers, sums: Integers) -> bool:
    """Whether every row has the same number, if `sums` are of groups of so many rows."""
    by_group = sums.reshape(len(counts), -1)
    return bool((by_group == by_group[0, 0] // counts[0] * counts[:, None]).all())


def _broken(lattice: Lattice, decisions: Decisions) -> list[str]:
    """A note for each action that rows took without what it requires."""
    place = {o.name: i for i, o in enumerate(lattice.observations)}
    notes = []
    for a, action in enumerate(lattice.problem.actions):
        required = [place[name] for name in action.requires]
        is_broken = (decisions.digits[:, required] < 0).any(axis=1) & (decisions.actions == a)
        if is_broken.any():
            rows = int(decisions.counts[is_broken].sum())
            notes.append(
                f"{rows:,} rows have the action {action.name!r} without what it requires "
                f"({', '.join(action.requires)}). Their rewards are counted, but no policy of this "
                "problem does so."
            )
    return notes


_LOOKS = {
    "simultaneous": (
        "Each set was chosen before any of its results was known, so the results of every part of "
        "it are a fair sample. Policies that buy sets can be learned without bias, for the sets "
        "that were bought and their parts. Policies that buy one observation after the other "
        "cannot be learned from these counters."
    ),
    "sequential": (
        "Each observation counts as a step from the results known before it. The next result can "
        "be learned without bias along the orders of purchase in the log. Nothing is known of "
        "other orders, and sets bought at once cannot be learned from these counters."
    ),
}

_REWARDS = (
    "Rewards count in the exact state acted in. They are unbiased if the decision used nothing but "
    "these columns. Anything else that the decision used is confounded with the action."
)


def _of_records(lattice: Lattice) -> tuple[str, ...]:
    return (
        "Every row has every observation and the reward of every action, so every state of at most "
        f"{lattice.m} observations is a fair sample. Policies that buy sets and policies that buy "
        "one observation after the other can both be learned without bias.",
        "This holds for cases like these. If only some cases were recorded completely, the log "
        "says nothing about the others.",
    )


def _of_label(roles: Roles, lattice: Lattice) -> list[str]:
    """The note that, in money, a label is little evidence for the other actions."""
    within = lattice.problem.rewards
    if roles.label is None or within is None:
        return []
    low, high = map(as_price, within)
    return [
        f"The column {roles.label!r} names one action a row. That action counts as earning {high}, "
        f"the most of the problem's rewards, and every other action as earning {low}, the least. "
        "If they earn anything else, say rewards={action: column}, the columns with what each "
        "action would have earned."
    ]


def _untried(statistics: Statistics) -> list[str]:
    """Actions that were never taken, and how few states saw more than one."""
    actions, counts = statistics.lattice.problem.action_names, statistics.action_counts
    never = [actions[a] for a in np.flatnonzero(counts.sum(axis=0) == 0).tolist()]
    tried = (counts > 0).sum(axis=1)
    acted, several = int((tried > 0).sum()), int((tried > 1).sum())
    notes = [f"More than one action was tried in {several:,} of the {acted:,} states acted in."]
    if several < acted:
        notes[0] += " In the others nothing is known about the actions that were not taken."
    if never:
        notes.append(f"Nothing can be learned about actions never taken: {', '.join(never)}.")
    return notes
