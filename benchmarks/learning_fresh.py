"""How well learners do on populations that nobody has seen: drawn afresh at every run.

    python benchmarks/learning_fresh.py                       # small: 66 populations of today
    python benchmarks/learning_fresh.py --seed 20260101       # those of another day
    python benchmarks/learning_fresh.py --only Learner --each 20

A population is drawn from a family by its seed (`families_small.py`). The seed of the report is the
day, so no constant can have been chosen on what it shows. The score after n cases is

    (mean gain of the first n cases − blind) / (oracle − blind),

and what is recommended is scored likewise. Where looking pays less than 1 of 100, what
counts is what a case lost. Intervals are of 95 % over the populations.
"""

import argparse
import datetime
import os
import time
from typing import Any, NamedTuple

import joblib
import numpy as np
from rich.console import Console
from rich.table import Table

import askwise as aw
from askwise.learners import LEARNERS as LEARNER_CLASSES
from askwise.learners.learner import rounds_of
from askwise.simulation.environments import Population
from families_small import FAMILIES, REPORTED, population

MOMENTS = 1_000, 5_000, 20_000, 100_000
OWN = "Learner"
CONTESTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    OWN: ("learner", {}),
    "Learner, simultaneous": ("learner", {"acquisition": "simultaneous"}),
    "Seq-OOS, width 0.5": ("seq-oos", {"width": 0.5}),
    "PSRL": ("psrl", {}),
    "LinUCB": ("lin-ucb", {}),
    "UCB1 that buys nothing": ("no-information", {}),
}
CITED: dict[str, tuple[str, dict[str, Any]]] = {
    "cited: RLSVI": ("rlsvi", {}),
    "cited: adaptive greedy, width 0.5": ("adaptive-greedy", {"width": 0.5}),
    "cited: NCC-UCRL2, exploration 0.05": ("ncc-ucrl2", {"exploration": 0.05}),
    "cited: epoch-greedy": ("epoch-greedy", {}),
    "cited: online probing": ("online-probing", {}),
    "cited: RELEAF, tolerance 0.5": ("releaf", {"tolerance": 0.5}),
    "cited: contextual zooming, 0.05": ("contextual-zooming", {"exploration": 0.05}),
    "cited: budgeted regression": ("budgeted-regression", {}),
}
"""What the paper cites; run only when asked for: `--only cited`."""
PILOTS = {"pilot of 300, then its table": 300, "pilot of 1,000, then its table": 1_000}
POOR, GOOD = 0.95, 0.985


class Result(NamedTuple):
    """One run: scores (or losses) at the moments, and of what it recommends at the end."""

    learner: str
    family: str
    seed: int
    is_worthless: bool
    scores: list[float]
    recommended: float
    micros: float


def run(family: str, seed: int, label: str, cases: int) -> Result:
    """One learner on one population."""
    model = population(family, seed)
    blind, moments = aw.oracle.fixed(model, []).value, [n for n in MOMENTS if n <= cases]
    best, began = aw.oracle.sequential(model).value, time.process_time()
    if label in PILOTS:
        means, recommended = pilot(model, PILOTS[label], moments, np.random.default_rng(seed))
    else:
        name, options = (CONTESTANTS | CITED)[label]
        learner = LEARNER_CLASSES[name](model.problem, rng=seed, **options)
        acquisition = rounds_of(learner).strategy.acquisition.name
        best = aw.oracle.simultaneous(model).value if acquisition == "simultaneous" else best
        gain = aw.simulate(learner, Population(model), steps=cases, rng=seed).gain
        means = [float(gain[:n].mean()) for n in moments]
        recommended = learner.recommend().evaluate(model)
    micros = (time.process_time() - began) / cases * 1e6
    is_worthless = best - blind < 0.01 * model.problem.reward_value

    def scored(gain: float) -> float:
        return best - gain if is_worthless else (gain - blind) / (best - blind)

    scores = [scored(mean) for mean in means]
    return Result(label, family, seed, is_worthless, scores, scored(recommended), micros)


def pilot(
    model: aw.Model, size: int, moments: list[int], rng: np.random.Generator
) -> tuple[list[float], float]:
    """Everything is bought and any action taken in a pilot; then the best policy of its table."""
    problem, beta = model.problem, model.problem.reward_value
    drawn = Population(model).draw(rng, size)
    action = rng.integers(len(problem.actions), size=size)
    earned = drawn.rewards[np.arange(size), action]
    gain = beta * earned - sum(o.cost for o in problem.observations)
    n, total = np.zeros((2, *model.reward.shape))
    np.add.at(n, (*drawn.values.T, action), 1)
    np.add.at(total, (*drawn.values.T, action), earned)
    seen = n.sum(axis=-1) + 1e-9
    table = aw.Model(problem, seen / seen.sum(), (total + 0.5) / (n + 1))
    value = aw.oracle.sequential(table).evaluate(model)
    means = [(float(gain[: min(k, size)].sum()) + max(0, k - size) * value) / k for k in moments]
    return means, value


