"""Cases counted in shards, wherever they lie, teach just what they teach on one machine."""

import copy
import functools
import operator
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import askwise as aw
from askwise.counting.row_counters import BY_ROW, FIRST_ROWS
from askwise.errors import StatisticsError
from askwise.learners import LEARNERS
from askwise.simulation.environments import Population, random_model
from askwise.testing import see
from inside import bought, full_plan, now_of, rounds_of, strategy_of
from planning.test_incremental import BETA, IN_FULL, assert_same
from test_docs import blocks_of

KINDS = [aw.SimOOS, aw.SeqOOS]
CLOCKS = ["doubling", "exact"]
STORAGES = ["dense", "sparse"]
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def model_of(seed, shape=(4, 2, 3, 5), m=3):
    rng = np.random.default_rng(seed)
    return random_model(rng, shape, max_observations=m, reward_value=BETA, highest_cost=8.0)


def finished_cases(kind, model, number, seed):
    """A log as a desk would write it: what was bought, in order; the action; the reward."""
    rng = np.random.default_rng(seed)
    learner, log = kind(model.problem), []
    for full in model.sample(rng, number).tolist():
        case = see(learner.open(), model.problem, full)
        names = [model.problem.observations[i].name for i, _ in case.path]
        mean = model.reward[tuple(full)][case.action_index]
        reward = round(float(rng.beta(1 + 4 * mean, 5 - 4 * mean)), 3)
        case.reward(reward)
        log.append(({name: case.state[name] for name in names}, case.action, reward))
    return log, learner.statistics


def count(problem, cases, *, at_once, sparse=False):
    statistics = aw.Statistics(aw.states.Lattice(problem), sparse=sparse)
    for observed, action, reward in cases:
        statistics.record(observed, action, reward, acquisition=bought(at_once))
    return statistics


def shards_of(kind, model, number=5, cases=300):
    return [finished_cases(kind, model, cases + 7 * k, seed=k)[0] for k in range(number)]


def contents(statistics):
    """Every counter as bytes, in the order of the states, without the rows of zeros."""
    states = statistics.states
    used = np.zeros(len(states), bool)
    by_row = [getattr(statistics, name)[: len(states)] for name in BY_ROW]
    for array in by_row:
        used |= array.reshape(len(array), -1).any(axis=1)
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(states[rows])]
    arrays = [statistics.subset_visits, states[rows], *(array[rows] for array in by_row)]
    return statistics.cases, [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]


# --- on a cluster --------------------------------------------------------------------------------

# Each backend runs in a Python of its own, with warnings as errors, as in simulation/test_sweep.py.
SCRIPT = """
import functools
import operator
import os
import pickle
import sys
from pathlib import Path

import joblib

import askwise as aw


def count(problem, cases, at_once, sparse):
    statistics = aw.Statistics(aw.states.Lattice(problem), sparse=sparse)
    for observed, action, reward in cases:
        acquisition = "simultaneous" if at_once else "sequential"
        statistics.record(observed, action, reward, acquisition=acquisition)
    return statistics, os.getpid()


def in_pairs(parts):
    while len(parts) > 1:
        parts = [functools.reduce(operator.add, parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def run(jobs):
    made = joblib.Parallel()(
        joblib.delayed(count)(problem, cases, at_once, sparse)
        for problem, shards, at_once, sparse in jobs
        for cases in shards
    )
    assert os.getpid() not in {worker for _, worker in made}, "it was not counted on the cluster"
    parts, add = [part for part, _ in made], functools.partial(functools.reduce, operator.add)
    totals = []
    for _, shards, _, _ in jobs:
        mine, parts = parts[: len(shards)], parts[len(shards) :]
        totals.append([add(mine), add(mine[::-1]), in_pairs(mine)])
    return totals


def exchanged(code, old, new):
    assert code.count(old) == 1
    return code.replace(old, new)


if __name__ == "__main__":
    backend, folder = sys.argv[1], Path(sys.argv[2])
    jobs = pickle.loads((folder / "jobs").read_bytes())
    page = (folder / "page").read_text(encoding="utf-8")
    namespace = {"__name__": "page"}
    if backend == "dask":
        import distributed

        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            exec(exchanged(page, "tcp://scheduler:8786", cluster.scheduler_address), namespace)
            with distributed.Client(cluster), joblib.parallel_config("dask", n_jobs=-1):
                totals = run(jobs)
    else:
        here = "ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)"
        exec(exchanged(page, 'ray.init("auto")', here), namespace)
        with joblib.parallel_config("ray", n_jobs=-1):
            totals = run(jobs)
        namespace["ray"].shutdown()
    (folder / "totals").write_bytes(pickle.dumps((totals, namespace["total"])))
"""

