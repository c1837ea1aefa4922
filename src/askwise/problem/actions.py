"""Declares actions: what can be decided, at what cost, and after which observations."""

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
    """An action: what is decided at the end of a case, an a in A.

    cost: The cost of taking the action, whatever it earns. It reduces the gain of the case.
    requires: The observations that must have been made before. Given values and failures count.

    In a problem you may write a plain name for an action that costs and requires nothing.

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
        """Whether the action costs and requires nothing, so that its name is enough."""
        return not self.cost and not self.requires


def as_actions(declared: object) -> tuple[Action, ...]:
    """Returns the actions of a list of names and actions."""
    actions = tuple(
        action if isinstance(action, Action) else Action(action)  # type: ignore[arg-type]
        for action in as_tuple(declared, "actions")
    )
    if not actions:
        raise ProblemError("actions is empty, expected at least one")
    check_distinct([action.name for action in actions], "action")
    return actions


def as_declared(actions: Sequence[Action]) -> tuple[str | Action, ...]:
    """Returns the actions as files have them: a plain action is its name."""
    return tuple(action.name if action.is_plain else action for action in actions)