def first_seed(said: str) -> int:
    """The first seed of a report: that of today, or of a number."""
    today = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%d")
    return REPORTED + 1_000 * int(today if said == "today" else said)


# --- what is shown -------------------------------------------------------------------------------


def half_width(values: list[float]) -> float:
    """Of the interval of their mean, of 95 %."""
    return 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


def interval(values: list[float]) -> str:
    """The mean, and how far the true one may well be from it."""
    return f"{np.mean(values):.2f} ±{half_width(values):.2f}" if values else "–"


def by_learner(results: list[Result], moments: list[int]) -> Table:
    """The mean score of every learner, and how many recommend too little."""
    table = Table("learner", *(f"{n:,}" for n in moments), "recommended", "least", f"< {POOR}",
                  f"< {GOOD}", "µs a case", title="Where looking pays: score")  # fmt: skip
    for label in dict.fromkeys(r.learner for r in results):
        own = [r for r in results if r.learner == label]
        paying = [r for r in own if not r.is_worthless]
        found = [r.recommended for r in paying]
        at = [interval([r.scores[k] for r in paying]) for k in range(len(moments))]
        poor, good = (sum(x < limit for x in found) for limit in (POOR, GOOD))
        micros = f"{np.mean([r.micros for r in own]):.0f}"
        table.add_row(
            label, *at, interval(found), f"{min(found):.2f}",
            f"{poor} of {len(found)}", f"{good} of {len(found)}", micros,
        )  # fmt: skip
    return table


def by_family(results: list[Result], label: str, moments: list[int]) -> Table:
    """One learner on every family."""
    title = f"{label}: score, or loss a case of 100 where looking is worth nothing"
    table = Table("family", "", *(f"{n:,}" for n in moments), "recommended", title=title)
    for family in FAMILIES:
        for worthless in (False, True):
            own = [r for r in results if (r.learner, r.family, r.is_worthless) == (label, family, worthless)]  # noqa: E501  # fmt: skip
            if own:
                at = [interval([r.scores[k] for r in own]) for k in range(len(moments))]
                kind = "loss" if worthless else "score"
                table.add_row(family, kind, *at, interval([r.recommended for r in own]))
    return table


def beside(results: list[Result], moments: list[int]) -> Table:
    """How far `Learner` is ahead of each other learner on the same populations of a family."""
    title = f"{OWN} minus the other, on the same populations; * where it is behind beyond chance"
    table = Table("family", "", "beside", *(f"{n:,}" for n in moments), title=title)
    own = {(r.family, r.seed): r for r in results if r.learner == OWN}
    compared = [
        (mine, r)
        for r in results
        if not r.learner.startswith(OWN) and (mine := own.get((r.family, r.seed)))
    ]
    for key in dict.fromkeys((a.family, a.is_worthless, b.learner) for a, b in compared):
        pairs = [(a, b) for a, b in compared if (a.family, a.is_worthless, b.learner) == key]
        kind, sign = ("loss", -1.0) if key[1] else ("score", 1.0)
        ahead = [
            [sign * (a.scores[k] - b.scores[k]) for a, b in pairs] for k in range(len(moments))
        ]
        behind = [" *" if np.mean(x) + half_width(x) < 0 else "" for x in ahead]
        cells = [interval(x) + mark for x, mark in zip(ahead, behind, strict=True)]
        table.add_row(key[0], kind, key[2], *cells)
    return table


def main() -> None:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="today", help="today, or a number")
    parser.add_argument("--each", type=int, default=6, help="populations of each family")
    parser.add_argument("--only", default="", help="learners whose name begins so")
    parser.add_argument("--cases", type=int, default=MOMENTS[-1])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    first = first_seed(given.seed)
    every = (*CONTESTANTS, *PILOTS, *(CITED if given.only.startswith("cited") else ()))
    labels = [name for name in every if name.startswith(given.only)]
    jobs = [
        (family, first + number, label, given.cases)
        for label in labels
        for family in FAMILIES
        for number in range(given.each)
    ]
    parallel = joblib.Parallel(n_jobs=given.workers, return_as="generator")
    results = []
    for done, result in enumerate(parallel(joblib.delayed(run)(*job) for job in jobs), start=1):
        results.append(result)
        print(f"\r{done} of {len(jobs)} runs", end="", flush=True)
    print()
    moments, console = [n for n in MOMENTS if n <= given.cases], Console(width=140)
    console.print(by_learner(results, moments))
    for label in labels[:2]:
        console.print(by_family(results, label, moments))
    if OWN in labels and len(labels) > 1:
        console.print(beside(results, moments))


if __name__ == "__main__":
    main()
