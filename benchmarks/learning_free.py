"""How good a policy can be after n cases if exploring cost nothing: what the estimates allow.

    python benchmarks/learning_free.py                # populations of today
    python benchmarks/learning_free.py --each 6 --seed 7

Each of n cases buys random observations and takes a random action, free of charge. The default
learner's model then estimates the population, and the best policy by its estimates is scored as in
`learning_fresh.py`: 0 is the best gain without information, 1 is that of the best policy. "So far"
is the mean score of the first n cases if each of them followed the policy of all cases before it:
a learner that must pay for what it tries cannot expect more from these estimates.
"""

import argparse
import os

import joblib
import numpy as np
from rich.console import Console
from rich.table import Table

import askwise as aw
from askwise._kernels.radii import Radii
from askwise.counting import Statistics
from askwise.estimation.estimates import Estimates
from askwise.estimation.joint import JointModel
from askwise.learners.learner import lattice_of
from askwise.policy import PathTable
from askwise.policy.acquisition import Sequential
from askwise.policy.exploration import PathExploration
from askwise.simulation.environments import Population
from families_small import FAMILIES, WORTHLESS, population
from learning_fresh import first_seed, interval

MOMENTS = 100, 300, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000
WAYS = {"the mean": 0.0, "less half a deviation": 0.5, "less one deviation": 1.0}
CASES = 25
"""So many cases take the same random actions in the same states."""


def count_random_cases(
    model: aw.Model, statistics: Statistics, cases: int, rng: np.random.Generator
) -> None:
    """Count cases that look at random as long as they may, and act at random."""
    lattice, actions = statistics.lattice, len(model.problem.actions)
    nothing = np.full(lattice.size, -1, np.int16)
    table = PathTable(lattice, nothing, np.zeros(lattice.size, np.int16), np.zeros(lattice.size))
    looks = np.ones(lattice.size)
    looks[lattice.layout.offsets[lattice.layout.levels[lattice.m]] :] = 0.0
    drawn = Population(model).draw(rng, cases)
    tags = rng.integers(1 << 62, size=cases)
    for start in range(0, cases, CASES):
        part = slice(start, start + CASES)
        action = rng.integers(actions, size=lattice.size).astype(np.int16)
        anything = np.full(lattice.size, -1, np.int64)
        exploration = PathExploration(anything, looks, action, np.ones(lattice.size))
        exploration.run(table, statistics, tags[part], drawn.values[part], drawn.rewards[part])
    statistics.cases += cases


def scores(family: str, seed: int) -> list[list[float]]:
    """The score of the best policy after each number of cases, by each way to estimate."""
    model = population(family, seed)
    best, blind = aw.oracle.sequential(model).value, aw.oracle.fixed(model, []).value
    lattice, rng = lattice_of(model.problem), np.random.default_rng(seed)
    statistics, found = Statistics(lattice), []
    for cases in MOMENTS:
        count_random_cases(model, statistics, cases - statistics.cases, rng)
        believed = JointModel(lattice)
        believed.update(statistics, 100)
        mean, deviation = believed.mean_rewards(), np.sqrt(believed.variances())
        gains = [gain(model, believed, mean - part * deviation) for part in WAYS.values()]
        found.append([(g - blind) / (best - blind) for g in gains])
    return found


def gain(model: aw.Model, believed: JointModel, reward: np.ndarray) -> float:
    """What the best policy by these rewards gains in truth."""
    weight = believed.weight("sequential")
    choice = reward.argmax(axis=1).astype(np.int16)
    estimates = Estimates(reward.max(axis=1), choice, weight, Radii())
    return Sequential().best(believed.lattice, estimates).evaluate(model)


def so_far(score: np.ndarray) -> np.ndarray:
    """The mean score of the first n cases; before the first moment it is reckoned as 0."""
    lengths = np.diff([0, *MOMENTS])
    during = np.concatenate([np.zeros_like(score[:1]), (score[:-1] + score[1:]) / 2])
    weights = lengths.reshape(-1, *[1] * (score.ndim - 1))
    return np.cumsum(weights * during, axis=0) / np.cumsum(weights, axis=0)


def main() -> None:
    """Draw populations, and print what their estimates allow."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="today", help="today, or a number")
    parser.add_argument("--each", type=int, default=3, help="populations of each family")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    first = first_seed(given.seed)
    jobs = [(f, first + k) for f in FAMILIES if f not in WORTHLESS for k in range(given.each)]
    parallel = joblib.Parallel(n_jobs=given.workers)
    found = np.array(parallel(joblib.delayed(scores)(*job) for job in jobs))
    table = Table("best policy by", "", *(f"{n:,}" for n in MOMENTS))
    for k, way in enumerate(WAYS):
        after, mean = found[:, :, k], np.array([so_far(one[:, k]) for one in found])
        table.add_row(way, "after n cases", *(interval(list(column)) for column in after.T))
        table.add_row("", "so far", *(interval(list(column)) for column in mean.T))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
