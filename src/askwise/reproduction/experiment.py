"""The paper's experiment: gain against cost on the breast-cancer population.

It has 4 observations, m = 3, β = 100 and 200,000 cases. All learners use radii of the same width,
so that they differ only in what they buy. These are practical radii, which the theorems do not
cover. So for the figures of regret, Sim-OOS and Seq-OOS also run with the theorems' radii, at the
lowest, the middle and the highest price.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from askwise.policy import Policy, oracle
from askwise.reproduction.summary import three_of
from askwise.simulation.environments import breast_cancer
from askwise.simulation.experiments.results import Oracle, Reproduction, RunInfo
from askwise.simulation.experiments.sweep import Job, run_sweep

COSTS = (1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0)
"""Above 24 nothing is worth buying, and only the cost of learning that would be compared."""
SEEDS = 5
STEPS = 200_000

LEARNERS: dict[str, dict[str, float]] = {
    "sim-oos": {},
    "seq-oos": {},
    # UCB1's radius is √(2 log n / N); the practical one of the other two is ¼ √(log t / N).
    "contextual-ucb": {"exploration": 0.25 / math.sqrt(2)},
}

WITH_THEOREM = ("sim-oos", "seq-oos")
"""The learners that the theorems are about."""


def reproduce(
    *,
    costs: Sequence[float] = COSTS,
    seeds: int = SEEDS,
    steps: int = STEPS,
    keep: Path | None = None,
    backend: str = "threads",
    address: str | None = None,
    workers: int | None = None,
) -> Reproduction:
    """Run, or finish, the whole experiment."""
    began = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    jobs = [
        Job(learner=learner, cost=cost, seed=seed, steps=steps, options=dict(options))
        for cost in costs
        for seed in range(seeds)
        for learner, options in LEARNERS.items()
    ]
    theorem_jobs = [
        Job(learner=learner, cost=cost, seed=seed, steps=steps, options={"confidence": "theorem"})
        for cost in three_of(sorted(costs))
        for seed in range(seeds)
        for learner in WITH_THEOREM
    ]
    every = [*jobs, *theorem_jobs]
    cells = run_sweep(every, keep=keep, backend=backend, address=address, workers=workers)
    oracles = [best_at(cost) for cost in costs]
    problem = breast_cancer().problem
    return Reproduction(
        info=RunInfo(
            command=" ".join(["askwise", *sys.argv[1:]]),
            started=started,
            seconds=time.perf_counter() - began,
            versions={
                "python": platform.python_version(),
                **{name: version(name) for name in ("askwise", "numpy", "numba")},
            },
            machine=f"{platform.system()} {platform.machine()}",
            steps=steps,
            seeds=list(range(seeds)),
            costs=list(costs),
            learners=list(LEARNERS),
            reward_value=problem.reward_value,
            max_observations=problem.m,
            observations=[o.name for o in problem.observations],
            assumptions=assumptions(),
        ),
        oracles=oracles,
        cells=cells[: len(jobs)],
        theorem_cells=cells[len(jobs) :],
    )


def best_at(cost: float) -> Oracle:
    """The gains of both oracles at a price, and what they buy."""
    model = breast_cancer(cost)
    together, one_by_one = oracle.simultaneous(model), oracle.sequential(model)
    return Oracle(
        cost=cost,
        nothing=oracle.fixed(model, []).value,
        simultaneous=together.value,
        sequential=one_by_one.value,
        bought_simultaneous=_bought(together, cost),
        bought_sequential=_bought(one_by_one, cost),
        tree_simultaneous=together.tree().outline(),
        tree_sequential=one_by_one.tree().outline(),
    )


def assumptions() -> list[tuple[str, str, str]]:
    """The table in the docstring of the population, row by row."""
    lines = [line.strip() for line in (breast_cancer.__doc__ or "").splitlines()]
    rows = [line for line in lines if line.startswith("|")][2:]
    cells = [[" ".join(cell.split()) for cell in row.strip("|").split("|")] for row in rows]
    return [(what, assumed, why) for what, assumed, why in cells]


def _bought(policy: Policy, cost: float) -> dict[str, float]:
    """The share of cases in which the policy buys each observation, exactly."""
    problem = policy.problem
    probability, _ = breast_cancer(cost).marginals(policy.lattice)
    share = dict.fromkeys((o.name for o in problem.observations), 0.0)
    open_states = [0]
    while open_states:
        state = open_states.pop()
        reached = [state]
        for i in policy.looks(state):
            share[problem.observations[i].name] += float(probability[state])
            reached = [child for s in reached for child in policy.lattice.children(s, i)]
        if reached != [state]:
            open_states.extend(reached)
    return share
