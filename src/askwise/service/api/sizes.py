"""How large a project may be: worked out from its problem by arithmetic, before anything is built.

What a project takes is memory, in every process that serves it, and time in which no other request
is served. Both follow from a few numbers: how many subsets and states there are, how many actions,
how many values. Each table that is built is counted here as so many numbers of 8 bytes. The count
was compared with the memory that such a project needs (tests/service/api/test_sizes.py).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from askwise.counting import SPARSE_FROM
from askwise.errors import TooLargeError
from askwise.estimation.joint import MOST_CELLS
from askwise.problem import Observation, Problem
from askwise.states.layout import count_products, count_states, said

MOST_NUMBERS = 32_000_000
"""In all tables of a project: 256 MB."""

MOST_OBSERVATIONS = 1000
MOST_VALUES = 1000
"""Of one observation."""

MOST_ACTIONS = 1000
MOST_PANELS = 1000

LONGEST = 200
"""Characters of a name or a value."""

TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""The characters that set the direction of a text."""

MOST_LINEAR = 20_000
"""States of lin-ucb, which goes through them one by one."""

REMEDY = "lower max_observations, or the number of observations, of their values or of actions"


def check_size(problem: Problem, learner: str, options: Mapping[str, Any]) -> None:
    """Refuse what is too large to be served; says how large it is, and what to lower."""
    _check_names(problem)
    states, subsets, numbers = count_numbers(problem, learner, options)
    if numbers > MOST_NUMBERS:
        raise TooLargeError(
            f"{len(problem.observations)} observations with max_observations={problem.m} and "
            f"{len(problem.actions)} actions make {said(states)} states in {said(subsets)} subsets "
            f"and, for the learner {learner!r}, tables of about {said(numbers)} numbers, more than "
            f"the {MOST_NUMBERS:,} of a project that is served: {REMEDY}"
        )
    if learner == "lin-ucb" and states > MOST_LINEAR:
        raise TooLargeError(
            f"{states:,} states, more than the {MOST_LINEAR:,} for which the learner 'lin-ucb' is "
            f"served: {REMEDY}"
        )


def count_numbers(
    problem: Problem, learner: str, options: Mapping[str, Any]
) -> tuple[int, int, int]:
    """How many states and subsets there are, and about how many numbers all tables have."""
    bought = [len(o.outcomes) for o in problem.observations if not o.given]
    contexts = count_products([len(o.outcomes) for o in problem.observations if o.given])
    m = len(bought) if learner == "contextual-ucb" else problem.m  # it buys everything
    actions = len(problem.actions)
    states = contexts * count_states(bought, m)
    subsets = contexts * count_states([1] * len(bought), m)
    layout = subsets * (8 * m + 12)
    """Twice what it takes to build: the process that serves the project keeps it three times."""
    by_state = m + 3 * actions + 16
    """Counters, and the tables of plans and of a policy."""
    if learner == "learner":
        cells = count_products([len(o.outcomes) for o in problem.observations])
        if options.get("model", "auto") != "additive" and cells <= MOST_CELLS:
            joint = actions * cells * (cells + 4) + subsets * cells
            return states, subsets, layout + states * by_state + joint
        return states, subsets, layout + _additive_numbers(problem)
    is_optimistic = learner in ("seq-oos", "sim-oos")
    if is_optimistic and options.get("storage", "auto") != "dense" and states >= SPARSE_FROM:
        return states, subsets, layout + SPARSE_FROM * by_state
    return states, subsets, layout + states * by_state


def _additive_numbers(problem: Problem) -> int:
    """Of the model of many observations: it weighs every pair of them, and each with itself."""
    number, actions = len(problem.observations), len(problem.actions)
    values = max(len(o.outcomes) for o in problem.observations)
    pairs = number * number // 2 * values**2 * 4 * actions
    kept = 24 * values**2 * actions + number * values * (values + actions)
    return pairs + kept + values**4


def _check_names(problem: Problem) -> None:
    """Refuse names that are too many or too long: they are in every answer."""
    observations, actions = problem.observations, problem.action_names
    for what, number, most in (
        ("observations", len(observations), MOST_OBSERVATIONS),
        ("actions", len(actions), MOST_ACTIONS),
        ("panels", len(problem.panels), MOST_PANELS),
    ):
        if number > most:
            raise TooLargeError(
                f"{number:,} {what}, more than the {most:,} of a project that is served: leave out "
                "those that matter least"
            )
    for o in observations:
        why = why_not_served(o)
        if why is not None:
            raise TooLargeError(f"observation {_short(o.name)} {why}")
    for action in actions:
        if len(action) > LONGEST:
            raise TooLargeError(f"an action has a name of {_too_long(action)}")
        if _hidden(action):
            raise TooLargeError(f"action {_short(action)} {_hidden(action)}")


def why_not_served(observation: Observation) -> str | None:
    """What about an observation is too large to be served, after its name; None if nothing is."""
    name, values = observation.name, observation.values
    if len(name) > LONGEST or _hidden(name):
        return f"has a name of {_too_long(name)}" if len(name) > LONGEST else _hidden(name)
    if len(values) > MOST_VALUES:
        return (
            f"has {len(values):,} values, more than the {MOST_VALUES:,} that are served: give a "
            "number fewer edges, or join values"
        )
    for value in values:
        if isinstance(value, str):
            if len(value) > LONGEST:
                return f"has a value of {_too_long(value)}"
            if _hidden(value):
                return f"has a value that {_hidden(value)}: {_short(value)}"
        elif not -(2**63) <= int(value) < 2**63:
            return "has a value that is a whole number beyond 64 bits: write it as a text"
    return None


def _hidden(text: str) -> str:
    """The first character that cannot be seen, or that turns text around; empty if there is none.

    Names and values stand in answers, logs and trees, where such characters would deceive.
    """
    for character in text:
        if unicodedata.category(character) == "Cc" or character in TURNING:
            return f"has the character U+{ord(character):04X}, which is not shown: leave it out"
    return ""


def _too_long(text: str) -> str:
    return f"{len(text):,} characters, at most {LONGEST} are served: shorten {_short(text)}"


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:40] + "…")
