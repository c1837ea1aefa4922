"""How fast one learns what to buy: every learner on every population of the suite.

    python benchmarks/learning.py              # everything, 10 seeds: half an hour on two cores
    python benchmarks/learning.py --quick      # two seeds, 5,000 cases, the default learner
    python benchmarks/learning.py --figure docs/learning.svg --keep FILE
    python benchmarks/learning.py --only Learner --suite small --cases 1000000 --seeds 3

`learning_small.py` has populations with a full table of cells, `learning_many.py` ones with 20 to
50 observations of which few matter. The score after n cases is

    (mean gain of the first n cases − blind) / (oracle − blind),

`blind` being the best gain without information and `oracle` the best gain when buying as the
learner does: 0 is what one earns blindly, 1 is knowing everything from the start. Where information
is worth less than 1 % of β the score means nothing; there the regret a case counts, in % of β.

Constants were chosen on the half "chosen-on" only. `--keep` names a file of finished runs, with
which an interrupted run goes on.
"""

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from rich.console import Console

import learning_many
import learning_small
from askwise.errors import TooLargeError
from askwise.learners import LEARNERS
from askwise.learners.learner import rounds_of
from askwise.simulation import simulate
from askwise.simulation.environments import Environment
from learning_tables import Row, beaten, details, show, summary

MOMENTS = 1_000, 5_000, 20_000, 50_000, 100_000, 1_000_000
CASES = 100_000
SEEDS = 10
FIRST_SEED = 1_000
"""Seeds that nothing was chosen with."""

WORTHLESS = 0.01
OWN = "Learner"


class Place(NamedTuple):
    """A population of the suite, and what there is to gain in it."""

    suite: str
    name: str
    half: str
    environment: Environment
    blind: float
    oracles: dict[str, float]

    def is_worthless(self, way: str) -> bool:
        """Whether information is worth (almost) nothing here to one who buys this way."""
        gap = self.oracles[way] - self.blind
        return gap < WORTHLESS * self.environment.problem.reward_value


class Contestant(NamedTuple):
    """A learner with its options, how long it runs, and on which suites."""

    label: str
    learner: str
    options: dict[str, Any]
    cases: int = CASES
    suites: tuple[str, ...] = ("small", "many")


CONTESTANTS = (
    Contestant(OWN, "learner", {}, MOMENTS[-1]),
    Contestant("Learner, simultaneous", "learner", {"acquisition": "simultaneous"}, MOMENTS[-1]),
    *(
        Contestant(f"Seq-OOS, width {width:g}", "seq-oos", {"width": width})
        for width in (0.25, 0.5, 0.71, 1.0)
    ),
    Contestant("Sim-OOS, width 0.5", "sim-oos", {"width": 0.5}),
    Contestant("PSRL", "psrl", {}, suites=("small",)),
    Contestant("adaptive greedy", "adaptive-greedy", {}, 20_000, ("small",)),
    Contestant("LinUCB", "lin-ucb", {}, 20_000, ("small",)),
    Contestant("policy UCB", "policy-ucb", {}, 20_000, ("small",)),
    Contestant("epoch greedy", "epoch-greedy", {}, 20_000, ("small",)),
    Contestant("UCB, all bought", "contextual-ucb", {"exploration": 0.2}, 20_000, ("small",)),
    Contestant("UCRL2", "ucrl2", {"exploration": 0.02}, 20_000, ("small",)),
    Contestant("nothing bought", "no-information", {}, 20_000, ("small",)),
    Contestant("fixed set, none", "fixed-set", {}, 20_000, ("small",)),
    Contestant("random choice", "random-choice", {}, 20_000, ("small",)),
)


def places() -> list[Place]:
    """The whole suite."""
    small = [
        Place("small", e.name, e.half, e.environment, e.blind, _oracles(e))
        for e in learning_small.entries()
    ]
    many = [
        Place("many", e.name, e.half, e.environment, e.nothing, _oracles(e))
        for e in learning_many.suite()
    ]
    return small + many


def _oracles(entry: Any) -> dict[str, float]:
    return {"sequential": entry.sequential, "simultaneous": entry.simultaneous}