HERE = 'with joblib.parallel_config("loky", n_jobs=2):\n'


def page_on(backend):
    """The page's way to learn from shards, with the lines it gives for that backend."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = blocks_of(text[text.index("## Learning from shards") :])
    (lines,) = [b.text for b in blocks if f'parallel_config("{backend}"' in b.text]
    code = "".join(b.text for b in blocks if b.language == "python")
    assert code.count(HERE) == 1
    return "import numpy as np\nimport askwise as aw\n" + code.replace(HERE, lines)


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_counts_as_one_machine_does(backend, tmp_path):
    jobs = []
    for kind in KINDS:
        model = model_of(1)
        shards = shards_of(kind, model)
        jobs += [(model.problem, shards, kind is aw.SimOOS, sparse) for sparse in (False, True)]
    (tmp_path / "jobs").write_bytes(pickle.dumps(jobs))
    (tmp_path / "page").write_text(page_on(backend), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, backend, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        # Ray would write a token into the home folder, and report its use.
        env=os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    made, of_the_page = pickle.loads((tmp_path / "totals").read_bytes())
    for (problem, shards, at_once, sparse), totals in zip(jobs, made, strict=True):
        everything = [case for cases in shards for case in cases]
        whole = count(problem, everything, at_once=at_once, sparse=sparse)
        assert whole.cases == len(everything) > 1500
        for total in totals:
            assert total == whole
            assert contents(total) == contents(whole)
            assert total.is_sparse == sparse
        assert_same_plans(
            aw.SimOOS if at_once else aw.SeqOOS, totals[0], everything, STORAGES[sparse]
        )
    assert of_the_page.cases == 4000


def assert_same_plans(kind, total, everything, storage):
    """A learner that merged the total plans like one that counted every case itself."""
    problem = total.lattice.problem
    merged, counted = kind(problem, storage=storage), kind(problem, storage=storage)
    merged.merge(total)
    for observed, action, reward in everything:
        counted.statistics.record(observed, action, reward, acquisition=bought(kind is aw.SimOOS))
    expected = counted.replan()
    assert_same(merged.replan(), expected)
    assert (
        merged.policy.values[merged.policy.table.row(0)] == expected.values[expected.table.row(0)]
    )
    assert_same(merged.policy, full_plan(merged))
    assert now_of(merged).t == now_of(counted).t == len(everything) + 1
    one, other = merged.recommend(), counted.recommend()
    assert one.tree() == other.tree()
    assert one.value == pytest.approx(other.value, rel=1e-14)


# --- on one machine ------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_split_and_any_order_count_alike(kind, storage):
    model, sparse = model_of(2), storage == "sparse"
    logs, statistics = zip(
        *(finished_cases(kind, model, 250, seed) for seed in range(4)), strict=True
    )
    everything = [case for log in logs for case in log]
    recorded = functools.partial(count, model.problem, at_once=kind is aw.SimOOS, sparse=sparse)
    whole = recorded(everything)
    assert whole.is_sparse == sparse
    # what the learners counted themselves is what their logs say
    assert functools.reduce(operator.add, statistics) == whole
    rng = np.random.default_rng(0)
    for pieces in (1, 2, 3, 17):
        shuffled = [everything[k] for k in rng.permutation(len(everything))]
        parts = [recorded(shuffled[k::pieces]) for k in range(pieces)]
        total = functools.reduce(operator.add, parts)
        assert total == whole
        assert contents(total) == contents(whole)
    assert recorded(everything[1:]) != whole
    assert contents(recorded(everything[1:])) != contents(whole)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_who_merged_goes_on_like_who_counted(kind, clock, storage):
    model = model_of(3)
    shards = shards_of(kind, model, number=3)
    merged, counted = (kind(model.problem, clock=clock, storage=storage) for _ in range(2))
    for cases in shards:
        merged.merge(count(model.problem, cases, at_once=kind is aw.SimOOS, sparse=True))
        for observed, action, reward in cases:
            counted.statistics.record(
                observed, action, reward, acquisition=bought(kind is aw.SimOOS)
            )
    assert merged.statistics.is_sparse == (storage == "sparse")
    left, right = (aw.simulate(x, Population(model), steps=3000, rng=1) for x in (merged, counted))
    for name in ("state", "action", "round"):
        assert np.array_equal(getattr(left, name), getattr(right, name))
    assert merged.statistics == counted.statistics
    assert now_of(merged).round == now_of(counted).round >= 50
    assert_same(merged.policy, counted.policy)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_after_a_merge_is_the_full_plan(kind, clock, storage):
    model, rng = model_of(4), np.random.default_rng(4)
    shards = shards_of(kind, model, number=4, cases=150)
    learner, compared = kind(model.problem, clock=clock, storage=storage), 0
    waiting = []
    for k, full in enumerate(model.sample(rng, 900).tolist()):
        if k % 250 == 100:
            shard = count(model.problem, shards.pop(), at_once=kind is aw.SimOOS, sparse=True)
            learner.merge(shard)
        if rounds_of(learner).is_over and now_of(learner).round:
            expected = full_plan(learner)
            assert_same(learner.replan(), expected)
            compared += 1
        case = see(learner.open(), model.problem, full)
        waiting.append((case, float(rng.random() < model.reward[tuple(full)][case.action_index])))
        while waiting and (rng.random() < 0.6 or len(waiting) > 30):
            late, reward = waiting.pop(int(rng.integers(len(waiting))))
            late.reward(reward)
        if not shards and k % 10 == 0:  # and the compiled loop takes over from where it is
            aw.simulate(learner, Population(model), steps=5, rng=k)
    assert not shards
    assert compared >= 100


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_runs_with_merges_equal_runs_with_full_plans(kind, clock, storage):
    model = model_of(5)
    one = kind(model.problem, clock=clock, storage=storage)
    other = IN_FULL[kind](model.problem, clock=clock)
    for seed, cases in enumerate(shards_of(kind, model, number=3)):
        shard = count(model.problem, cases, at_once=kind is aw.SimOOS, sparse=True)
        for learner in (one, other):
            learner.merge(shard)
        left, right = (
            aw.simulate(x, Population(model), steps=1500, rng=seed) for x in (one, other)
        )
        assert np.array_equal(left.state, right.state)
        assert np.array_equal(left.action, right.action)
        assert np.array_equal(left.round, right.round)
        assert one.statistics == other.statistics
    assert now_of(one).round == now_of(other).round >= 60


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_cases_that_bought_the_other_way_are_planned_with_too(kind, clock, storage):
    model = model_of(6, (2, 3, 2), m=2)
    other_way = aw.SeqOOS if kind is aw.SimOOS else aw.SimOOS
    one = kind(model.problem, clock=clock, storage=storage)
    other = IN_FULL[kind](model.problem, clock=clock)
    for seed, cases in enumerate(shards_of(other_way, model, number=3)):
        shard = count(model.problem, cases, at_once=other_way is aw.SimOOS, sparse=True)
        for learner in (one, other):
            learner.merge(shard)
        expected = full_plan(one)
        assert_same(one.replan(), expected)
        other.replan()
        left, right = (aw.simulate(x, Population(model), steps=500, rng=seed) for x in (one, other))
        assert np.array_equal(left.state, right.state)
        assert np.array_equal(left.action, right.action)
        assert np.array_equal(left.round, right.round)
    assert now_of(one).round == now_of(other).round >= 20


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_open_cases_live_through_a_merge(kind, clock, storage, tmp_path):
    model, rng = model_of(7), np.random.default_rng(7)
    learner = kind(model.problem, clock=clock, storage=storage)
    aw.simulate(learner, Population(model), steps=400, rng=0)
    draws = model.sample(rng, 9).tolist()
    acted = [see(learner.open(), model.problem, full) for full in draws[:3]]
    for _ in range(200):  # some more rounds may want nothing at first
        looking = [learner.open() for _ in range(3)]
        if all(case.wanted for case in looking):
            break
        see(looking[0], model.problem, draws[3]).reward(0.0)
    assert all(case.wanted for case in looking)
    policy, before = learner.policy, learner.statistics.copy()
    shard = count(
        model.problem,
        shards_of(kind, model, number=1, cases=700)[0],
        at_once=kind is aw.SimOOS,
        sparse=storage == "sparse",
    )
    learner.merge(shard)
    assert learner.statistics == before + shard
    learner.save(tmp_path / "open.askwise")
    loaded = aw.load(tmp_path / "open.askwise")
    aw.simulate(learner, Population(model), steps=300, rng=1)
    aw.simulate(loaded, Population(model), steps=300, rng=1)
    assert loaded.statistics == learner.statistics
    known = learner.statistics.copy()
    for case, full in zip(looking, draws[4:7], strict=True):
        twin = loaded.cases[case.id]
        while case.wanted:
            assert case.wanted == twin.wanted == policy.wanted(case.state)
            for x in (case, twin):
                x.observe({name: full[int(name[1:])] for name in x.wanted})
        assert case.action == twin.action == policy.action(case.state)
        observed = {f"o{i}": full[i] for i, _ in case.path}
        known.record(observed, case.action, 0.75, acquisition=bought(kind is aw.SimOOS))
        for x in (case, twin):
            x.reward(0.75)
    for case in acted:
        known.count_reward(case.state_index, case.action_index, 0.5)
        for x in (case, loaded.cases[case.id]):
            x.reward(0.5)
    assert learner.statistics == loaded.statistics == known
    expected = full_plan(learner)
    assert_same(learner.replan(), expected)
    assert_same(loaded.replan(), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_who_merged_dense_statistics_can_be_saved(kind, storage, tmp_path):
    model = model_of(8)
    learner = kind(model.problem, storage=storage)
    aw.simulate(learner, Population(model), steps=300, rng=0)
    cases = shards_of(kind, model, number=1)[0]
    learner.merge(count(model.problem, cases, at_once=kind is aw.SimOOS))
    learner.save(tmp_path / "merged.askwise")
    loaded = aw.load(tmp_path / "merged.askwise")
    assert loaded.statistics == learner.statistics
    left, right = (aw.simulate(x, Population(model), steps=500, rng=1) for x in (learner, loaded))
    assert np.array_equal(left.state, right.state)
    assert np.array_equal(left.action, right.action)


@pytest.mark.parametrize("storage", STORAGES)
def test_statistics_that_were_sent_count_on(storage):
    model, sparse = model_of(8), storage == "sparse"
    cases = shards_of(aw.SeqOOS, model, number=1)[0]
    half = count(model.problem, cases[:150], at_once=False, sparse=sparse)
    half.record(*cases[150], acquisition="simultaneous")
    for sent in (pickle.loads(pickle.dumps(half)), copy.deepcopy(half)):
        assert sent == half
        kept = half.copy()
        for here, case in enumerate(cases[151:]):
            sent.record(*case, acquisition=bought(here % 2 == 0))
            kept.record(*case, acquisition=bought(here % 2 == 0))
        assert sent == kept != half
        assert contents(sent) == contents(kept)


@pytest.mark.parametrize("kind", KINDS)
def test_more_rows_than_the_first_are_merged(kind):
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(2 + i % 5)), cost=1.0) for i in range(30)
        ],
        actions=["a0", "a1"],
        max_observations=3,
        reward_value=BETA,
    )
    rng = np.random.default_rng(0)
    everything = []
    for _ in range(1500):
        names = rng.permutation(30)[: rng.integers(1, 4)].tolist()
        observed = {f"o{i}": int(rng.integers(2 + i % 5)) for i in names}
        everything.append((observed, f"a{rng.integers(2)}", float(rng.random())))
    recorded = functools.partial(count, problem, at_once=kind is aw.SimOOS)
    parts = [recorded(everything[k::3], sparse=True) for k in range(3)]
    total = functools.reduce(operator.add, parts)
    assert total.visited > FIRST_ROWS
    assert total == recorded(everything)
    assert contents(total) == contents(recorded(everything)) == contents(total.dense())
    assert_same_plans(kind, total, everything, "sparse")
    assert_same_plans(kind, total, everything, "dense")


# --- what is refused -----------------------------------------------------------------------------


def changed(problem, **more):
    given = {
        "observations": problem.observations,
        "actions": problem.actions,
        "max_observations": problem.max_observations,
        "reward_value": problem.reward_value,
    }
    return aw.Problem(**given | more)


def dearer(problem):
    first, *rest = problem.observations
    return aw.Observation(first.name, values=first.values, cost=first.cost + 1), *rest


def test_statistics_counted_at_other_prices_count():
    model = model_of(9)
    dear = aw.Statistics(
        aw.states.Lattice(changed(model.problem, observations=dearer(model.problem)))
    )
    dear.record({}, model.problem.actions[0], 1.0, acquisition="sequential")
    learner = aw.SeqOOS(model.problem)
    learner.merge(dear)
    assert learner.statistics == dear
    assert learner.problem == model.problem


OTHERS = {
    "another order": lambda p: aw.states.Lattice(changed(p, observations=p.observations[::-1])),
    "another action": lambda p: aw.states.Lattice(changed(p, actions=[*p.actions[:-1], "leave"])),
    "fewer bought": lambda p: aw.states.Lattice(changed(p, max_observations=1)),
    "another reward value": lambda p: aw.states.Lattice(changed(p, reward_value=1.0)),
    "another lattice": lambda p: aw.states.Lattice(p, max_observations=1),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_statistics_of_another_problem_change_nothing(kind, storage, other):
    model = model_of(9)
    learner, twin = (kind(model.problem, storage=storage) for _ in range(2))
    for x in (learner, twin):
        aw.simulate(x, Population(model), steps=333, rng=0)
    strange = aw.Statistics(OTHERS[other](model.problem), sparse=storage == "sparse")
    strange.record({}, model.problem.actions[0], 1.0, acquisition="simultaneous")
    statistics, before = learner.statistics, learner.statistics.copy()
    case, policy = learner.open(), learner.policy
    with pytest.raises(StatisticsError, match="statistics of two different problems"):
        learner.merge(strange)
    assert learner.statistics is statistics
    assert learner.statistics == before
    assert learner.policy is policy
    assert case.wanted == twin.open().wanted
    left, right = (aw.simulate(x, Population(model), steps=500, rng=1) for x in (learner, twin))
    for name in ("state", "action", "round"):
        assert np.array_equal(getattr(left, name), getattr(right, name))


def test_what_is_no_statistics_is_refused():
    learner = aw.SeqOOS(model_of(9).problem)
    before = learner.statistics.copy()
    for thing in (None, 3, [before]):
        with pytest.raises(StatisticsError, match="expected Statistics, or a learner"):
            learner.merge(thing)
    assert learner.statistics == before


def test_a_learner_with_counters_of_its_own_cannot_merge():
    model = model_of(10, (2, 3), m=2)
    refused = []
    for name, make in LEARNERS.items():
        learner = make(model.problem, rng=0)
        aw.simulate(learner, Population(model), steps=50, rng=0)
        shard = aw.Statistics(learner.statistics.lattice)
        shard.record({}, "a0", 1.0, acquisition="simultaneous")
        before = learner.statistics.copy()
        if not strategy_of(learner).is_mergeable:
            with pytest.raises(StatisticsError, match=f"{name} learns from more than statistics"):
                learner.merge(shard)
            assert learner.statistics == before
            refused.append(name)
        else:
            learner.merge(shard)
            assert learner.statistics == before + shard
            aw.simulate(learner, Population(model), steps=50, rng=1)
            assert learner.statistics.cases == 101
    assert refused == ["policy-ucb"]
