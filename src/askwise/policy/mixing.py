"""Two policies as one: a share of the cases follows the other one, by chance.

Within an average spend the best that can be done is, in general, such a mixture (`budgeted.py`).
Which of the two a case follows is decided by its tag, once for the whole case. What cases do under
a mixture is what they do under the one or the other, so its expected gain is the mean of theirs,
and the probability of what a case did is too:

    P(steps) = (1 − q) P(steps | the one) + q P(steps | the other),

q being the share. The propensity of a step is P(steps with it) / P(steps before it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from askwise._kernels.policy.draws import MIXES, uniform
from askwise._support.typing import Flags, Floats, Integers
from askwise.policy.propensities import decided, of_set, ratio
from askwise.policy.tables import Path, Propensities

if TYPE_CHECKING:
    from askwise.policy.policy import Policy


class Mixture(NamedTuple):
    """What is mixed into a policy."""

    other: Policy
    share: float
    """Of the cases that follow the other policy, from 0 to 1."""

    def is_other(self, tag: int) -> bool:
        """Whether a case with that tag follows the other policy."""
        return uniform(tag, MIXES) < self.share


def follow_other(tags: Integers, share: float) -> Flags:
    """Whether each of the cases with these tags follows the other policy."""
    drawn: Floats = uniform(tags, MIXES)  # type: ignore[arg-type, assignment]
    return drawn < share


def mixed_propensities(
    parts: Sequence[tuple[float, Policy]],
    start: int,
    path: Path,
    looks: tuple[int, ...],
    action: int,
) -> Propensities | None:
    """How likely a case took each of its steps, whichever of the policies it followed."""
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
    """Of each step if the case follows this policy; 0 where the policy would do something else."""
    table = policy.table
    if policy.exploration is not None:
        return policy.exploration.propensities(table, start, path, looks, action)
    end = path[-1][1] if path else start
    acts = float(table.act(end) == action)
    if policy.acquisition == "simultaneous":
        bought = decided(path, looks)
        return of_set(bought, float(table.looks(start) == bought), acts, action)
    steps, state = [], start
    for i, reached in path:
        steps.append(float(table.looks(state) == (i,)))
        state = reached
    if looks:
        steps.append(float(table.looks(state) == looks))
    if action >= 0:
        steps.append(acts * (not table.looks(state)))
    return tuple(steps)
