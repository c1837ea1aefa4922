"""What two versions of askwise take for the same work, by turns in one run.

    git worktree add /tmp/before 024ddae
    python benchmarks/turns.py --before /tmp/before/src --turns 6

Each version has a process of its own, which does the work in front of it when its turn comes and
says how much processor time that took. The order changes from turn to turn, so that neither version
always goes first. Everything is done once before anything is measured: what is compiled is then
compiled. Shown are the best and the median of the turns, and new divided by old.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
STEPS = {"Seq-OOS": 40_000, "Sim-OOS": 40_000, "default learner": 1_500}

SHORT, MOST_SHORT = 8, 0.2
"""Work of fewer seconds has so many times more turns."""

WORKER = """
import sys, time
import numpy as np
import askwise as aw
from askwise.simulation.environments import Population, breast_cancer

MODEL = breast_cancer(cost=5.0)
PEOPLE = Population(MODEL)
KINDS = {"Seq-OOS": aw.SeqOOS, "Sim-OOS": aw.SimOOS, "default learner": aw.Learner}
taught = aw.Learner(MODEL.problem, rng=0)
aw.simulate(taught, PEOPLE, steps=2_000, rng=0)
draws = PEOPLE.draw(np.random.default_rng(1), 400)
names = [o.name for o in MODEL.problem.observations]
rows = [
    {o.name: o.values[x] for o, x in zip(MODEL.problem.observations, row)}
    for row in draws.values.tolist()
]

def case_by_case():
    learner = aw.Learner(MODEL.problem, rng=0)
    for row, earned in zip(rows, draws.rewards.tolist()):
        case = learner.open()
        while case.wanted:
            case.observe({name: row[name] for name in case.wanted})
        case.reward(earned[case.action_index])

def simulated(kind, steps):
    aw.simulate(KINDS[kind](MODEL.problem, rng=0), PEOPLE, steps=steps, rng=0)

def replan():
    for _ in range(20):
        taught.replan()

def recommend():
    for _ in range(20):
        taught.recommend()

for line in sys.stdin:
    name, _, steps = line.strip().partition(":")
    work = {"case by case": case_by_case, "replan": replan, "recommend": recommend}.get(name)
    began = time.process_time()
    work() if work else simulated(name, int(steps))
    print(time.process_time() - began, flush=True)
"""


class Version:
    """A process that runs one version."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def seconds(self, work: str) -> float:
        """The processor time of some work."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{work}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="the src folder of the other")
    parser.add_argument("--now", type=Path, default=HERE, help="the src folder of this one")
    parser.add_argument("--turns", type=int, default=6, help="of long work; short work has more")
    parser.add_argument("--only", default="", help="work whose name begins so")
    given = parser.parse_args()
    versions = {"before": Version(given.before), "now": Version(given.now)}
    works = {f"{kind}, {steps:,} cases": f"{kind}:{steps}" for kind, steps in STEPS.items()}
    works |= {name: name for name in ("case by case", "replan", "recommend")}
    works = {label: work for label, work in works.items() if label.startswith(given.only)}
    for version in versions.values():
        for work in works.values():
            version.seconds(work)
    turns = {
        label: given.turns * (SHORT if versions["now"].seconds(work) < MOST_SHORT else 1)
        for label, work in works.items()
    }
    print(f"{'':<30} {'best, ms':>18} {'median, ms':>20}  new / old: best, median")
    for label, work in works.items():
        took: dict[str, list[float]] = {name: [] for name in versions}
        for turn in range(turns[label]):
            for name in sorted(versions, reverse=turn % 2 == 1):
                took[name].append(1e3 * versions[name].seconds(work))
        best = {name: min(times) for name, times in took.items()}
        middle = {name: statistics.median(times) for name, times in took.items()}
        print(
            f"{label:<30} {best['before']:8.1f} → {best['now']:7.1f} "
            f"{middle['before']:10.1f} → {middle['now']:7.1f}  "
            f"{best['now'] / best['before']:.2f}, {middle['now'] / middle['before']:.2f}",
            flush=True,
        )
    for version in versions.values():
        version.close()


if __name__ == "__main__":
    main()
