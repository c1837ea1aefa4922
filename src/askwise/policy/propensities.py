"""The propensities of the steps of a case: how likely each step was, given what was observed.

What a case explores is a function of its tag (`_kernels/policy/draws.py`). The tag is a uniform
number of 62 bits, and every uniform draw u(tag, place) is a hash of it. For one place, u takes the
multiples of 2⁻³¹ equally often over all tags, so the probabilities here are exact. Steps use
different places, whose draws are independent as far as those of a hash are. The probabilities of
several steps are multiplied as if they were (`tests/policy/test_propensities.py` compares both with
frequencies over many tags).

One draw may serve several steps, such as which set a case explores, or whether it explores. Such
steps are not independent. The probability of a step is then that of all steps with it, divided by
that of the steps before it:

    P(step | before) = Σ_h P(h, before, step) / Σ_h P(h, before),

where h is the hidden behaviour of the case.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from askwise._support.typing import Choices, Floats, Integers
from askwise.policy.tables import Path, remaining
from askwise.states import Lattice

if TYPE_CHECKING:  # the kernels' modules import Numba
    from askwise._kernels.policy.tree_cases import Tree


def another_look(i: int, probability: float, other: int, unknown: int) -> float:
    """The probability that a case buys i as exploration.

    With a given probability it explores: half of the time the other observation, if there is one,
    else any.
    """
    if other < 0:
        return probability / unknown
    return 0.5 * probability * ((i == other) + 1.0 / unknown)


def sets_that_leave(lattice: Lattice, looks: tuple[int, ...], known: tuple[int, ...]) -> int:
    """The number of allowed sets of which exactly these observations remain."""
    if lattice.has_requirements:
        members = map(lattice.members, lattice.open_subsets.tolist())
        return sum(remaining(lattice, bought, known) == looks for bought in members)
    if len(looks) < lattice.m - len(known):
        return int(2 ** len(known))
    # a set is cut off at m from the end, so the rest of it is known or comes later
    spare = len(known) + _later(lattice, looks, known)
    return sum(comb(spare, size) for size in range(len(known) + 1))


def _later(lattice: Lattice, looks: tuple[int, ...], known: tuple[int, ...]) -> int:
    last = max(looks, default=-1)
    return sum(i not in known for i in range(last + 1, lattice.buyable))


def uniform_draw_propensities(
    lattice: Lattice, start: int, path: Path, looks: tuple[int, ...], action: int
) -> tuple[float, ...]:
    """The probabilities of a uniformly drawn set and, in its own states, of a uniformly drawn
    action.

    Elsewhere the action is the first one. Sets and actions are those that are allowed.
    """
    known = lattice.domain(start)
    bought = decided(path, looks)
    ways = sets_that_leave(lattice, bought, known)
    may_act = lattice.may_act_in(lattice.subset_of(path[-1][1] if path else start))
    acts = float(may_act[action] / may_act.sum()) if action >= 0 else 0.0
    # with values on file the case ends in states of another set, unless they were this set
    acts = acts / ways + (1.0 - 1.0 / ways) * (action == int(may_act.argmax()))
    return of_set(bought, ways / len(lattice.open_subsets), acts, action)


def decided(path: Path, looks: tuple[int, ...]) -> tuple[int, ...]:
    """The observations that a case chose when it was opened: those it bought, and those it
    wants.
    """
    return tuple(sorted((*(i for i, _ in path), *looks)))


def of_set(
    looks: tuple[int, ...], probability: float, acts: float, action: int
) -> tuple[float, ...]:
    """The steps of a case that buys at once: the observations, if any, then the action."""
    if action < 0:
        return (probability,)
    return (probability, acts) if looks else (probability * acts,)


def ratio(after: float, before: float) -> float:
    """P(step | before). After an impossible step it is 0."""
    return after / before if before > 0 else 0.0


def set_propensities(
    lattice: Lattice,
    start: int,
    path: Path,
    looks: tuple[int, ...],
    action: int,
    usual: int,
    other: int,
    probability: float,
    acts: float,
) -> tuple[float, ...]:
    """The probabilities of a case that buys the usual set or, with a given probability, another
    one.
    """
    bought, known = decided(path, looks), lattice.domain(start)
    is_usual, is_other = (
        remaining(lattice, lattice.members(subset), known) == bought for subset in (usual, other)
    )
    anything = sets_that_leave(lattice, bought, known) / len(lattice.open_subsets)
    taken = (1.0 - probability) * is_usual + 0.5 * probability * (is_other + anything)
    return of_set(bought, taken, acts, action)


class Hypotheses:
    """The possible behaviours h of a case under a tree: P(h, all it did so far) for each h.

    The case follows the tree, or explores one of the sets with r members of it before the tree.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        from askwise._kernels.policy.tree_cases import FEW

        self.follow = 1.0 - tree.replacing - tree.beside
        number, m = tree.sets.shape
        self.tries: Floats = np.zeros((m + 1, number))
        """At [r, set]."""
        self.tries[m] = tree.replacing / number
        for r in range(FEW):
            self.tries[min(r, m)] += tree.beside / FEW / number

    @property
    def total(self) -> float:
        """P(all it did so far)."""
        # a rounded sum may be slightly above 1
        return min(1.0, self.follow + float(self.tries.sum()))

    def looked(self, lattice: Lattice, state: int, i: int) -> None:
        """Notes that the case bought i in that state, or (−1) nothing more, as in `next_look`."""
        known, said = lattice.domain(state), self.tree.look.item(self._node(lattice, state))
        if len(known) == lattice.m:
            return
        self.follow *= said == i
        sets: Integers = self.tree.sets
        unknown = ~np.isin(sets, known)
        place = np.where(unknown.any(axis=1), unknown.argmax(axis=1), lattice.m)  # m: none
        tried = np.append(sets, np.full((len(sets), 1), -1), axis=1)[np.arange(len(sets)), place]
        before_tree = place < np.arange(lattice.m + 1)[:, None]
        self.tries *= np.where(before_tree | (said < 0), tried, said) == i

    def chose(self, lattice: Lattice, start: int, base: list[int], looks: tuple[int, ...]) -> None:
        """Notes that the case began in that state and chose these observations. The tree buys the
        base.
        """
        known = lattice.domain(start)
        self.follow *= remaining(lattice, tuple(sorted(base)), known) == looks
        for k, members in enumerate(self.tree.sets.tolist()):
            for r in range(lattice.m + 1):
                tried = list(dict.fromkeys([*members[:r], *base, *members]))[: lattice.m]
                self.tries[r, k] *= remaining(lattice, tuple(sorted(tried)), known) == looks

    def acted(self, lattice: Lattice, state: int, action: int) -> None:
        """Notes that the case took the action in that state, as in `action_of`."""
        from askwise._kernels.policy.tree_cases import ACTING_BESIDE, ACTING_REPLACING

        may_act = lattice.may_act_in(lattice.subset_of(state))
        acts = self.tree.acts.item(action) * may_act[action] / float(self.tree.acts @ may_act)
        said = self.tree.action.item(self._node(lattice, state)) == action
        other = np.full((len(self.tries), 1), ACTING_BESIDE)
        other[-1] = ACTING_REPLACING
        self.follow *= said
        self.tries *= np.minimum(1.0, other * acts + (1.0 - other) * said)

    def _node(self, lattice: Lattice, state: int) -> int:
        return node_in(lattice, self.tree.look, self.tree.child, state)


