import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import Observation, Problem
from askwise.errors import CaseError, TooLargeError
from askwise.states import Lattice
from askwise.states.layout import count_states
from reference import all_states, domain


def lattice_of(radices, m=None):
    return Lattice(
        Problem(
            observations=[
                Observation(f"o{i}", values=[f"v{x}" for x in range(n)], cost=i + 0.5)
                for i, n in enumerate(radices)
            ],
            actions=["a", "b"],
            max_observations=m,
        )
    )


def with_given(radices, given_radices, m):
    bought = [Observation(f"o{i}", values=range(n), cost=1) for i, n in enumerate(radices)]
    told = [Observation(f"g{i}", values=range(n), given=True) for i, n in enumerate(given_radices)]
    return Lattice(Problem(observations=[*told, *bought], actions=["a"], max_observations=m))


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
    lambda radices: st.tuples(st.just(radices), st.integers(0, len(radices)))
)


@given(shapes)
def test_is_every_state_in_the_order_of_ties(shape):
    radices, m = shape
    lattice = lattice_of(radices, m)
    states = list(all_states(radices, m))
    assert lattice.size == len(states) == count_states(radices, m)
    assert [frozenset(lattice.digits(s)) for s in range(lattice.size)] == states
    assert [lattice.index_of(dict(s)) for s in states] == list(range(lattice.size))
    assert [lattice.index(lattice.state(s)) for s in range(lattice.size)] == list(
        range(lattice.size)
    )


@given(shapes)
def test_subsets(shape):
    radices, m = shape
    lattice = lattice_of(radices, m)
    assert lattice.subsets == sum(math.comb(len(radices), k) for k in range(m + 1))
    for subset in range(lattice.subsets):
        members = lattice.members(subset)
        assert lattice.subset(members) == subset
        states = lattice.states(subset)
        assert len(states) == math.prod(radices[i] for i in members)
        assert all(lattice.domain(s) == members for s in states)
        assert lattice.subset_costs[subset] == sum(i + 0.5 for i in members)


@settings(max_examples=40)
@given(shapes)
def test_children_and_substates(shape):
    radices, m = shape
    lattice = lattice_of(radices, m)
    states = list(all_states(radices, m))
    most = 1
    for s, state in enumerate(states):
        for i in range(len(radices)):
            children = [states[c] for c in lattice.children(s, i)]
            if i in domain(state) or len(state) == m:
                assert children == []
            else:
                assert children == [state | {(i, x)} for x in range(radices[i])]
                assert all(
                    lattice.domain(c)[lattice.slot(c, i)] == i for c in lattice.children(s, i)
                )
                most = max(most, len(children))
        below = {r for r, smaller in enumerate(states) if smaller <= state}
        assert set(lattice.substates(s)) == below
        assert {r for r in range(lattice.size) if lattice.is_substate(r, s)} == below
    assert lattice.most_outcomes == most


@settings(max_examples=40)
@given(shapes, st.lists(st.integers(2, 3), max_size=2))
def test_the_arithmetic_of_arrays_is_that_of_single_states(shape, given_radices):
    radices, m = shape
    lattice = with_given(radices, given_radices, m)
    for subset in range(lattice.subsets):
        states = lattice.states(subset)
        assert range(lattice.size)[lattice.block(subset)] == states
        digits = [dict(lattice.digits(s)) for s in states]
        every = range(len(lattice.observations))
        known = np.array([[row.get(i, 1) for i in every] for row in digits], np.int16)
        assert lattice.states_of(subset, known).tolist() == list(states)
        for i in range(len(radices)):
            children = lattice.children_of_subset(subset, i)
            assert children.tolist() == [list(lattice.children(s, i)) for s in states]
            for parent, row in zip(states, children.tolist(), strict=True):
                assert all(lattice.step(subset, i).parent(child) == parent for child in row)


def test_consistency_as_in_the_paper():
    # φ = (−1, 1, 1), ψ1 = (−1, ?, −1), ψ2 = (−1, ?, ?), with −1 as digit 0 and 1 as digit 1
    lattice = lattice_of([2, 2, 2])
    full = {0: 0, 1: 1, 2: 1}
    first, second = lattice.index_of({0: 0, 2: 0}), lattice.index_of({0: 0})
    assert lattice.consistent(full, second)
    assert not lattice.consistent(full, first)
    assert lattice.is_substate(second, first)
    assert lattice.domain(first) == (0, 2)


def test_numbers_of_the_paper_problem():
    # 1 + (4+2+3+5) + (8+12+20+6+10+15) + (24+40+60+30)
    assert lattice_of([4, 2, 3, 5], 3).size == 240
    assert lattice_of([4] * 30, 3).size == 266_921


def test_more_than_64_observations():
    lattice = lattice_of([2] * 70, 2)
    last = lattice.size - 1
    assert lattice.state(last) == {"o68": "v1", "o69": "v1"}
    assert lattice.index(lattice.state(last)) == last


def test_too_large_says_how_large():
    with pytest.raises(TooLargeError, match=r"60 observations.*max_observations=5.*5,\d{3},\d{3},"):
        lattice_of([4] * 60, 5)


def test_unknown_names_and_values():
    lattice = lattice_of([2, 3], 1)
    with pytest.raises(CaseError, match="unknown observation 'mri', expected one of: o0, o1"):
        lattice.index({"mri": "v0"})
    with pytest.raises(CaseError, match="observation 'o0' has no value 'v2', expected one of"):
        lattice.index({"o0": "v2"})
    with pytest.raises(CaseError, match="a state of 2 observations, expected at most 1"):
        lattice.index({"o0": "v0", "o1": "v0"})
    with pytest.raises(IndexError, match="state 6 is not one of the 6 states"):
        lattice.state(6)


def test_equal_looking_values_are_told_apart():
    lattice = Lattice(
        Problem(observations=[Observation("o", values=[0, 1, "1"], cost=1)], actions=["a"])
    )
    assert lattice.index({"o": 1}) == 2
    assert lattice.index({"o": "1"}) == 3
    assert lattice.index({"o": np.int64(1)}) == 2  # as it comes out of a data frame
    for other in (True, 1.0, np.float64(1), None, [1]):
        with pytest.raises(CaseError, match="has no value"):
            lattice.index({"o": other})
