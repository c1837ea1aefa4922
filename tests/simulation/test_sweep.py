"""Sweeps give the same cells wherever they run, and go on where they were."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading

import msgspec
import pytest

from askwise.errors import MissingExtraError, OptionError
from askwise.simulation.experiments import Cell, Job, run_job, run_sweep, sweep
from waiting import PATIENCE

JOBS = [
    Job(learner=learner, cost=cost, seed=seed, steps=1000, options=options)
    for learner, options in (("sim-oos", {"width": 0.5}), ("psrl", {"acquisition": "sequential"}))
    for cost in (1.0, 15.0)
    for seed in (0, 1)
]
SOME = JOBS[::3]
"""Of each learner, each price and each seed."""

# Each backend runs in a Python of its own: Dask and Ray start processes, change logging and signal
# handlers, and Ray keeps sockets open until the interpreter ends, which pytest would report as
# warnings of some later test. In here warnings are errors too.
SCRIPT = """
import sys
import msgspec
from askwise.simulation.experiments import Job, run_sweep

if __name__ == "__main__":
    backend, jobs = sys.argv[1], msgspec.json.decode(sys.argv[2], type=list[Job])
    cells = [run_sweep(jobs, backend=backend, workers=2)]  # joblib alone would run one by one
    if backend == "dask":
        from distributed import LocalCluster

        cluster = LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, protocol="tcp://",
            dashboard_address="127.0.0.1:0",
        )
        address = cluster.scheduler_address
        cells.append(run_sweep(jobs, backend=backend, workers=2, address=address))
        cluster.close()
    print("CELLS", msgspec.json.encode(cells).decode())
"""


def untimed(cells):
    return [msgspec.structs.replace(cell, seconds=0.0) for cell in cells]


@pytest.fixture(scope="module")
def cells():
    return untimed([run_job(job) for job in JOBS])


def test_threads_give_the_same_cells(cells):
    assert untimed(run_sweep(JOBS, workers=2)) == cells
    assert untimed(run_sweep(JOBS[::-1], workers=1)) == cells[::-1]


@pytest.fixture
def taken_port():
    """Hold the port that Dask would serve its own state on, as another cluster may."""
    with socket.socket() as other:
        # Another test, or the reader's own cluster, may hold it already: just as well.
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", 8787))
            other.listen()
        yield


@pytest.mark.usefixtures("taken_port")
@pytest.mark.parametrize("backend", ["processes", "dask", "ray"])
def test_processes_and_clusters_give_the_same_cells(backend, cells):
    """Dask in a cluster of its own, and at the address of another."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, backend, msgspec.json.encode(SOME).decode()],
        capture_output=True,
        text=True,
        check=False,
        # Ray would write a token into the home folder, and report its use.
        env=os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("CELLS ")]
    sweeps = msgspec.json.decode(line.removeprefix("CELLS "), type=list[list[Cell]])
    assert [untimed(got) for got in sweeps] == [cells[::3]] * (2 if backend == "dask" else 1)


def test_a_cell_is_its_job():
    job = Job(learner="seq-oos", cost=5.0, seed=3, steps=2000)
    cell = run_job(job)
    assert (cell.learner, cell.cost, cell.seed, cell.steps) == ("seq-oos", 5.0, 3, 2000)
    assert cell == msgspec.structs.replace(run_job(job), seconds=cell.seconds)
    assert cell.gain != run_job(msgspec.structs.replace(job, seed=4)).gain
    times = [t for t, _, _ in cell.curve]
    assert times[0] == 1
    assert times[-1] == 2000
    assert times == sorted(set(times))
    _, regret, rounds = cell.curve[-1]
    assert rounds == cell.rounds
    best = 83.40237687345578  # the sequential oracle, as in the docstring of the population
    assert regret / 2000 == pytest.approx(best - cell.gain)
    assert all(0 <= share <= 1 for share in cell.bought.values())


# --- going on ------------------------------------------------------------------------------------


@pytest.fixture
def ran(monkeypatch):
    """The jobs that were run, in place of running them."""
    done, lock = [], threading.Lock()

    def fake(job):
        with lock:
            done.append(job)
        return Cell(
            learner=job.learner,
            cost=job.cost,
            seed=job.seed,
            steps=job.steps,
            gain=job.cost + job.seed,
            late_gain=0.0,
            rounds=1,
            seconds=0.5,
            bought={"age": 0.25},
            curve=[(1, 0.5, 1)],
            tree="AC (buying nothing)",
        )

    monkeypatch.setattr(sweep, "run_job", fake)
    return done