# --- running -------------------------------------------------------------------------------------


def run(place: Place, contestant: Contestant, seed: int, cases: int) -> list[Row]:
    """The results of one run at every moment."""
    problem = place.environment.problem
    try:
        learner = LEARNERS[contestant.learner](problem, rng=seed, **contestant.options)
    except TooLargeError:
        return []  # it has nothing to say of this one
    began = time.process_time()
    gain = simulate(learner, place.environment, steps=cases, rng=seed).gain
    micros = (time.process_time() - began) / cases * 1e6
    best, is_regret = (
        place.oracles[rounds_of(learner).strategy.acquisition.name],
        place.is_worthless(rounds_of(learner).strategy.acquisition.name),
    )
    rows = []
    for n in (n for n in MOMENTS if n <= cases):
        mean = float(gain[:n].mean())
        regret = 100 * (best - mean) / problem.reward_value
        result = regret if is_regret else (mean - place.blind) / (best - place.blind)
        where = (place.suite, place.name, place.half, contestant.label)
        rows.append(Row(*where, seed, n, micros, result, is_regret, mean))
    return rows


def results(
    jobs: list[tuple[Place, Contestant, int, int]], keep: Path | None, workers: int
) -> list[Row]:
    """All rows, those of an earlier run included."""
    done = _kept(keep)
    keys = {(row.place, row.contestant, row.seed) for row in done}
    rest = [job for job in jobs if (job[0].name, job[1].label, job[2]) not in keys]
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
    for number, rows in enumerate(parallel(joblib.delayed(run)(*job) for job in rest), start=1):
        done += rows
        if keep is not None:
            with keep.open("a", newline="") as file:
                csv.writer(file).writerows(rows)
        print(f"\r{number} of {len(rest)} runs", end="", flush=True)
    print()
    wanted = {(place.name, contestant.label, seed) for place, contestant, seed, _ in jobs}
    return [row for row in done if (row.place, row.contestant, row.seed) in wanted]


def _kept(keep: Path | None) -> list[Row]:
    if keep is None or not keep.exists():
        return []
    with keep.open(newline="") as file:
        return [
            Row(
                *names,
                int(seed),
                int(n),
                *map(float, (micros, result)),
                regret == "True",
                float(gain),
            )
            for *names, seed, n, micros, result, regret, gain in csv.reader(file)
        ]


def main() -> None:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seeds and 5,000 cases")
    parser.add_argument("--only", help="contestants whose label begins so")
    parser.add_argument("--suite", choices=["small", "many"])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    seeds, most = (2, 5_000) if given.quick else (given.seeds, given.cases)
    only = given.only or (OWN if given.quick else "")
    suite = [p for p in places() if given.suite in (None, p.suite)]
    jobs = [
        (place, contestant, FIRST_SEED + seed, min(most, contestant.cases))
        for contestant in CONTESTANTS
        if contestant.label.startswith(only)
        for place in suite
        if place.suite in contestant.suites
        for seed in range(seeds)
    ]
    rows = results(jobs, given.keep, given.workers)
    console = Console(width=120)
    moments = [n for n in MOMENTS if n <= most]
    at_moments = [f"{n:,}" for n in moments]
    for name in dict.fromkeys(place.suite for place in suite):
        for half in dict.fromkeys(place.half for place in suite if place.suite == name):
            title = f"{name}, {half}: mean score over its populations"
            header = ["learner", *at_moments, "µs a case"]
            show(console, title, header, summary(rows, name, half, moments))
        for own in (OWN, "Learner, simultaneous"):
            title = f"{name}: {own} (where information is worth nothing: regret in % of β)"
            header = ["population", "half", *at_moments]
            show(console, title, header, details(rows, name, own, moments))
    show(
        console,
        "More gain than Learner in 20,000 cases, beyond both intervals (1: sequential oracle)",
        ["population", "half", "learner", "reached", "Learner's", "more a case"],
        beaten(rows, OWN, {p.name: (p.blind, p.oracles["sequential"]) for p in suite}),
    )
    if given.figure:
        from learning_figure import draw

        draw(rows, given.figure)


if __name__ == "__main__":
    main()
