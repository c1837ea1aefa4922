"""How much memory the default learner needs for many observations, apart from the compiler's.

    python benchmarks/learning_memory.py

For each population a short run first, so that all is compiled and loaded. Then 100,000 cases with
another learner: how far the memory of the process rose above where it stood. Linux only.
"""

import gc
from pathlib import Path

import numpy as np

import learning_many
from askwise import Learner
from askwise.simulation import simulate

WARM_UP, CASES, AT_ONCE = 3_000, 100_000, 5_000


def megabytes(field: str) -> float:
    """VmRSS, what the process holds now, or VmHWM, the most that it ever held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> None:
    """One line for each population."""
    for entry in learning_many.suite():
        problem = entry.environment.problem
        simulate(Learner(problem, rng=1), entry.environment, steps=WARM_UP, rng=1)
        gc.collect()
        before = megabytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
        learner, rng = Learner(problem, rng=0), np.random.default_rng(0)
        for _ in range(CASES // AT_ONCE):  # the cases themselves are not the learner's
            simulate(learner, entry.environment, steps=AT_ONCE, rng=rng)
        print(f"{entry.name:28} {megabytes('VmHWM') - before:4.0f} MB at most")


if __name__ == "__main__":
    main()
