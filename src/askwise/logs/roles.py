"""Finds the role of each column of a log, and with it the kind of the log.

A log is one of two kinds. *Complete records* have every observation and the reward of every action.
*Logged decisions* have the observations that were made, the action that was taken, and its reward;
the rest is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from askwise._support.typing import AcquisitionName
from askwise.errors import OptionError, TableError
from askwise.logs.near_names import missing_names, no_column
from askwise.problem import Problem

Kind = Literal["complete records", "logged decisions"]


class Roles(NamedTuple):
    """The columns of a log by what they say."""

    kind: Kind
    observations: tuple[str, ...]
    """In the order of the lattice: those that are given last."""
    rewards: Mapping[str, str]
    """For each action the column with what it earns, or would have earned; in complete records."""
    label: str | None = None
    """Or the column that names the one action that earns 1, all others 0."""
    action: str | None = None
    reward: str | None = None
    """In logged decisions: the columns of the action and of its reward."""
    acquisition: AcquisitionName | None = None
    order: str | None = None
    propensity: str | None = None
    stake: str | None = None
    """How many times the reward of the case counts; rewards are those of a stake of 1."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing in any row."""
        return self.kind == "complete records"

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        said = (self.label, self.action, self.reward, self.order, self.propensity, self.stake)
        named = (*self.observations, *self.rewards.values(), *(c for c in said if c is not None))
        return tuple(dict.fromkeys(named))


def roles_of(
    problem: Problem,
    found: Sequence[str],
    *,
    rewards: Mapping[str, str] | None,
    label: str | None,
    action: str | None,
    reward: str | None,
    acquisition: str | None,
    order: str | None,
    propensity: str | None,
    stake: str | None,
    wanted: Kind | None = None,
) -> Roles:
    """Returns the role of each column, as given or by its name.

    `wanted` is the only kind of log that the caller can use, for the message if it is neither.
    """
    if not isinstance(problem, Problem):
        raise OptionError(f"problem must be a Problem, got {problem!r}")
    if acquisition not in (None, "simultaneous", "sequential"):
        raise OptionError(
            f"acquisition must be 'simultaneous' or 'sequential', got {acquisition!r}"
        )
    names = [o.name for o in problem.observations]
    free = [column for column in found if column not in names]

    columns = {"label": label, "action": action, "order": order, "stake": stake}
    for name, given in columns.items():
        if given is not None and given in names:
            raise OptionError(
                f"{name}={given!r} is an observation of the problem, name another column"
            )
    check_apart({**columns, "reward": reward, "propensity": propensity})
    roles = _complete(problem, free, rewards, label, (action, reward))
    if roles is not None:
        check_apart(columns, roles.rewards)
        for what, said in (
            ("acquisition", acquisition),
            ("order", order),
            ("propensity", propensity),
        ):
            if said is not None:
                raise OptionError(
                    f"{what}={said!r} is for logged decisions, but rewards of every action, or a "
                    "label, make these complete records: leave out one of them"
                )
    else:
        if _is_neither(free, action, reward):
            raise TableError(_neither(problem, found, wanted))
        roles = _decided(free, (action, reward, order, propensity), acquisition)
    ordered = sorted(problem.observations, key=lambda o: o.given)
    if stake is None and "stake" in free and "stake" not in roles.columns:
        stake = "stake"
    roles = roles._replace(observations=tuple(o.name for o in ordered), stake=stake)
    for column in roles.columns:
        if column not in found:
            raise TableError(no_column(column, found, free))
    return roles


def check_apart(
    columns: Mapping[str, str | None], rewards: Mapping[str, str] | None = None
) -> None:
    """Raises an error if a column is named for two roles, or for the rewards of two actions."""
    roles: dict[str, str] = {}
    earned = {f"rewards[{action!r}]": column for action, column in (rewards or {}).items()}
    for role, column in (earned | dict(columns)).items():
        if column is None:
            continue
        if column in roles:
            raise OptionError(
                f"{role}={column!r} is the column of {roles[column]}= already, name another column"
            )
        roles[column] = role


def _complete(
    problem: Problem,
    free: Sequence[str],
    rewards: Mapping[str, str] | None,
    label: str | None,
    decided: tuple[str | None, str | None],
) -> Roles | None:
    """Complete records, if that is what is said, or what the names of the columns say."""
    is_decided = any(column is not None for column in decided)
    said: list[tuple[str, Any]] = [("rewards", rewards), ("label", label)]
    chosen = [name for name, given in said if given is not None]
    if len(chosen) + is_decided > 1:
        others = " and ".join([*chosen, *(["action or reward"] if is_decided else [])])
        raise OptionError(f"{others} exclude each other: a log has one kind, so give one of them")
    if label is not None:
        return Roles("complete records", (), {}, label)
    if rewards is None:
        if is_decided or any(action not in free for action in problem.action_names):
            return None
        rewards = {action: action for action in problem.action_names}
    if not isinstance(rewards, Mapping):
        raise OptionError(f"rewards must be {{action: column}}, got {rewards!r}")
    for action in rewards:
        if action not in problem.action_names:
            known = ", ".join(problem.action_names)
            raise TableError(f"rewards: unknown action {action!r}, expected one of: {known}")
    # an action that is left out has a column of its own name
    return Roles("complete records", (), {a: rewards.get(a, a) for a in problem.action_names})


def _is_neither(free: Sequence[str], action: str | None, reward: str | None) -> bool:
    """Whether a log that has no complete records has no decisions either."""
    return (action is None and "action" not in free) or (reward is None and "reward" not in free)


def _neither(problem: Problem, found: Sequence[str], wanted: Kind | None) -> str:
    """The message for a log that is not of the kinds that the caller can use."""
    names = ", ".join(map(repr, problem.action_names))
    complete = (
        "what every action would have earned (rewards={action: "
        f"column}}, or columns named {names}; or label=)"
    )
    decided = "what was done and what that earned (action= and reward=)"
    said = {
        "complete records": f"does not say {complete}",
        "logged decisions": f"does not say {decided}",
        None: f"says neither {complete} nor {decided}",
    }[wanted]
    near = "" if wanted == "logged decisions" else missing_names(problem, found)
    return f"the log {said}; its columns are: {', '.join(map(str, found))}{near}"


def _decided(
    free: Sequence[str],
    given: tuple[str | None, str | None, str | None, str | None],
    acquisition: str | None,
) -> Roles:
    """Logged decisions, with columns that are called what they are."""
    names = ("action", "reward", "order", "propensity")
    action, reward, order, propensity = (
        said if said is not None or name not in free else name
        for said, name in zip(given, names, strict=True)
    )
    if acquisition == "simultaneous":
        if given[2] is not None:
            raise OptionError(
                f"order={order!r} goes with acquisition='sequential', "
                f"got acquisition={acquisition!r}"
            )
        order = None
    elif acquisition == "sequential" and order is None:
        raise TableError(
            "acquisition='sequential' needs order=, the column that lists the observations "
            "of a row in the order in which they were made"
        )
    chosen: AcquisitionName | None = "simultaneous" if acquisition == "simultaneous" else None
    chosen = chosen if order is None else "sequential"
    return Roles("logged decisions", (), {}, None, action, reward, chosen, order, propensity)
