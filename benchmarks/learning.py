"""How fast one learns what to buy: every learner on every population of the suite.

    python benchmarks/learning.py              # everything, 10 seeds: half an hour on two cores
    python benchmarks/learning.py --quick      # two seeds, 5,000 cases, the default learner
    python benchmarks/learning.py --figure docs/learning.svg --keep FILE

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
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from rich.console import Console
from rich.table import Table

import learning_many
import learning_small
from askwise import LEARNERS
from askwise.environments import Environment
from askwise.errors import TooLargeError
from askwise.simulation import simulate

MOMENTS = 1_000, 5_000, 20_000, 50_000, 100_000
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
    cases: int = MOMENTS[-1]
    suites: tuple[str, ...] = ("small", "many")


CONTESTANTS = (
    Contestant(OWN, "learner", {}),
    Contestant("Learner, simultaneous", "learner", {"plan": "simultaneous"}),
    *(
        Contestant(f"Seq-OOS, width {width:g}", "seq-oos", {"width": width}, 100_000)
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
)


class Row(NamedTuple):
    """One learner in one population with one seed."""

    suite: str
    place: str
    half: str
    contestant: str
    seed: int
    cases: int
    micros: float
    """Of computing a case, planning included."""
    result: float
    """The score; or the regret a case in per cent of β where information is worth nothing."""
    is_regret: bool


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
    best, is_regret = place.oracles[learner.way.name], place.is_worthless(learner.way.name)
    rows = []
    for n in (n for n in MOMENTS if n <= cases):
        mean = float(gain[:n].mean())
        regret = 100 * (best - mean) / problem.reward_value
        result = regret if is_regret else (mean - place.blind) / (best - place.blind)
        where = (place.suite, place.name, place.half, contestant.label)
        rows.append(Row(*where, seed, n, micros, result, is_regret))
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
            Row(*names, int(seed), int(n), float(micros), float(result), is_regret == "True")
            for *names, seed, n, micros, result, is_regret in csv.reader(file)
        ]


# --- showing -------------------------------------------------------------------------------------


def mean_and_half_width(results: Iterable[float]) -> tuple[float, float]:
    """A mean, and half of its 95 % interval (Student's t for ten seeds)."""
    numbers = np.array(list(results))
    if len(numbers) < 2:
        return float(numbers.mean()), float("nan")
    return float(numbers.mean()), float(2.26 * numbers.std(ddof=1) / np.sqrt(len(numbers)))


def by_place(rows: Iterable[Row]) -> dict[tuple[str, str, str, int], list[Row]]:
    """Rows by suite, place, contestant and moment."""
    grouped = defaultdict(list)
    for row in rows:
        grouped[row.suite, row.place, row.contestant, row.cases].append(row)
    return dict(grouped)


def summary(rows: list[Row], suite: str, half: str) -> Iterator[list[str]]:
    """For each contestant the mean score over the places of a half, at each moment."""
    for contestant in dict.fromkeys(row.contestant for row in rows if row.suite == suite):
        own = [r for r in rows if (r.suite, r.half, r.contestant) == (suite, half, contestant)]
        cells = [contestant]
        for n in MOMENTS:
            seeds = defaultdict(list)
            for row in own:
                if row.cases == n and not row.is_regret:
                    seeds[row.seed].append(row.result)
            mean, width = mean_and_half_width(map(np.mean, seeds.values())) if seeds else (0, 0)
            cells.append(f"{mean:.3f} ±{width:.3f}" if seeds else "–")
        yield [*cells, f"{np.mean([row.micros for row in own]):.1f}"]


def details(rows: list[Row], suite: str, contestant: str) -> Iterator[list[str]]:
    """For each place what a contestant reached at each moment."""
    grouped = by_place(rows)
    for place, half in dict.fromkeys((r.place, r.half) for r in rows if r.suite == suite):
        cells = [place, half]
        for n in MOMENTS:
            at = grouped.get((suite, place, contestant, n))
            cells.append(
                "{:.2f} ±{:.2f}".format(*mean_and_half_width(r.result for r in at)) if at else "–"
            )
        yield cells


def beaten(rows: list[Row], at: int = 20_000) -> Iterator[list[str]]:
    """Where a comparator is better than the default learner, beyond both intervals."""
    grouped = by_place(rows)
    for (suite, place, contestant, n), theirs in grouped.items():
        own = grouped.get((suite, place, OWN, n), [])
        if n != at or contestant.startswith(OWN) or not own:
            continue
        if own[0].is_regret != theirs[0].is_regret:
            continue  # to one who buys a set at once, information may be worth nothing
        mine, my_width = mean_and_half_width(r.result for r in own)
        other, width = mean_and_half_width(r.result for r in theirs)
        better = (mine - other) if own[0].is_regret else (other - mine)
        if better > my_width + width:
            yield [place, contestant, f"{other:.2f} ±{width:.2f}", f"{mine:.2f} ±{my_width:.2f}"]


def show(console: Console, title: str, header: list[str], lines: Iterable[list[str]]) -> None:
    """One table."""
    table = Table(title=title, title_justify="left", header_style="")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def main() -> None:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seeds and 5,000 cases")
    parser.add_argument("--only", help="contestants whose label begins so")
    parser.add_argument("--suite", choices=["small", "many"])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    seeds, most = (2, 5_000) if given.quick else (given.seeds, MOMENTS[-1])
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
    moments = [f"{n:,}" for n in MOMENTS]
    for name in dict.fromkeys(place.suite for place in suite):
        for half in dict.fromkeys(place.half for place in suite if place.suite == name):
            title = f"{name}, {half}: mean score over its populations"
            header = ["learner", *moments, "µs a case"]
            show(console, title, header, summary(rows, name, half))
        for own in (OWN, "Learner, simultaneous"):
            title = f"{name}: {own} (where information is worth nothing: regret in % of β)"
            show(console, title, ["population", "half", *moments], details(rows, name, own))
    show(
        console,
        "Better than Learner at 20,000 cases, beyond both intervals",
        ["population", "learner", "score", "Learner's"],
        beaten(rows),
    )
    if given.figure:
        from learning_figure import draw

        draw(rows, given.figure)


if __name__ == "__main__":
    main()
