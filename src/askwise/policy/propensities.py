"""How likely a case did what it did, given what it saw: the propensities of its steps.

What a case tries is a function of its tag (`_kernels/policy/draws.py`), a uniform number of 62 bits
of which every uniform draw u(tag, place) is a hash. For one place, u runs evenly through the
multiples of 2⁻³¹ as the tag does: so far the probabilities here are exact. Steps use different
places, whose draws are independent as far as a hash can make them so; a course of several steps
multiplies them as if they were (`tests/policy/test_propensities.py` compares both with frequencies
over many tags).

Where one draw serves several steps, as which set a case tries or whether it tries anything,
steps are not independent, and the probability of a step is that of the course with it, over that of
the course before it:

    P(step | before) = Σ_h P(h, before, step) / Σ_h P(h, before),

h being what the case is up to, which cannot be seen.
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
    """The probability that a case looks at i beside what the policy itself would do.

    It takes another look with a probability: half of the time the other look, if there is one, else
    anything.
    """
    if other < 0:
        return probability / unknown
    return 0.5 * probability * ((i == other) + 1.0 / unknown)


def sets_that_leave(lattice: Lattice, looks: tuple[int, ...], known: tuple[int, ...]) -> int:
    """How many of the sets that can be bought are such that just these looks remain."""
    if lattice.has_requirements:
        members = map(lattice.members, lattice.open_subsets.tolist())
        return sum(remaining(lattice, bought, known) == looks for bought in members)
    if len(looks) < lattice.m - len(known):
        return int(2 ** len(known))
    # what a set has beyond m is cut off from the end, so the rest of it is known or comes later
    spare = len(known) + _later(lattice, looks, known)
    return sum(comb(spare, size) for size in range(len(known) + 1))


def _later(lattice: Lattice, looks: tuple[int, ...], known: tuple[int, ...]) -> int:
    last = max(looks, default=-1)
    return sum(i not in known for i in range(last + 1, lattice.buyable))


def uniform_draw_propensities(
    lattice: Lattice, start: int, path: Path, looks: tuple[int, ...], action: int
) -> tuple[float, ...]:
    """Of a set drawn evenly, with actions drawn evenly for its own states, elsewhere the first.

    Sets and actions are those that are allowed.
    """
    known = lattice.domain(start)
    bought = decided(path, looks)
    ways = sets_that_leave(lattice, bought, known)
    may_act = lattice.may_act_in(lattice.subset_of(path[-1][1] if path else start))
    acts = float(may_act[action] / may_act.sum()) if action >= 0 else 0.0
    # what is on file makes the case end in states of another set, unless it was this very one
    acts = acts / ways + (1.0 - 1.0 / ways) * (action == int(may_act.argmax()))
    return of_set(bought, ways / len(lattice.open_subsets), acts, action)


def decided(path: Path, looks: tuple[int, ...]) -> tuple[int, ...]:
    """The looks that a case decided on when it was opened: those it took, and those it wants."""
    return tuple(sorted((*(i for i, _ in path), *looks)))


def of_set(
    looks: tuple[int, ...], probability: float, acts: float, action: int
) -> tuple[float, ...]:
    """The steps of a case that buys at once: the looks, if any, then the action."""
    if action < 0:
        return (probability,)
    return (probability, acts) if looks else (probability * acts,)


def ratio(after: float, before: float) -> float:
    """P(step | before); after what cannot happen, nothing can."""
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
    """Of a case that buys the usual set, or with a probability the other or, as likely, any."""
    bought, known = decided(path, looks), lattice.domain(start)
    is_usual, is_other = (
        remaining(lattice, lattice.members(subset), known) == bought for subset in (usual, other)
    )
    anything = sets_that_leave(lattice, bought, known) / len(lattice.open_subsets)
    taken = (1.0 - probability) * is_usual + 0.5 * probability * (is_other + anything)
    return of_set(bought, taken, acts, action)


class Hypotheses:
    """What a case under a tree may be up to: P(h, all it did so far) for each h.

    Just to follow the tree, or to try one of the sets, r members of it before the tree.
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
        return min(1.0, self.follow + float(self.tries.sum()))  # a rounded sum may be a hair over

    def looked(self, lattice: Lattice, state: int, i: int) -> None:
        """In that state it looked at i, or (−1) at nothing more; as in `next_look`."""
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
        """It began in that state and decided on these looks; the tree looks at the base."""
        known = lattice.domain(start)
        self.follow *= remaining(lattice, tuple(sorted(base)), known) == looks
        for k, members in enumerate(self.tree.sets.tolist()):
            for r in range(lattice.m + 1):
                tried = list(dict.fromkeys([*members[:r], *base, *members]))[: lattice.m]
                self.tries[r, k] *= remaining(lattice, tuple(sorted(tried)), known) == looks

    def acted(self, lattice: Lattice, state: int, action: int) -> None:
        """In that state it took the action; as in `action_of`."""
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
    """The node of a tree that what is known in a state leads to."""
    known, node = dict(lattice.digits(state)), 0
    while (i := look.item(node)) in known:
        node = child.item(node, known[i])
    return node


def tree_propensities(
    lattice: Lattice, tree: Tree, start: int, path: Path, looks: tuple[int, ...], action: int
) -> tuple[float, ...]:
    """Of a case that buys one after the other as a tree says, and now and then something else."""
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
    """Of a case that buys at once what a tree says, and now and then another set."""
    bought, base = decided(path, looks), []
    node = node_in(lattice, tree.look, tree.child, lattice.context(start))
    while tree.look[node] >= 0:
        base.append(int(tree.look[node]))
        node = int(tree.child[node, 0])  # no value that is bought changes what is bought
    hypotheses = Hypotheses(tree)
    hypotheses.chose(lattice, start, base, bought)
    probability = hypotheses.total
    hypotheses.acted(lattice, path[-1][1] if path else start, action)
    return of_set(bought, probability, ratio(hypotheses.total, probability), action)
