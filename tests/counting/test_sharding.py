"""Cases counted in shards on a cluster teach just what they teach on one machine."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import askwise as aw
from askwise.errors import StatisticsError
from askwise.learners import LEARNERS
from askwise.simulation.environments import Population
from inside import strategy_of
from shards import KINDS, STORAGES, assert_same_plans, contents, count, model_of, shards_of
from test_docs import blocks_of
from waiting import PATIENCE

# --- on a cluster --------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"

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
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
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

ANOTHER_CLUSTER = "ignore:Port 8787 is already in use:UserWarning"
"""Dask's dashboard says so where another test, or anybody else, has one."""
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
        [
            sys.executable,
            "-W",
            "error",
            "-W",
            ANOTHER_CLUSTER,
            "-c",
            SCRIPT,
            backend,
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        # Ray would write a token into the home folder, and report its use.
        env=os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        timeout=PATIENCE,
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


# --- what is refused -----------------------------------------------------------------------------


def changed(problem, **more):
    given = {
        "observations": problem.observations,
        "actions": problem.action_names,
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
    dear.record({}, model.problem.action_names[0], 1.0, acquisition="sequential")
    learner = aw.SeqOOS(model.problem)
    learner.merge(dear)
    assert learner.statistics == dear
    assert learner.problem == model.problem


OTHERS = {
    "another order": lambda p: aw.states.Lattice(changed(p, observations=p.observations[::-1])),
    "another action": lambda p: aw.states.Lattice(
        changed(p, actions=[*p.action_names[:-1], "leave"])
    ),
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
    strange.record({}, model.problem.action_names[0], 1.0, acquisition="simultaneous")
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
        strategy = strategy_of(learner)
        if not strategy.is_mergeable or strategy.tallies():
            message = f"{name}( with this model)? learns from more than statistics"
            with pytest.raises(StatisticsError, match=message):
                learner.merge(shard)
            assert learner.statistics == before
            refused.append(name)
        else:
            learner.merge(shard)
            assert learner.statistics == before + shard
            aw.simulate(learner, Population(model), steps=50, rng=1)
            assert learner.statistics.cases == 101
    own = {"budgeted-regression", "epoch-greedy", "online-probing", "policy-ucb"}
    assert set(refused) == own
