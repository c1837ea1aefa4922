"""Counters of visited states alone are the counters of all states, without the empty rows."""

import functools
import io
import math
import zipfile
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.counting.row_counters import BY_ROW, FIRST_ROWS
from askwise.errors import FileError, OptionError, TooLargeError
from askwise.learners import LEARNERS
from askwise.simulation.environments import Population, random_model
from askwise.simulation.environments.base import Draws
from askwise.states.rows import Rows
from askwise.testing import LEARNER_CHECKS, see
from inside import bought, full_plan, now_of
from planning.test_incremental import BETA, assert_same

KINDS = [aw.SimOOS, aw.SeqOOS]
CLOCKS = ["doubling", "exact"]
MOST_NUMBER = 2**61


def problem_of(radices, m, *, actions=2, reward_value=1.0, costs=None):
    costs = [0.1] * len(radices) if costs is None else costs
    return aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(n)), cost=cost)
            for i, (n, cost) in enumerate(zip(radices, costs, strict=True))
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=m,
        reward_value=reward_value,
    )


class Wide:
    """Cases of a problem too wide for a model: independent values, of which three matter."""

    def __init__(self, problem, *, rare=1.0):
        self.problem = problem
        self.rare = rare
        """How often a value is not the first."""
        self.radices = [len(o.values) for o in problem.observations]

    def draw(self, rng, cases):
        values = rng.integers(0, self.radices, (cases, len(self.radices))).astype(np.int16)
        values *= rng.random(values.shape) < self.rare
        actions = np.arange(len(self.problem.actions))
        best = values[:, [1, 3, 4]].sum(axis=1) % len(actions)
        mean = np.where(actions == best[:, None], 0.8, 0.3)
        return Draws(values, (rng.random(mean.shape) < mean).astype(float))


def by_state(statistics, name):
    """An array of counters with a line for every state, read through the rows."""
    array = getattr(statistics, name)
    if not statistics.is_sparse:
        return array
    lines = np.zeros((statistics.lattice.size, *array.shape[1:]), array.dtype)
    for row, state in enumerate(statistics.states.tolist()[1:], start=1):
        assert statistics.row(state) == row
        lines[state] = array[row]
    return lines


def assert_same_content(one, other):
    """Every counter of every state is the same, whichever row it is in."""
    assert one.lattice.problem == other.lattice.problem
    assert one.cases == other.cases
    assert one.subset_visits.tobytes() == other.subset_visits.tobytes()
    for name in BY_ROW:
        assert by_state(one, name).tobytes() == by_state(other, name).tobytes(), name


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


# --- learners ------------------------------------------------------------------------------------

OPTIONS = [
    {"storage": "sparse"},
    {"storage": "sparse", "clock": "exact"},
    {"storage": "dense", "clock": "exact"},
]


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options.values()))
@pytest.mark.parametrize("kind", KINDS)
def test_conformance(kind, options, check):
    check(functools.partial(kind, **options))


RAGGED = [2 + i * 7 % 5 for i in range(70)]