def test_finished_cells_are_not_run_again(tmp_path, ran):
    keep = tmp_path / "cells.jsonl"
    first = run_sweep(JOBS[:5], keep=keep, workers=2)
    assert len(ran) == 5
    ran.clear()
    everything = run_sweep(JOBS, keep=keep, workers=2)
    assert sorted(job.key for job in ran) == sorted(job.key for job in JOBS[5:])
    assert everything[:5] == first
    ran.clear()
    assert run_sweep(JOBS[::-1], keep=keep) == everything[::-1]
    assert ran == []
    lines = keep.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(JOBS)
    assert {json.dumps(json.loads(line)[0], sort_keys=True) for line in lines} == {
        job.key for job in JOBS
    }


@pytest.mark.parametrize(
    "change",
    [{"steps": 1001}, {"seed": 9}, {"cost": 2.0}, {"options": {}}, {"learner": "seq-oos"}],
    ids=lambda change: next(iter(change)),
)
def test_a_job_that_differs_is_another_job(tmp_path, ran, change):
    keep = tmp_path / "cells.jsonl"
    run_sweep(JOBS[:1], keep=keep)
    run_sweep([msgspec.structs.replace(JOBS[0], **change)], keep=keep)
    assert len(ran) == 2


@pytest.mark.parametrize("left", [1, 40, -1])
def test_a_last_line_cut_off_is_run_again(tmp_path, ran, left):
    keep = tmp_path / "cells.jsonl"
    cells = run_sweep(JOBS, keep=keep, workers=1)
    whole = keep.read_bytes()
    lines = whole.splitlines(keepends=True)
    keep.write_bytes(b"".join(lines[:-1]) + lines[-1][:left])
    ran.clear()
    assert run_sweep(JOBS, keep=keep, workers=1) == cells
    assert ran == JOBS[-1:]
    assert keep.read_bytes() == whole


def test_what_was_finished_before_a_failure_is_kept(tmp_path, ran, monkeypatch):
    keep = tmp_path / "cells.jsonl"
    fake = sweep.run_job

    def fails_at_the_fourth(job):
        if len(ran) == 3:
            raise RuntimeError("power cut")
        return fake(job)

    monkeypatch.setattr(sweep, "run_job", fails_at_the_fourth)
    with pytest.raises(RuntimeError, match="power cut"):
        run_sweep(JOBS, keep=keep, workers=1)
    monkeypatch.setattr(sweep, "run_job", fake)
    kept = len(keep.read_bytes().splitlines())
    assert 0 < kept <= 3
    ran.clear()
    run_sweep(JOBS, keep=keep, workers=1)
    assert ran == JOBS[kept:]


def test_nothing_to_do_starts_nothing():
    assert run_sweep([], backend="ray") == []
    assert "ray" not in sys.modules


# --- what cannot be ------------------------------------------------------------------------------


def test_an_unknown_backend_is_refused():
    with pytest.raises(OptionError, match="one of threads, processes, dask, ray, got 'abacus'"):
        run_sweep(JOBS, backend="abacus")


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_an_address_needs_a_cluster(backend):
    message = f"address 'tcp://here:8786' needs the backend dask or ray, got {backend}"
    with pytest.raises(OptionError, match=message):
        run_sweep(JOBS, backend=backend, address="tcp://here:8786")


def test_an_unknown_learner_is_refused(tmp_path):
    job = Job(learner="oracle", cost=1.0, seed=0, steps=100)
    with pytest.raises(OptionError, match="unknown learner 'oracle', expected one of: learner, "):
        run_sweep([job], keep=tmp_path / "cells.jsonl")
    assert not (tmp_path / "cells.jsonl").exists()


@pytest.mark.parametrize(
    ("backend", "module", "extra"),
    [("dask", "distributed", "dask"), ("ray", "ray", "ray")],
)
def test_a_cluster_that_is_not_installed_is_one_clear_error(backend, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"this needs {module}, which is not installed: pip install 'askwise\[{extra}\]'"
    with pytest.raises(MissingExtraError, match=message):
        run_sweep(JOBS, backend=backend)
