"""A policy for a stake between two others, where both do the same.

With known probabilities the gain of a policy is linear in the stake of a case. The gain of the best
policy is the maximum of such lines, so it is convex. So a policy that is best at two stakes is best
at all stakes between them. The same holds from a state on, if both plans do the same there and in
all states that they reach from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Flags
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable, Table
from askwise.policy.tree_table import TreeTable


class PolicyBetween(Policy):
    """The common part of two policies, and an exact plan for a case that reaches another state.

    alike: by state, whether the policy does from there on what the plan for its stake would do.
    """

    def __init__(self, below: Policy, alike: Flags | None, plan: Callable[[], Policy]) -> None:
        vars(self).update(vars(below))  # the same tables, checked and frozen
        self._alike = alike
        self._plan = plan
        self._exact: Policy | None = None
        """The plan for its stake, once it was needed."""

    @property
    def may_plan(self) -> bool:
        """Whether a case that reaches another state must be planned for, which takes long."""
        return self._alike is not None and self._exact is None

    def in_state(self, state: int) -> Policy:
        """Returns itself, or the plan for its stake."""
        return self if self._alike is None or self._alike[state] else self.exact()

    def exact(self) -> Policy:
        """Returns the plan for its stake, which covers every state."""
        if self._alike is None:
            return self
        if self._exact is None:
            self._exact = self._plan()
        return self._exact


def alike_from(one: Policy, other: Policy) -> Flags:
    """Returns by state, or once for all, whether both do the same there and from there on.

    Tables of sets and trees are short: they are compared as a whole. Mixtures are alike where all
    their parts are.
    """
    if one.mixture is not None:
        pairs = zip(one.parts, other.parts, strict=True)
        alike = [_alike_tables(mine.table, theirs.table) for (_, mine), (_, theirs) in pairs]
        found: Flags = np.logical_and.reduce(alike)
        return found
    return _alike_tables(one.table, other.table)


def _alike_tables(mine: Table, theirs: Table) -> Flags:
    if isinstance(mine, PathTable) and isinstance(theirs, PathTable):
        return _by_state(mine, theirs)
    if isinstance(mine, SetTable) and isinstance(theirs, SetTable):
        return _all(_same(mine.sets, theirs.sets) and _same(mine.actions, theirs.actions))
    assert isinstance(mine, TreeTable)
    assert isinstance(theirs, TreeTable)
    pairs = ((mine.look, theirs.look), (mine.actions, theirs.actions), (mine.child, theirs.child))
    return _all(all(_same(a, b) for a, b in pairs))


def _by_state(mine: PathTable, theirs: PathTable) -> Flags:
    from askwise._kernels.policy.alike import alike_from

    alike = np.empty(mine.lattice.size, np.bool_)
    tables = (mine.look, mine.actions, theirs.look, theirs.actions)
    alike_from(mine.lattice.layout, *tables, alike)
    return alike


def _all(is_so: bool) -> Flags:
    return np.array([is_so])


def _same(mine: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> bool:
    return mine is theirs or np.array_equal(mine, theirs)