def wide_problem():
    """70 observations of 2 to 6 values: more than a word has bits."""
    return problem_of(
        RAGGED,
        2,
        actions=3,
        reward_value=BETA,
        costs=[float(1 + i % 4) for i in range(70)],
    )


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_seventy_observations_are_decided_alike(kind, clock):
    problem = wide_problem()
    sparse, dense = (kind(problem, clock=clock, storage=s) for s in ("sparse", "dense"))
    assert len(set(RAGGED)) == 5
    for steps, seed in ((3000, 1), (1, 2), (5000, 3)):
        left = aw.simulate(sparse, Wide(problem), steps=steps, rng=seed)
        right = aw.simulate(dense, Wide(problem), steps=steps, rng=seed)
        for name in ("state", "action", "reward", "round", "cost"):
            assert getattr(left, name).tobytes() == getattr(right, name).tobytes(), name
        assert sparse.statistics == dense.statistics
        assert_same(sparse.policy, dense.policy)
    # a run of few rounds would show nothing
    assert now_of(sparse).round == now_of(dense).round >= 1500
    assert sparse.statistics.is_sparse
    assert FIRST_ROWS < sparse.statistics.visited < dense.statistics.visited // 2
    assert max(i for s in left.state.tolist() for i in sparse.statistics.lattice.domain(s)) >= 64
    assert_same_content(sparse.statistics, dense.statistics)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_sets_that_were_seen_in_part_are_decided_alike(kind, clock):
    """Some values are rare, so that much is known of a set while parts of it were never seen."""
    radices = [3, 5, 2, 7, 4, 6, 2, 9]
    costs = [0.5 + 2.0 * i for i in range(8)]
    problem = problem_of(radices, 3, reward_value=BETA, costs=costs)
    sparse, dense = (kind(problem, clock=clock, storage=s) for s in ("sparse", "dense"))
    for steps, seed in ((4000, 1), (16_000, 2)):
        left = aw.simulate(sparse, Wide(problem, rare=0.2), steps=steps, rng=seed)
        right = aw.simulate(dense, Wide(problem, rare=0.2), steps=steps, rng=seed)
        for name in ("state", "action", "round"):
            assert getattr(left, name).tobytes() == getattr(right, name).tobytes(), name
        assert_same(sparse.policy, dense.policy)
        if kind is aw.SimOOS:  # every V̂(I), also of the sets that are not bought
            assert sparse.policy.values.tobytes() == dense.policy.values.tobytes()
        expected = full_plan(sparse)
        assert_same(sparse.replan(), expected)
        dense.replan()
    assert now_of(sparse).round == now_of(dense).round >= 500
    seen = sparse.statistics.visited / dense.statistics.visited
    assert 0.05 < seen < 0.95


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_face_decides_alike_with_late_rewards(kind, clock):
    problem = wide_problem()
    learners = [kind(problem, clock=clock, storage=s) for s in ("sparse", "dense")]
    rng, waiting = np.random.default_rng(5), []
    draws = Wide(problem).draw(rng, 700)
    for full, rewards in zip(draws.values.tolist(), draws.rewards.tolist(), strict=True):
        one, other = (see(learner.open(), problem, full) for learner in learners)
        assert (one.path, one.action_index, one.cost) == (
            other.path,
            other.action_index,
            other.cost,
        )
        waiting.append((one, other, rewards[one.action_index]))
        while waiting and (rng.random() < 0.6 or len(waiting) > 30):
            *pair, reward = waiting.pop(int(rng.integers(len(waiting))))
            for case in pair:
                case.reward(reward)
    assert now_of(learners[0]).round == now_of(learners[1]).round >= 200
    assert learners[0].statistics == learners[1].statistics


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_stays_as_it_was_when_more_is_visited(kind, clock):
    problem = wide_problem()
    learner = kind(problem, clock=clock, storage="sparse")
    aw.simulate(learner, Wide(problem), steps=1000, rng=1)
    policy, lattice = learner.policy, learner.statistics.lattice
    assert learner.statistics.visited < FIRST_ROWS  # so that what comes now is beyond its tables
    states = [0, *np.random.default_rng(0).permutation(lattice.size).tolist()]

    def choices(states):
        return [(policy.looks(state), policy.act(state)) for state in states]

    before = choices(states)
    aw.simulate(learner, Wide(problem), steps=6000, rng=2)
    assert learner.statistics.visited > FIRST_ROWS + 100
    assert choices(states) == before
    expected = full_plan(learner)
    assert_same(learner.replan(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recommended_is_the_same(kind):
    trees = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = random_model(
            rng,
            [2, 3, 4, 5, 5],  # too many for one joint model, so by the counters
            max_observations=3,
            reward_value=BETA,
            highest_cost=(20.0, 5.0, 1.0)[seed % 3],
        )
        sparse, dense = (kind(model.problem, storage=s) for s in ("sparse", "dense"))
        for learner in (sparse, dense):
            aw.simulate(learner, Population(model), steps=2000, rng=seed)
        one, other = sparse.recommend(), dense.recommend()
        assert one.tree() == other.tree()
        assert one.value == other.value
        assert one.table.row_of is not None
        assert other.table.row_of is None
        trees.add(one.tree().outline())
    assert sum("buy" in tree for tree in trees) >= 2


def test_storage_goes_by_size():
    small, large = problem_of([9] * 5, 5), problem_of([9] * 5 + [2], 5)
    assert aw.states.Lattice(small).size == 100_000 <= aw.states.Lattice(large).size
    assert aw.SeqOOS(small).statistics.is_sparse
    assert not aw.SeqOOS(problem_of([9, 9, 9, 9, 8], 5)).statistics.is_sparse
    for kind in KINDS:
        assert kind(large).statistics.is_sparse
        assert not kind(large, storage="dense").statistics.is_sparse
        assert kind(problem_of([2], 1), storage="sparse").statistics.is_sparse
    assert not LEARNERS["adaptive-greedy"](large).statistics.is_sparse


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_learner_goes_on_from_its_file(kind, clock, tmp_path):
    problem = wide_problem()
    learner = kind(problem, clock=clock, storage="sparse", rng=1)
    aw.simulate(learner, Wide(problem), steps=6000, rng=1)
    assert learner.statistics.visited > FIRST_ROWS
    draws = Wide(problem).draw(np.random.default_rng(2), 40)
    looking = learner.open()
    acted = [see(learner.open(), problem, full) for full in draws.values[:20].tolist()]
    for case in acted[:5]:
        case.reward(1.0)
    learner.save(tmp_path / "wide.askwise")
    loaded = aw.load(tmp_path / "wide.askwise")
    assert loaded.statistics.is_sparse
    assert loaded.statistics == learner.statistics
    assert loaded.statistics.states.tolist() == learner.statistics.states.tolist()
    assert now_of(loaded).round == now_of(learner).round
    assert_same(loaded.policy, learner.policy)
    assert loaded.cases.keys() == learner.cases.keys() == {looking.id, *(c.id for c in acted[5:])}
    for x in (learner, loaded):
        see(x.cases[looking.id], problem, draws.values[20].tolist()).reward(0.25)
        for case in acted[:4:-1]:
            x.cases[case.id].reward(0.5)
    before = now_of(learner).round
    for steps, seed in ((500, 3), (4000, 4)):
        left, right = (
            aw.simulate(x, Wide(problem), steps=steps, rng=seed) for x in (learner, loaded)
        )
        for name in ("state", "action", "round"):
            assert getattr(left, name).tobytes() == getattr(right, name).tobytes()
    assert now_of(learner).round - before >= 500
    assert loaded.statistics == learner.statistics
    assert_same(loaded.policy, learner.policy)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = random_model(np.random.default_rng(0), [3, 4, 2], max_observations=2)
    learner = aw.SeqOOS(model.problem, storage="sparse")
    aw.simulate(learner, Population(model), steps=60, rng=0)
    path = tmp_path_factory.mktemp("saved") / "good.askwise"
    learner.save(path)
    return path, learner


def damaged(path, name, change):
    """A file in which one array is another."""
    altered = path.with_name("altered.askwise")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(altered, "w") as new:
        assert f"{name}.npy" in old.namelist()
        for member in old.namelist():
            content = old.read(member)
            if member == f"{name}.npy":
                array = np.load(io.BytesIO(content))
                array = change(array)
                written = io.BytesIO()
                np.save(written, array)
                content = written.getvalue()
            new.writestr(member, content)
    return altered


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def duplicate(array):
    array[-1] = array[-2]
    return array


FOREIGN = "the states are not those of a saved learner"


def test_an_undamaged_file_is_read(saved):
    path, learner = saved
    assert aw.load(damaged(path, "states", lambda states: states)).statistics == learner.statistics


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(duplicate, FOREIGN, id="twice"),
        pytest.param(put(3, 0), FOREIGN, id="the empty state twice"),
        pytest.param(put(0, 0), FOREIGN, id="row 0 is somebody's"),
        pytest.param(put(1, 35), FOREIGN, id="row 1 is not the empty state's"),
        pytest.param(put(2, -1), "a state is not one of the problem's", id="negative"),
        pytest.param(put(2, 36), "a state is not one of the problem's", id="one too many"),
        pytest.param(put(2, 2**62), "a state is not one of the problem's", id="far out"),
        pytest.param(lambda states: states[:-1], "states is int64 of shape", id="too short"),
        pytest.param(lambda states: states[:0], "states is int64 of shape", id="empty"),
        pytest.param(lambda states: states.astype(np.int32), "states is int32", id="of 32 bits"),
        pytest.param(lambda states: states.astype(float), "states is float64", id="fractions"),
    ],
)
def test_damaged_states_are_refused(saved, change, message):
    path, learner = saved
    assert learner.statistics.lattice.size == 36
    with pytest.raises(FileError, match=message) as error:
        aw.load(damaged(path, "states", change))
    assert "altered.askwise" in str(error.value)