def node_in(lattice: Lattice, look: Choices, child: Integers, state: int) -> int:
    """The node of a tree that is reached with the values of a state."""
    known, node = dict(lattice.digits(state)), 0
    while (i := look.item(node)) in known:
        node = child.item(node, known[i])
    return node


def tree_propensities(
    lattice: Lattice, tree: Tree, start: int, path: Path, looks: tuple[int, ...], action: int
) -> tuple[float, ...]:
    """The probabilities of a case that buys one after the other by a tree, and sometimes
    explores.
    """
    hypotheses, state, totals = Hypotheses(tree), start, [1.0]
    for i, reached in (*path, *((i, state) for i in looks)):
        hypotheses.looked(lattice, state, i)
        totals.append(hypotheses.total)
        state = reached
    if action >= 0:
        hypotheses.looked(lattice, state, -1)
        hypotheses.acted(lattice, state, action)
        totals.append(hypotheses.total)
    return tuple(ratio(after, before) for before, after in pairwise(totals))


def set_tree_propensities(
    lattice: Lattice, tree: Tree, start: int, path: Path, looks: tuple[int, ...], action: int
) -> tuple[float, ...]:
    """The probabilities of a case that buys at once by a tree, and sometimes explores another
    set.
    """
    bought, base = decided(path, looks), []
    node = node_in(lattice, tree.look, tree.child, lattice.context(start))
    while tree.look[node] >= 0:
        base.append(int(tree.look[node]))
        node = int(tree.child[node, 0])  # bought values do not change what is bought
    hypotheses = Hypotheses(tree)
    hypotheses.chose(lattice, start, base, bought)
    probability = hypotheses.total
    hypotheses.acted(lattice, path[-1][1] if path else start, action)
    return of_set(bought, probability, ratio(hypotheses.total, probability), action)
