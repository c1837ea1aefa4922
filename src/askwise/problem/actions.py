"""What can be decided, what that costs, and what must have been looked at first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from askwise.errors import ProblemError
from askwise.problem.amounts import check_amount
from askwise.problem.checks import as_tuple, check_distinct, check_name, checked_requires


class _Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class Action(
    _Named,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """Something that can be decided in the end: an a in A.

    cost: what it costs to do it, whatever it earns; a case's gain is less by it.
    requires: the observations that must have been looked at before, given and failed ones included.

    A problem takes a plain name for an action that costs and requires nothing.

    >>> Action("review", cost=4.0)
    Action(name='review', cost=4.0)
    """

    cost: float = 0.0
    requires: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_name(self.name, "an action")
        who = f"action {self.name!r}"
        msgspec.structs.force_setattr(self, "cost", check_amount(self.cost, f"{who}: cost"))
        msgspec.structs.force_setattr(self, "requires", checked_requires(self.requires, who))

    @property
    def is_plain(self) -> bool:
        """Whether it costs nothing and requires nothing, so that its name says it all."""
        return not self.cost and not self.requires


def as_actions(said: object) -> tuple[Action, ...]:
    """The actions of a list of names and actions."""
    actions = tuple(
        action if isinstance(action, Action) else Action(action)  # type: ignore[arg-type]
        for action in as_tuple(said, "actions")
    )
    if not actions:
        raise ProblemError("actions is empty, expected at least one")
    check_distinct([action.name for action in actions], "action")
    return actions


def as_said(actions: Sequence[Action]) -> tuple[str | Action, ...]:
    """The actions as files have them: a plain one is its name."""
    return tuple(action.name if action.is_plain else action for action in actions)
