"""How often `detect` forgets although nothing has changed.

    python benchmarks/drift_alarms.py          # 570 runs of 20,000 cases: ten minutes

Every small population of the learning suite, and some with many observations, for learners that buy
one after the other or a set at once, the additive model too. An alarm forgets what was known: that
costs as much as starting from scratch, so it must be rare.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import learning_many
import learning_small
from askwise.estimation.joint import count_cells
from askwise.learners import LEARNERS
from askwise.learners.learner import rounds_of
from askwise.learners.strategy import Cases
from askwise.simulation.environments import Environment

CASES = 20_000
AT_A_TIME = 125
FEW_CELLS = 48
"""More make the default learner slow."""

ALL = ("seq-oos", {"width": 0.5}), ("sim-oos", {"width": 0.5})
SMALL = ("learner", {}), ("learner", {"acquisition": "simultaneous"})


def jobs(seeds: int) -> Iterator[tuple[str, Environment, str, dict[str, Any], int]]:
    """Population, learner, options and seed of every run."""
    for entry in learning_small.entries():
        few = count_cells(entry.model.problem) <= FEW_CELLS
        for name, options in (*ALL, *(SMALL if few else ())):
            for seed in range(seeds):
                yield entry.name, entry.environment, name, options, seed
    for many in learning_many.suite()[::3]:
        for name, options in SMALL:
            for seed in range(seeds):
                yield many.name, many.environment, name, {**options, "model": "additive"}, seed


def alarms(environment: Environment, name: str, options: dict[str, Any], seed: int) -> int:
    """How often the learner forgot."""
    learner = LEARNERS[name](environment.problem, rng=seed, detect=True, **options)
    rng, count = np.random.default_rng(seed), 0
    draws = environment.draw(rng, CASES)
    for start in range(0, CASES, AT_A_TIME):
        part = slice(start, start + AT_A_TIME)
        before = rounds_of(learner).forgetting.first
        out = (np.empty(AT_A_TIME, kind) for kind in (np.int64, np.int16, np.int64))
        rounds_of(learner).run(Cases(draws.values[part], draws.rewards[part], *out))
        count += rounds_of(learner).forgetting.first != before
    return count


def main() -> None:
    """Count, and say where."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    total = runs = 0
    for place, environment, name, options, seed in jobs(given.seeds):
        count = alarms(environment, name, options, seed)
        total, runs = total + count, runs + 1
        if count:
            print(f"{place}, {name} {options}, seed {seed}: {count}")
        print(f"\r{runs} runs, {total} false alarms", end="\r", flush=True)
    print(f"{runs} runs of {CASES:,} cases: {total} false alarms")


if __name__ == "__main__":
    main()
