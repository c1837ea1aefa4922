"""How fast the additive model learns with many observations.

    python benchmarks/measure_many.py [--half chosen-on] [--seeds 3] [--cases 20000] [--way both]

The score after n cases is (mean gain of the first n − nothing) / (oracle − nothing), the oracle
being the best gain when buying as the learner does. Where information is worth nothing there is no
score: the line says how much a case lost, in per cent of β, and is not part of the mean. ± is half
a 95 % interval over the seeds.
"""

import argparse
import time

import numpy as np

from askwise import Learner, simulate
from learning_many import Entry, suite

MOMENTS = 1_000, 5_000, 20_000, 100_000


def measure(entry: Entry, *, sequential: bool, seed: int, cases: int) -> tuple[list[float], float]:
    """The scores at the moments up to `cases`, or per cent of β lost, and µs a decision."""
    problem = entry.environment.problem
    plan = "sequential" if sequential else "simultaneous"
    learner = Learner(problem, plan=plan, model="additive", rng=seed)
    begin = time.perf_counter()
    gain = simulate(learner, entry.environment, steps=cases, rng=1000 + seed).gain
    took = time.perf_counter() - begin
    best, nothing = entry.best(sequential=sequential), entry.nothing
    means = np.array([gain[:n].mean() for n in MOMENTS if n <= cases])
    if is_worthless(entry):
        return (100.0 * (nothing - means) / problem.reward_value).tolist(), took / cases * 1e6
    return ((means - nothing) / (best - nothing)).tolist(), took / cases * 1e6


def is_worthless(entry: Entry) -> bool:
    """Whether information is worth nothing there."""
    return entry.sequential - entry.nothing < 1e-9


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["chosen-on", "kept-aside"])
    parser.add_argument("--way", choices=["sequential", "simultaneous", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cases", type=int, default=20_000)
    given = parser.parse_args()
    ways = ["sequential", "simultaneous"] if given.way == "both" else [given.way]
    moments = [n for n in MOMENTS if n <= given.cases]
    print(f"{'environment':28s} {'half':10s} " + " ".join(f"{n:>13,}" for n in moments) + "   µs")
    for way in ways:
        print(f"\n{way}")
        means = []
        for entry in suite():
            if given.half not in (None, entry.half):
                continue
            runs = [
                measure(entry, sequential=way == "sequential", seed=seed, cases=given.cases)
                for seed in range(given.seeds)
            ]
            scores = np.array([scores for scores, _ in runs])
            half = (
                1.96 * scores.std(axis=0, ddof=1) / np.sqrt(given.seeds)
                if given.seeds > 1
                else scores[0] * 0
            )
            mean = scores.mean(axis=0)
            if not is_worthless(entry):
                means.append(mean)
            cells = " ".join(f"{s:6.2f} ± {h:4.2f}" for s, h in zip(mean, half, strict=True))
            took = np.mean([took for _, took in runs])
            print(f"{entry.name:28s} {entry.half:10s} {cells} {took:5.0f}", flush=True)
        print(f"{'mean':39s} " + " ".join(f"{s:6.2f}       " for s in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
