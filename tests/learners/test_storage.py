"""Learners that count visited states alone decide alike, and are saved and loaded alike."""

import functools
import io
import math
import zipfile

import numpy as np
import pytest

import askwise as aw
from askwise.counting.row_counters import BY_ROW, FIRST_ROWS
from askwise.errors import FileError, OptionError, TooLargeError
from askwise.learners import LEARNERS
from askwise.learners.optimistic import OptimisticInFull
from askwise.simulation.environments import Population, random_model
from askwise.testing import LEARNER_CHECKS, see
from inside import full_plan, now_of
from planning.test_incremental import BETA, assert_same
from wide_problems import (
    CLOCKS,
    KINDS,
    Wide,
    assert_same_content,
    problem_of,
)

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
    class InFull(aw.SeqOOS):
        _kind = OptimisticInFull

    message = "storage must be 'auto' or 'dense', got 'sparse'"
    with pytest.raises(OptionError, match=message):
        InFull(problem_of([2], 1), storage="sparse")
    assert not InFull(problem_of([2], 1), storage="dense").statistics.is_sparse
    assert not LEARNERS["adaptive-greedy"](problem_of([2], 1)).statistics.is_sparse
