"""Counters of visited states alone are the counters of all states, without the empty rows."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.counting.row_counters import BY_ROW, FIRST_ROWS
from askwise.states.rows import Rows
from inside import bought
from wide_problems import MOST_NUMBER, assert_same_content, problem_of

# --- statistics ----------------------------------------------------------------------------------


class Step(NamedTuple):
    """One thing that is counted."""

    how: str
    seen: tuple[tuple[int, int], ...]
    """(observation, value), in the order of buying."""
    action: int
    reward: float


@st.composite
def histories(draw):
    """A ragged problem, and things to count in it."""
    radices = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    m = draw(st.integers(0, len(radices)))
    order = st.permutations(range(len(radices))).flatmap(
        lambda p: st.integers(0, m).map(lambda k: p[:k])
    )
    step = order.flatmap(
        lambda looks: st.builds(
            Step,
            st.sampled_from(["set", "path", "reward", "record a set", "record a path"]),
            st.tuples(*(st.tuples(st.just(i), st.integers(0, radices[i] - 1)) for i in looks)),
            st.integers(0, 1),
            st.floats(0, 1),
        )
    )
    return problem_of(radices, m), draw(st.lists(step, max_size=25))


def counted(problem, steps, *, sparse):
    statistics = aw.Statistics(aw.states.Lattice(problem), sparse=sparse)
    for step in steps:
        count(statistics, step)
    return statistics


def count(statistics, step):
    lattice, known, path = statistics.lattice, {}, []
    for i, x in step.seen:
        known[i] = x
        path.append((i, lattice.index_of(known)))
    state = lattice.index_of(known)
    if step.how == "set":
        statistics.count_set(state)
    elif step.how == "path":
        statistics.count_path(path)
    elif step.how == "reward":
        statistics.count_reward(state, step.action, step.reward)
    else:
        observed = {f"o{i}": x for i, x in step.seen}
        at_once = step.how == "record a set"
        statistics.record(observed, f"a{step.action}", step.reward, acquisition=bought(at_once))


@settings(max_examples=60)
@given(history=histories())
def test_sparse_and_dense_count_alike(history):
    problem, steps = history
    sparse, dense = (counted(problem, steps, sparse=s) for s in (True, False))
    assert sparse == dense
    assert dense == sparse
    assert_same_content(sparse, dense)
    whole = sparse.dense()
    assert not whole.is_sparse
    assert dense.dense() is dense
    for (name, left), (_, right) in zip(whole.arrays(), dense.arrays(), strict=True):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right), name
    for name in BY_ROW:  # row 0 is nobody's
        assert not getattr(sparse, name)[0].any()
    assert sparse.visited - 1 <= max(1, sum(2 ** len(step.seen) for step in steps) + 1)


@settings(max_examples=60)
@given(history=histories(), extra=st.data())
def test_one_more_or_less_is_not_equal(history, extra):
    problem, steps = history
    sparse, dense = (counted(problem, steps, sparse=s) for s in (True, False))
    another = extra.draw(st.sampled_from(["set", "path", "reward"]))
    count(sparse, Step(another, (), 0, 1.0))
    assert sparse != dense
    count(dense, Step(another, (), 0, 1.0))
    assert sparse == dense


@settings(max_examples=60)
@given(history=histories(), data=st.data())
def test_merging_sparse_and_dense_gives_the_same_bits(history, data):
    problem, steps = history
    whole = counted(problem, steps, sparse=False)
    shuffled = data.draw(st.permutations(steps))
    cut = data.draw(st.integers(0, len(steps)))
    for left_sparse in (True, False):
        for right_sparse in (True, False):
            left = counted(problem, shuffled[:cut], sparse=left_sparse)
            right = counted(problem, shuffled[cut:], sparse=right_sparse)
            before = left.copy(), right.copy()
            for first, second in ((left, right), (right, left)):
                total = first + second
                assert total.is_sparse == first.is_sparse
                assert total == whole
                assert_same_content(total, whole)
            assert (left, right) == before


@settings(max_examples=60)
@given(history=histories(), sparse=st.booleans())
def test_a_copy_stands_alone(history, sparse):
    problem, steps = history
    statistics = counted(problem, steps, sparse=sparse)
    copy = statistics.copy()
    assert copy == statistics
    assert copy.is_sparse == sparse
    count(copy, Step("record a path", (), 0, 1.0))
    assert copy.cases == statistics.cases + 1
    assert statistics == counted(problem, steps, sparse=False)


def random_steps(rng, radices, m, number):
    steps = []
    for _ in range(number):
        looks = rng.permutation(len(radices))[: rng.integers(0, m + 1)].tolist()
        seen = tuple((i, int(rng.integers(radices[i]))) for i in looks)
        how = ("set", "path", "reward", "record a set", "record a path")[rng.integers(5)]
        steps.append(Step(how, seen, int(rng.integers(2)), float(rng.random())))
    return steps


@pytest.mark.parametrize("seed", range(2))
def test_counters_grow_beyond_the_first_rows(seed):
    rng = np.random.default_rng(seed)
    radices = [5, 1, 9, 3, 7, 2, 11, 3, 8, 5, 6, 4]
    problem, steps = problem_of(radices, 3), random_steps(rng, radices, 3, 5000)
    sparse, dense = (counted(problem, steps, sparse=s) for s in (True, False))
    assert sparse.visited > 2 * FIRST_ROWS  # it grew twice
    assert sparse.visited <= sparse.capacity < dense.capacity
    assert sparse == dense
    assert_same_content(sparse, dense)
    assert len(np.unique(sparse.states)) == sparse.visited
    half = [counted(problem, part, sparse=True) for part in (steps[:2500], steps[2500:])]
    assert min(x.visited for x in half) > FIRST_ROWS
    for total in (half[0] + half[1], half[1] + half[0], half[0] + half[1].dense()):
        assert total == dense
        assert_same_content(total, dense)
    grown = half[1].copy()  # and a copy grows on its own
    for step in steps[:2500]:
        count(grown, step)
    assert grown == dense


@pytest.mark.parametrize("how", ["set", "path", "reward"])
def test_each_way_of_counting_makes_room_for_itself(how):
    problem = problem_of([3000], 1)
    steps = [Step(how, ((0, x),), 1, 0.5) for x in range(2999, 0, -1)]
    sparse, dense = (counted(problem, steps, sparse=s) for s in (True, False))
    assert_same_content(sparse, dense)
    assert sparse.visited == 1 + 1 + 2999  # nobody's, the empty state's, one each


def test_steps_and_rewards_are_found_by_row():
    radices = [3, 2, 4]
    problem = problem_of(radices, 2)
    steps = random_steps(np.random.default_rng(4), radices, 2, 60)
    sparse, dense = (counted(problem, steps, sparse=s) for s in (True, False))
    lattice = dense.lattice
    for state in range(lattice.size):
        for action in range(2):
            assert sparse.count_of(state, action) == dense.count_of(state, action)
        for i in set(range(3)) - set(lattice.domain(state)):
            assert sparse.steps(state, i) == dense.steps(state, i)
    assert any(dense.steps(state, 0) for state in range(lattice.size) if not lattice.domain(state))


# --- rows ----------------------------------------------------------------------------------------

PRIME = 2**31 - 1  # of the hash: states that differ by a multiple of it begin at one place
NUMBERS = st.one_of(
    st.integers(0, 40),
    st.integers(0, 12).map(lambda k: 5 + k * PRIME),
    st.integers(0, MOST_NUMBER - 1),
    st.integers(0, 20).map(lambda k: MOST_NUMBER - 1 - k),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    capacity=st.integers(2, 40),
    todo=st.lists(st.tuples(st.booleans(), NUMBERS), max_size=80),
)
@pytest.mark.usefixtures("kernels")
def test_rows_are_a_dictionary(capacity, todo):
    from askwise._kernels.states.rows import find, has_room, insert, state_of

    table = np.zeros(2 << (capacity - 1).bit_length(), np.int64)
    rows = Rows(table, np.full(capacity, -1, np.int64), np.ones(1, np.int64))
    expected: dict[int, int] = {}
    for inserts, state in todo:
        assert find(rows, state) == expected.get(state, 0)
        free = capacity - 1 - len(expected)
        assert has_room(rows, free)
        assert not has_room(rows, free + 1)
        if inserts and (free or state in expected):
            row = insert(rows, state)
            assert row == expected.setdefault(state, len(expected) + 1)
    assert rows.used[0] == len(expected) + 1
    for state, row in expected.items():
        assert find(rows, state) == row
        assert state_of(rows, row) == state
        assert find(rows, state + 1) == expected.get(state + 1, 0)


@pytest.mark.usefixtures("kernels")
def test_dense_rows_are_the_states():
    from askwise._kernels.states.rows import find, has_room, insert, is_sparse, state_of

    rows = aw.Statistics(aw.states.Lattice(problem_of([2, 3], 2))).rows
    assert not is_sparse(rows)
    assert has_room(rows, 10**9)
    for state in (0, 1, 11):
        assert find(rows, state) == insert(rows, state) == state_of(rows, state) == state
    assert rows.used[0] == 0


def test_many_states_at_once_get_a_row_each(kernels):
    from askwise._kernels.states.rows import find, insert_all

    n = 200 if kernels == "plain" else 20_000
    states = np.random.default_rng(0).permutation(7 * np.arange(n)) + 3
    rows = Rows(np.zeros(1 << 16, np.int64), np.zeros(n + 1, np.int64), np.ones(1, np.int64))
    insert_all(rows, states)
    insert_all(rows, states[::-1].copy())
    assert rows.used[0] == n + 1
    assert rows.states[1:].tolist() == states.tolist()
    assert [find(rows, int(s)) for s in states[:100]] == list(range(1, 101))


def test_numbers_near_the_limit():
    """10¹⁸ states: counted, planned and decided alike when relabelled as a few."""
    radices = [1000] * 6
    problem, few = problem_of(radices, 6), problem_of([2] * 6, 6)
    assert 10**18 < aw.states.Lattice(problem).size < MOST_NUMBER
    rng = np.random.default_rng(0)
    large, small = (
        aw.Statistics(aw.states.Lattice(problem), sparse=True),
        aw.Statistics(aw.states.Lattice(few)),
    )
    for _ in range(300):
        seen = {int(i): int(rng.integers(2)) for i in rng.permutation(6)[: rng.integers(7)]}
        at_once, action = bool(rng.integers(2)), f"a{rng.integers(2)}"
        reward = float(rng.random())
        far = {f"o{i}": 999 * x for i, x in seen.items()}
        large.record(far, action, reward, acquisition=bought(at_once))
        small.record(
            {f"o{i}": x for i, x in seen.items()}, action, reward, acquisition=bought(at_once)
        )
    assert np.array_equal(large.subset_visits, small.subset_visits)
    for state in range(small.lattice.size):
        twin = large.lattice.index_of({i: 999 * x for i, x in small.lattice.digits(state)})
        for name in BY_ROW:
            mine, others = getattr(large, name)[large.row(twin)], getattr(small, name)[state]
            assert np.array_equal(mine, others)
    assert max(large.states) > 10**17