@pytest.mark.parametrize("name", BY_ROW)
def test_counts_in_nobodys_row_are_refused(saved, name):
    path, _ = saved
    with pytest.raises(FileError):
        aw.load(damaged(path, name, put(0, 1)))


# --- what cannot be ------------------------------------------------------------------------------

LOWER = "lower max_observations, or the number of observations or of their values"


@pytest.mark.parametrize("storage", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_too_many_subsets(kind, storage):
    with pytest.raises(TooLargeError) as error:
        kind(problem_of([2] * 60, 5), storage=storage)
    states, subsets = (sum(math.comb(60, k) * n**k for k in range(6)) for n in (2, 1))
    assert str(error.value) == (
        f"60 observations with max_observations=5 make {states:,} states in {subsets:,} "
        f"subsets, more than the 5,000,000 that are supported: {LOWER}"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_states_to_number(kind):
    with pytest.raises(TooLargeError) as error:
        kind(problem_of([999] * 7, 7))
    assert str(error.value) == (
        "7 observations with max_observations=7 make 1,000,000,000,000,000,000,000 states in 128 "
        f"subsets, more than the 2,305,843,009,213,693,952 states that can be numbered: {LOWER}"
    )
    assert aw.states.Lattice(problem_of([999] * 6, 6)).size == 10**18


@pytest.mark.parametrize(
    "make",
    [
        lambda problem: aw.Statistics(aw.states.Lattice(problem)),
        functools.partial(aw.SeqOOS, storage="dense"),
        functools.partial(aw.SimOOS, storage="dense"),
        LEARNERS["adaptive-greedy"],
        LEARNERS["psrl"],
    ],
    ids=["statistics", "seq-oos", "sim-oos", "adaptive-greedy", "psrl"],
)
def test_too_many_states_to_have_a_row_each(make):
    problem = problem_of([9] * 8, 8)
    with pytest.raises(TooLargeError) as error:
        make(problem)
    assert str(error.value).startswith(
        "8 observations with max_observations=8 make 100,000,000 states, more than the 20,000,000 "
        f"that can be counted one by one: {LOWER}, or count only what is visited"
    )
    for kind in KINDS:
        assert kind(problem).statistics.is_sparse
    with pytest.raises(TooLargeError):
        aw.Statistics(aw.states.Lattice(problem), sparse=True).dense()


@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_storage_is_refused(kind):
    message = "storage must be 'auto' or 'dense' or 'sparse', got 'odd'"
    with pytest.raises(OptionError, match=message):
        kind(problem_of([2], 1), storage="odd")
    for storage in (None, True, ["sparse"]):
        with pytest.raises(OptionError, match="storage must be"):
            kind(problem_of([2], 1), storage=storage)


def test_a_learner_that_plans_in_full_is_dense():
    greedy = LEARNERS["adaptive-greedy"]
    message = "storage must be 'auto' or 'dense', got 'sparse'"
    with pytest.raises(OptionError, match=message):
        greedy(problem_of([2], 1), storage="sparse")
    assert not greedy(problem_of([2], 1), storage="dense").statistics.is_sparse
