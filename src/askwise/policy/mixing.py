"""A mixture of policies: a random share of the cases follows each of them.

The best policy within an average spend is in general such a mixture (`budgeted.py`). So is a
learner that explores in a share of its cases, and so are two policies that are compared. The tag of
a case decides which policy it follows, once for the whole case. So the expected gain of a mixture
is the mean of its policies' gains, and the probability of a case's steps is the mean of theirs:

    P(steps) = Σ_k q_k P(steps | policy k),

where q_k are the shares. The propensity of a step is P(steps with it) / P(steps before it).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askwise._kernels.policy.draws import MIXES, uniform
from askwise._support.typing import Floats, Integers
from askwise.policy.propensities import decided, of_set, ratio
from askwise.policy.tables import Path, Propensities

if TYPE_CHECKING:
    from askwise.policy.policy import Policy


class Mixture(NamedTuple):
    """The policies that are mixed into a policy."""

    others: tuple[tuple[float, Policy], ...]
    """The other policies, each with its share of the cases. The rest follows the policy itself."""

    def other_of(self, tag: int) -> Policy | None:
        """Returns the other policy that a case with that tag follows; None is the policy itself."""
        drawn = uniform(tag, MIXES)
        for share, other in self.others:
            if drawn < share:
                return other
            drawn -= share
        return None


def mixed_with(policy: Policy, other: Policy, share: float) -> Policy:
    """Returns a policy with another one that a share of the cases follows."""
    (_, own), *rest = policy.parts
    scaled = [((1.0 - share) * part, one) for part, one in rest]
    scaled += [(share * part, one) for part, one in other.parts]
    return _made(own, Mixture(tuple(scaled)), policy, policy)


def with_parts(policy: Policy, change: Callable[[Policy], Policy]) -> Policy:
    """Returns the same mixture with every part changed by a function."""
    if policy.mixture is None:
        return change(policy)
    (_, own), *others = policy.parts
    mixture = Mixture(tuple((share, change(other)) for share, other in others))
    first = change(own)
    return _made(first, mixture, policy, first)


def at_prices_of_case(policy: Policy, prices: Mapping[str, float]) -> Policy:
    """Returns the same policy for a case that pays other prices. It decides the same."""
    lattice = policy.lattice.priced(prices)

    def priced(part: Policy) -> Policy:
        table = copy.copy(part.table)
        table.lattice = lattice
        return part.with_table(table)

    return policy.each(priced)


def _made(own: Policy, mixture: Mixture, like: Policy, known: Policy) -> Policy:
    """Returns a mixture that begins with a policy, with the remarks of one and the evidence of
    another.
    """
    from askwise.policy.policy import Policy

    found = Policy(own.table, own.exploration, frequency=own.frequency, mixture=mixture)
    found._source, found._is_recommended = known._source, known._is_recommended
    found.shadow_price, found.note = like.shadow_price, like.note
    return found


def parts_followed(tags: Integers, shares: Sequence[float]) -> Integers:
    """Returns the part that each case with these tags follows; 0 is the policy itself."""
    drawn: Floats = uniform(tags, MIXES)  # type: ignore[arg-type, assignment]
    found: Integers = np.zeros(len(tags), np.int64)
    for k, share in enumerate(shares[1:], start=1):
        found[(found == 0) & (drawn >= 0) & (drawn < share)] = k
        drawn = np.where(found == 0, drawn - share, -1.0)
    return found


def mixed_propensities(
    parts: Sequence[tuple[float, Policy]],
    start: int,
    path: Path,
    looks: tuple[int, ...],
    action: int,
) -> Propensities | None:
    """Returns the probability of each step of a case, over all policies that it may follow."""
    found: list[tuple[float, Propensities]] = []
    for share, policy in parts:
        steps = _steps(policy, start, path, looks, action)
        if steps is None:
            return None
        found.append((share, steps))
    return partial(_averaged, found)


def _averaged(parts: Sequence[tuple[float, Propensities]]) -> tuple[float, ...]:
    courses = [(share, steps() if callable(steps) else steps) for share, steps in parts]
    weights, before, found = [share for share, _ in courses], 1.0, []
    for k in range(len(courses[0][1])):
        weights = [w * steps[k] for w, (_, steps) in zip(weights, courses, strict=True)]
        found.append(ratio(sum(weights), before))
        before = sum(weights)
    return tuple(found)


def _steps(
    policy: Policy, start: int, path: Path, looks: tuple[int, ...], action: int
) -> Propensities | None:
    """Returns the probability of each step under this policy; 0 where it would do something
    else.
    """
    table = policy.table
    if policy.exploration is not None:
        return policy.exploration.propensities(table, start, path, looks, action)
    if policy.acquisition == "simultaneous":
        bought = decided(path, looks)
        if table.looks(start) != bought:
            return of_set(bought, 0.0, 0.0, action)
        end = path[-1][1] if path else start
        return of_set(bought, 1.0, float(action >= 0 and table.act(end) == action), action)
    number, agreed, state = len(path) + len(looks) + (action >= 0), 0, start
    for i, reached in (*path, *((i, -1) for i in looks)):
        if table.looks(state) != (i,):  # later steps do not matter
            return (1.0,) * agreed + (0.0,) * (number - agreed)
        agreed, state = agreed + 1, reached
    if action >= 0:
        acts = not table.looks(state) and table.act(state) == action
        return (1.0,) * agreed + (float(acts),)
    return (1.0,) * agreed
