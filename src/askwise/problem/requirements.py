"""Checks requirements: the observations that must come before an action or an observation.

A requirement is fulfilled if the observation is given, on file, or was made in the case, even if it
failed. Every case must be able to end, so at least one action requires nothing that must be bought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askwise.errors import ProblemError
from askwise.problem.actions import Action


def check_requirements(
    given: Mapping[str, bool], looks: Mapping[str, Sequence[str]], actions: Sequence[Action]
) -> None:
    """Raises an error unless every requirement can be fulfilled and some action needs no purchase.

    `given` says which observations are given, and `looks` what each of them requires.
    """
    for name, requires in looks.items():
        _check_known(f"observation {name!r}", requires, given)
    for action in actions:
        _check_known(f"action {action.name!r}", action.requires, given)
    _check_no_cycle(looks)
    if not any(all(given[name] for name in action.requires) for action in actions):
        raise ProblemError(
            "actions: each one requires an observation that is bought, so a case that buys nothing "
            "could not end; at least one must require nothing, or only what is given"
        )


def _check_known(who: str, requires: Sequence[str], known: Mapping[str, object]) -> None:
    for name in requires:
        if name not in known:
            raise ProblemError(
                f"{who}: requires the unknown observation {name!r}, "
                f"expected one of: {', '.join(known)}"
            )


def _check_no_cycle(requires: Mapping[str, Sequence[str]]) -> None:
    """Raises an error if an observation requires itself, directly or through others."""
    free: set[str] = set()
    while len(free) < len(requires):
        more = {name for name in requires if name not in free and free.issuperset(requires[name])}
        if not more:
            circle = ", ".join(name for name in requires if name not in free)
            raise ProblemError(
                f"observations {circle}: none of them can be bought first, "
                "since each requires another one of them, or itself; remove one of these "
                "requirements"
            )
        free |= more
