"""A rule that people follow, as the table of a policy.

The rule is a function of what is known. It returns what is done next: an observation to buy, or an
action. It is called only for the states that it leads to, from every context. So it need not be
defined for other states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

import numpy as np

from askwise.errors import OptionError
from askwise.policy.listed_tables import ListedPaths, ListedRows
from askwise.problem import Value
from askwise.states import Lattice

Rule: TypeAlias = Callable[[dict[str, Value | None]], str]
"""A function from what is known to the name of an observation to buy now, or of an action."""

MOST_ASKED = 200_000
"""The most states for which a rule is called."""


def table_of_rule(lattice: Lattice, rule: Rule) -> ListedPaths:
    """Returns the table of the rule in every state that it leads to. A contradiction raises an
    error.
    """
    if not callable(rule):
        raise OptionError(
            f"a rule is a function from what is known, {{name: value}}, to the name of an "
            f"observation or of an action, got {rule!r}"
        )
    actions = lattice.problem.action_names
    both = set(actions) & {o.name for o in lattice.observations}
    if both:
        raise OptionError(f"{sorted(both)[0]!r} is an observation and an action: rename one")
    rows: dict[int, int] = {}
    looks, acts, waiting = [], [], list(range(lattice.contexts))
    while waiting:
        state = waiting.pop()
        if state in rows:
            continue
        if len(rows) == MOST_ASKED:
            raise OptionError(f"the rule leads to more than {MOST_ASKED:,} states")
        look, action = _asked(lattice, rule, state)
        rows[state] = len(rows)
        looks.append(look)
        acts.append(action)
        if look >= 0:
            waiting.extend(lattice.children(state, look))

    tables = np.array(looks, np.int16), np.array(acts, np.int16), np.full(len(rows), np.nan)
    found = ListedRows(lattice, np.array(list(rows), np.int64), is_rule=True)
    return ListedPaths(found, lattice, *tables)


def _asked(lattice: Lattice, rule: Rule, state: int) -> tuple[int, int]:
    """Calls the rule in one state. Returns an observation or −1, and an action (0 if it buys)."""
    known = lattice.state(state)
    try:
        answer = rule(dict(known))
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise OptionError(f"the rule raised an error when {known!r} is known: {raised}") from error
    if rule(dict(known)) != answer:
        raise OptionError(f"the rule has two answers to {known!r}: it must leave nothing to chance")
    actions = lattice.problem.action_names
    if answer in actions:
        action = actions.index(answer)
        _check_required(lattice.problem.actions[action].requires, known, f"does {answer!r}")
        return -1, action
    names = [o.name for o in lattice.observations]
    if answer not in names:
        expected = ", ".join(map(repr, (*names[: lattice.buyable], *actions)))
        raise OptionError(
            f"the rule says {answer!r} when {known!r} is known, expected one of: {expected}"
        )
    if answer in known:
        raise OptionError(f"the rule looks at {answer!r} when {known!r} is known already")
    bought = len(lattice.domain(state))
    if bought == lattice.m:
        raise OptionError(
            f"the rule looks at {answer!r} when {known!r} is known: a case buys at most {bought}"
        )
    look = names.index(answer)
    _check_required(lattice.observations[look].requires, known, f"looks at {answer!r}")
    return look, 0


def _check_required(requires: Iterable[str], known: Collection[str], does: str) -> None:
    """Raises an error if what the rule does requires an observation that is not known."""
    missing = sorted(set(requires).difference(known))
    if missing:
        raise OptionError(f"the rule {does} when {known!r} is known, which requires {missing[0]!r}")
