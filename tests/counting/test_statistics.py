import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwise import Observation, Problem, Statistics
from askwise.counting import MOST_CASES, UNIT
from askwise.errors import CaseError, StatisticsError
from askwise.states import Lattice
from reference import Sets, all_states, domain


def lattice_of(radices, m, actions=2):
    return Lattice(
        Problem(
            observations=[
                Observation(f"o{i}", values=list(range(n)), cost=1) for i, n in enumerate(radices)
            ],
            actions=[f"a{a}" for a in range(actions)],
            max_observations=m,
        )
    )


@st.composite
def histories(draw):
    """A shape and cases: (sequential?, what was seen in order, action, reward)."""
    radices = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    m = draw(st.integers(0, len(radices)))
    order = st.permutations(range(len(radices))).flatmap(
        lambda p: st.integers(0, m).map(lambda k: p[:k])
    )
    case = order.flatmap(
        lambda looks: st.tuples(
            st.booleans(),
            st.tuples(*(st.tuples(st.just(i), st.integers(0, radices[i] - 1)) for i in looks)),
            st.integers(0, 1),
            st.floats(0, 1),
        )
    )
    return radices, m, draw(st.lists(case, max_size=25))


def record(lattice, cases):
    statistics = Statistics(lattice)
    for sequential, seen, action, reward in cases:
        path, known = [], {}
        for i, x in seen:
            known[i] = x
            path.append((i, lattice.index_of(known)))
        if sequential:
            statistics.count_path(path)
        else:
            statistics.count_set(lattice.index_of(known))
        statistics.count_reward(lattice.index_of(known), action, reward)
    return statistics


@given(history=histories())
def test_counts_are_the_sizes_of_the_papers_sets(history):
    radices, m, cases = history
    lattice = lattice_of(radices, m)
    statistics = record(lattice, cases)
    sets = Sets(m)
    for sequential, seen, action, reward in cases:
        (sets.sequential if sequential else sets.simultaneous)(seen, action, reward)

    assert statistics.cases == len(cases)
    states = list(all_states(radices, m))
    for s, state in enumerate(states):
        assert statistics.visits[s] == len(sets.of_state[state])
        for action in range(2):
            times = sets.of_action[action, state]
            assert statistics.action_counts[s, action] == len(times)
            total = sum(round(sets.rewards[t] * 2**30) for t in times)
            assert statistics.reward_sums[s, action] == total
            squares = sum(round(sets.rewards[t] ** 2 * 2**30) for t in times)
            assert statistics.reward_squares[s, action] == squares
            if times:
                mean = sum(sets.rewards[t] for t in times) / len(times)
                assert abs(statistics.mean_rewards()[s, action] - mean) <= UNIT
        for i in set(range(len(radices))) - domain(state):
            if len(state) < m:
                kids = [state | {(i, x)} for x in range(radices[i])]
                counts = [len(sets.of_step[state, i, kid]) for kid in kids]
                assert statistics.steps(s, i) == sum(counts)
                for child, count in zip(lattice.children(s, i), counts, strict=True):
                    assert statistics.transitions[child, lattice.slot(child, i)] == count
    for subset in range(lattice.subsets):
        members = frozenset(lattice.members(subset))
        assert statistics.subset_visits[subset] == len(sets.of_subset[members])
    assert statistics.transitions.sum() == sum(len(seen) for seq, seen, _, _ in cases if seq)


@given(history=histories(), data=st.data())
def test_any_order_and_any_split_give_the_same_bits(history, data):
    radices, m, cases = history
    lattice = lattice_of(radices, m)
    whole = record(lattice, cases)
    shuffled = data.draw(st.permutations(cases))
    cut = data.draw(st.integers(0, len(cases)))
    left, right = record(lattice, shuffled[:cut]), record(lattice, shuffled[cut:])
    assert record(lattice, shuffled) == whole
    assert left + right == right + left == whole
    assert whole + Statistics(lattice) == whole


def test_substates_are_counted_alike_compiled_and_plain(kernels):
    lattice = lattice_of([2, 3, 1, 2], 3)
    statistics = Statistics(lattice)
    for state in range(lattice.size):
        before = statistics.visits.copy()
        statistics.count_set(state)
        assert np.flatnonzero(statistics.visits - before).tolist() == sorted(
            lattice.substates(state)
        )
    assert statistics.visits[0] == statistics.subset_visits[0] == lattice.size


def test_rewards_are_exact():
    statistics = Statistics(lattice_of([2], 1))
    for _ in range(10):
        statistics.count_reward(0, 0, 0.1)
    assert abs(statistics.mean_rewards()[0, 0] - 0.1) < 1e-9
    for reward in (0.0, 1.0, 0.5):
        statistics.count_reward(1, 1, reward)
    assert statistics.mean_rewards()[1, 1] == 0.5


@pytest.mark.parametrize("reward", [float("nan"), -1e-9, 1.0000001, float("inf"), "1", None, True])
def test_a_bad_reward_changes_nothing(reward):
    statistics = Statistics(lattice_of([2], 1))
    with pytest.raises(CaseError, match="reward must be a number from 0 to 1, got"):
        statistics.count_reward(0, 0, reward)
    assert statistics == Statistics(statistics.lattice)


def test_an_unknown_acquisition_changes_nothing():
    statistics = Statistics(
        Lattice(
            Problem(observations=[Observation("o0", values=[0, 1], cost=0.1)], actions=["a0", "a1"])
        )
    )
    with pytest.raises(StatisticsError, match=r"acquisition must be .* got 'Simultaneous'"):
        statistics.record({"o0": 0}, "a0", 1.0, acquisition="Simultaneous")
    assert statistics.cases == 0


def test_merging_two_problems_is_refused():
    with pytest.raises(StatisticsError, match="two different problems"):
        Statistics(lattice_of([2], 1)) + Statistics(lattice_of([3], 1))
    with pytest.raises(TypeError):
        Statistics(lattice_of([2], 1)) + 1


def test_counters_never_overflow():
    lattice = lattice_of([2], 1)
    full = Statistics(lattice)
    full.cases = MOST_CASES
    full.action_counts[0, 0] = MOST_CASES
    full.reward_sums[0, 0] = MOST_CASES * 2**30
    assert full.mean_rewards()[0, 0] == 1.0
    with pytest.raises(StatisticsError, match="no more fit"):
        full.count_reward(0, 0, 1.0)
    with pytest.raises(StatisticsError, match="no more fit"):
        full.count_set(0)
    with pytest.raises(StatisticsError, match="no more fit"):
        full.count_path([])
    one = Statistics(lattice)
    one.count_reward(0, 0, 1.0)
    with pytest.raises(StatisticsError, match="at most"):
        full + one
    assert full + Statistics(lattice) == full
