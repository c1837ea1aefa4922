"""Runs learners × costs × seeds, in threads or on a cluster. An interrupted sweep resumes.

A sweep is a list of jobs, and a job is data: names, options and numbers. Finished cells are
appended to a file, one JSON line each. A job whose cell is in the file is not run again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from askwise._support.documents import prepare
from askwise._support.extras import need
from askwise._support.progress import ProgressBar
from askwise.errors import FileError, OptionError
from askwise.estimation.models import Model
from askwise.learners import make
from askwise.policy import oracle
from askwise.simulation.environments import Environment, Population, breast_cancer
from askwise.simulation.experiments.results import Cell
from askwise.simulation.simulate import Run, simulate

MODELS: dict[str, Callable[[float], Model]] = {"breast-cancer": breast_cancer}
"""Populations by name; each takes the price of an observation."""

BACKENDS = ("threads", "processes", "dask", "ray")
POINTS = 60
"""Of each regret curve."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One learner at one price with one seed."""

    learner: str
    cost: float
    seed: int
    steps: int
    options: dict[str, Any] = {}
    population: str = "breast-cancer"

    @property
    def key(self) -> str:
        """The fields that identify the job."""
        return json.dumps(msgspec.to_builtins(self), sort_keys=True)


def run_job(job: Job) -> Cell:
    """Simulates one cell. The cases depend on the seed alone, not on the learner."""
    if job.population not in MODELS:
        known = ", ".join(MODELS)
        raise OptionError(f"unknown population {job.population!r}, expected one of: {known}")
    model = MODELS[job.population](job.cost)
    environment: Environment = Population(model)
    began = time.perf_counter()
    learner = make(job.learner, model.problem, job.options, rng=job.seed)
    run = simulate(learner, environment, steps=job.steps, rng=job.seed)
    seconds = time.perf_counter() - began
    best = getattr(oracle, learner.policy.acquisition)(model).value
    late = slice(job.steps - max(1, job.steps // 10), None)
    return Cell(
        learner=job.learner,
        cost=job.cost,
        seed=job.seed,
        steps=job.steps,
        gain=float(run.gain.mean()),
        late_gain=float(run.gain[late].mean()),
        rounds=int(run.round[-1]),
        seconds=seconds,
        bought=run.bought(late),
        curve=_curve(run, best),
        tree=learner.recommend().tree().outline(),
    )


def run_sweep(
    jobs: Sequence[Job],
    *,
    keep: Path | None = None,
    backend: str = "threads",
    address: str | None = None,
    workers: int | None = None,
) -> list[Cell]:
    """Runs all jobs and returns their cells in order. `keep` is the file of finished cells."""
    if backend not in BACKENDS:
        raise OptionError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    done = {} if keep is None else _finished(keep)
    open_jobs = [job for job in jobs if job.key not in done]
    with ProgressBar("simulations", len(open_jobs)) as progress:
        for job, cell in _results(open_jobs, backend, address, workers):
            done[job.key] = cell
            if keep is not None:
                _append(keep, job, cell)
            progress.advance(1)
    return [done[job.key] for job in jobs]


def _curve(run: Run, best: float) -> list[tuple[int, float, int]]:
    regret = np.cumsum(best - run.gain)
    times = np.unique(np.geomspace(1, len(run), POINTS).astype(int))
    return [(int(t), float(regret[t - 1]), int(run.round[t - 1])) for t in times]


def _results(
    jobs: Sequence[Job], backend: str, address: str | None, workers: int | None
) -> Iterator[tuple[Job, Cell]]:
    import joblib

    workers = workers or os.cpu_count() or 1
    if not jobs:
        return
    # Ray's backend hands results out only when all are there: give it a few at a time.
    size = 8 * workers if backend == "ray" else len(jobs)
    with _cluster(backend, address, workers):
        parallel = joblib.Parallel(
            n_jobs=workers,
            return_as="list" if backend == "ray" else "generator_unordered",
        )
        for start in range(0, len(jobs), size):
            part = jobs[start : start + size]
            yield from parallel(joblib.delayed(_with_job)(job) for job in part)


def _with_job(job: Job) -> tuple[Job, Cell]:
    return job, run_job(job)


@contextlib.contextmanager
def _cluster(backend: str, address: str | None, workers: int) -> Iterator[None]:
    """Makes joblib use a backend; connects to `address`, or starts a cluster on this machine."""
    import joblib

    if backend in ("threads", "processes"):
        if address is not None:
            raise OptionError(f"address {address!r} needs the backend dask or ray, got {backend}")
        with joblib.parallel_config("threading" if backend == "threads" else "loky"):
            yield
    elif backend == "dask":
        distributed = need("distributed", "dask")
        # Dask serves its own state on port 8787 by default, and warns if the port is taken.
        local = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "scheduler_kwargs": {"dashboard": False},
        }
        with (
            distributed.Client(address, set_as_default=False)
            if address
            else distributed.Client(**local, set_as_default=False) as client,
            client.as_current(),
            joblib.parallel_config("dask"),
        ):
            yield
    else:
        ray = need("ray", "ray")
        register = need("ray.util.joblib", "ray").register_ray
        started = not ray.is_initialized()
        if started:
            local = {} if address else {"num_cpus": workers, "include_dashboard": False}
            ray.init(address=address, log_to_driver=False, **local)
        register()
        try:
            with joblib.parallel_config("ray"):
                yield
        finally:
            if started:
                ray.shutdown()


def _finished(keep: Path) -> dict[str, Cell]:
    """Reads the cells of an earlier run. A last line that a crash cut off is dropped."""
    done: dict[str, Cell] = {}
    if not keep.exists():
        return done
    content = keep.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        keep.write_bytes(whole)
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            job, cell = msgspec.json.decode(line, type=tuple[Job, Cell])
        except msgspec.MsgspecError as error:
            raise FileError(f"{keep}, line {number}: not a finished cell: {error}") from None
        done[job.key] = cell
    return done


def _append(keep: Path, job: Job, cell: Cell) -> None:
    with keep.open("ab") as file:
        file.write(msgspec.json.encode((job, cell)) + b"\n")


prepare(Job, Cell)
