"""The tables behind the integers of states: subsets, strides, offsets.

What is stored grows with the number of subsets, not of states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from askwise._support.typing import Integers


class Layout(NamedTuple):
    """The lattice as the kernels take it."""

    radices: Integers
    """X_i, the number of outcomes of each observation that can be bought."""
    members: Integers
    """(subsets, m): the observations of each subset, in order; −1 fills up."""
    sizes: Integers
    """|I| for each subset."""
    strides: Integers
    """(subsets, m): how far apart two values of a member are inside its subset."""
    offsets: Integers
    """(subsets + 1): where the states of each subset begin."""
    levels: Integers
    """(m + 2): where the subsets of each size begin."""
    binomials: Integers
    """(D + 1, m + 1): n choose k, for ranking a subset."""
    given: Integers
    """How far apart two values of each given observation are among the contexts."""
    context_offsets: Integers
    """(subsets · contexts + 1): where the states of each subset in each context begin."""
    first_required: Integers
    """(D + 1): where in `required` that begins which each observation requires."""
    required: Integers
    """The observations that must be known before others are bought; empty if none must."""


class Step(NamedTuple):
    """The effect of buying an observation on the states of a subset."""

    subset: int
    """The subset with the observation added."""
    slot: int
    """The place of the observation there; −1 if it is known already, or m are."""
    stride: int
    radix: int
    start: int
    """Where the states of the subset begin."""
    above: int
    """Where those of the larger subset begin."""

    def child(self, state: int, digit: int) -> int:
        """The state in which the observation has this value: a digit put into its slot."""
        _, _, stride, radix, start, above = self
        place = state - start
        return above + place + place // stride * stride * (radix - 1) + digit * stride

    def children(self, states: Integers) -> Integers:
        """(states, outcomes): `child` of each of these states for every value."""
        place = states[:, None] - self.start
        first = self.above + place + place // self.stride * self.stride * (self.radix - 1)
        return first + self.stride * np.arange(self.radix)

    def parent(self, child: int) -> int:
        """The state before this observation: the digit in its slot removed."""
        high, low = divmod(child - self.above, self.stride * self.radix)
        return self.start + high * self.stride + low % self.stride


class Steps(dict[tuple[int, int], Step]):
    """The step of each (subset, observation), computed on first use."""

    def __init__(self, find: Callable[[int, int], Step]) -> None:
        self._find = find

    def __missing__(self, key: tuple[int, int]) -> Step:
        step = self[key] = self._find(*key)
        return step


MOST_COUNTED = 10**30
"""A larger number of states is not computed, because that would take longer and longer."""


def count_states(radices: list[int], m: int) -> int:
    """Ψ_tot = Σ_{|I| ≤ m} Π_{i in I} X_i, exactly and without building anything.

    Where it is beyond `MOST_COUNTED`, so is what is returned, and no more is said by it.
    """
    of_size = [1] + [0] * m
    for number, radix in enumerate(radices, start=1):
        for k in range(min(m, number), 0, -1):
            of_size[k] += of_size[k - 1] * radix
        if sum(of_size[: number + 1]) > MOST_COUNTED:
            break
    return sum(of_size)


def count_products(radices: list[int]) -> int:
    """Π X_i, or what is beyond `MOST_COUNTED` if that is."""
    product = 1
    for radix in radices:
        product *= radix
        if product > MOST_COUNTED:
            break
    return product


def said(number: int) -> str:
    """A number of states for people to read."""
    return f"{number:,}" if number <= MOST_COUNTED else "more than 10^30"


def build_layout(
    radices: Integers, m: int, outcomes_given: Integers, requires: Sequence[Sequence[int]]
) -> Layout:
    """The tables for observations with so many outcomes, at most m of them in a state."""
    n = len(radices)
    contexts = int(outcomes_given.prod())
    given = contexts // np.cumprod(outcomes_given)  # the first leading
    binomials = np.array(
        [
            [min(math.comb(i, k), np.iinfo(np.int64).max) for k in range(m + 1)]
            for i in range(n + 1)
        ],
        np.int64,
    )
    # The k-subsets in lexicographic order: each (k−1)-subset followed by every later observation.
    level = np.empty((1, 0), np.int64)
    blocks = [np.full((1, m), -1, np.int64)]
    for k in range(1, m + 1):
        last = level[:, -1] if k > 1 else np.array([-1])
        following = n - 1 - last
        ends = np.cumsum(following)
        step = np.arange(ends[-1]) - np.repeat(ends - following, following)
        added = np.repeat(last, following) + 1 + step
        level = np.column_stack([np.repeat(level, following, axis=0), added])
        blocks.append(np.column_stack([level, np.full((len(level), m - k), -1, np.int64)]))
    members = np.concatenate(blocks)
    sizes = np.repeat(np.arange(m + 1), [len(b) for b in blocks])
    values = np.where(members >= 0, radices[members], 1)
    # stride_j = the product of the radices behind j
    strides = np.ones_like(members)
    for j in range(m - 2, -1, -1):
        strides[:, j] = strides[:, j + 1] * values[:, j + 1]
    states = values.prod(axis=1)
    offsets = np.concatenate([[0], np.cumsum(contexts * states)])
    levels = np.concatenate([[0], np.cumsum([len(b) for b in blocks])])
    context_offsets = offsets
    if contexts > 1:
        context_offsets = np.concatenate([[0], np.cumsum(np.repeat(states, contexts))])
    first_required = np.concatenate([[0], np.cumsum([len(r) for r in requires])]).astype(np.int64)
    required = np.array([i for r in requires for i in r], np.int64)
    return Layout(
        radices,
        members,
        sizes,
        strides,
        offsets,
        levels,
        binomials,
        given,
        context_offsets,
        first_required,
        required,
    )
