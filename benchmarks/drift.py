"""How fast learners recover when the world changes, and what being ready for it costs.

    python benchmarks/drift.py                 # everything, 10 seeds: a quarter of an hour
    python benchmarks/drift.py --quick         # two seeds, half of the learners
    python benchmarks/drift.py --figure docs/drift.svg --keep FILE

`drift_worlds.py` has the populations; their worlds change every 8,300 cases. The score of a stretch
of cases is

    (mean gain − blind) / (oracle − blind)

in the world of the moment: 0 is the best gain without information, 1 that of the best policy. The
gain of a case is its expectation, given what the learner saw and did. A learner has recovered when
the score of the last 500 cases is at 90 % of what it was in the 2,000 cases before the first
change; recovery is how many cases that takes. One that is told when the world changes, and starts
from scratch, is the limit.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import t

from askwise.learners import LEARNERS, BaseLearner
from askwise.simulation import simulate
from askwise.simulation.environments import Population, stream
from drift_worlds import REWARD_VALUE, STRETCH, Desk, Drift, drifts

SEEDS = 10
FIRST_SEED = 1_000
"""Seeds that nothing was chosen with."""
PIECE = 100
"""Cases whose mean is kept."""
RECENT = 500
LEVEL = 2_000
RECOVERED = 0.9
FOUND_OUT = 3.0
"""What every sign is taken to cost where prices are not known."""


class Contestant(NamedTuple):
    """A learner with its options."""

    label: str
    learner: str
    options: dict[str, Any]
    restarts: bool = False
    """Whether it is told when the world changes, and starts from scratch."""
    is_quick: bool = False


WIDTH = {"width": 0.5}
NARROW = {"exploration": 0.05}
"""Radii of NCC-UCRL2 that it can learn with in so few cases; with its authors' own it does not."""
WINDOWS = 2_000, 4_000, 8_000
NCC = "NCC-UCRL2"
CONTESTANTS = (
    Contestant("Learner", "learner", {}, is_quick=True),
    Contestant("Learner, detect", "learner", {"detect": True}, is_quick=True),
    Contestant("Learner, window 4,000", "learner", {"window": 4_000}, is_quick=True),
    Contestant("Learner, window 8,000, detect", "learner", {"window": 8_000, "detect": True}),
    Contestant("Learner, restarted", "learner", {}, restarts=True, is_quick=True),
    Contestant("Seq-OOS", "seq-oos", WIDTH),
    Contestant("Seq-OOS, detect", "seq-oos", WIDTH | {"detect": True}),
    Contestant("Seq-OOS, window 4,000", "seq-oos", WIDTH | {"window": 4_000}),
    Contestant("Seq-OOS, restarted", "seq-oos", WIDTH, restarts=True),
    *(Contestant(f"{NCC}, window {w:,}", "ncc-ucrl2", NARROW | {"window": w}) for w in WINDOWS),
)


class Key(NamedTuple):
    """One run."""

    drift: str
    contestant: str
    seed: int


Scores = dict[Key, np.ndarray]
"""Of each run the score of every piece."""

# --- running -------------------------------------------------------------------------------------


def run(drift: Drift, contestant: Contestant, seed: int) -> np.ndarray:
    """The score of each piece."""
    learner, scores = None, []
    for number, (desk, cases) in enumerate(drift.worlds):
        if learner is None or (contestant.restarts and desk is not drift.worlds[number - 1][0]):
            problem = desk.model.problem
            if not drift.prices_are_told:
                problem = problem.priced({o.name: FOUND_OUT for o in problem.observations})
            learner = LEARNERS[contestant.learner](problem, rng=seed, **contestant.options)
        elif drift.prices_are_told:
            learner.reprice({o.name: o.cost for o in desk.model.problem.observations})
        play = told if drift.prices_are_told else found_out
        state, action = play(learner, desk, cases, np.random.default_rng([seed, number]))
        lattice = learner.statistics.lattice.priced(
            {o.name: o.cost for o in desk.model.problem.observations}
        )
        reward = desk.model.marginals(lattice)[1][state, action]
        gain = REWARD_VALUE * reward - lattice.costs_of(state)
        score = (gain - desk.blind) / (desk.best - desk.blind)
        scores.append(score.reshape(-1, PIECE).mean(axis=1))
    return np.concatenate(scores)


def told(learner: BaseLearner, desk: Desk, cases: int, rng: np.random.Generator) -> tuple:
    """States and actions of cases whose prices are known, in one compiled run."""
    done = simulate(learner, Population(desk.model), steps=cases, rng=rng)
    return done.state, done.action


def found_out(learner: BaseLearner, desk: Desk, cases: int, rng: np.random.Generator) -> tuple:
    """States and actions of cases whose prices show only when they are paid, one by one."""
    prices = {o.name: o.cost for o in desk.model.problem.observations}
    seen, done = [], []
    for draws in stream(Population(desk.model), rng, cases):
        for full, rewards in zip(draws.values.tolist(), draws.rewards, strict=True):
            values, case = dict(zip(prices, full, strict=True)), learner.open()
            while case.wanted:
                bought = {name: values[name] for name in case.wanted}
                case.observe(bought, paid={name: prices[name] for name in bought})
            case.reward(float(rewards[case.action_index]))
            seen.append(case.state_index)
            done.append(case.action_index)
    return np.array(seen), np.array(done)


def results(jobs: list[tuple[Drift, Contestant, int]], keep: Path | None) -> Scores:
    """The scores of all runs, those of an earlier call included."""
    scores: Scores = {}
    if keep is not None and keep.exists():
        with keep.open(newline="") as file:
            for drift, contestant, seed, *rest in csv.reader(file):
                scores[Key(drift, contestant, int(seed))] = np.array(rest, np.float64)
    for number, (drift, contestant, seed) in enumerate(jobs, start=1):
        key = Key(drift.name, contestant.label, seed)
        if key not in scores:
            scores[key] = run(drift, contestant, seed)
            if keep is not None:
                with keep.open("a", newline="") as file:
                    csv.writer(file).writerow([*key, *(f"{x:.4f}" for x in scores[key])])
        print(f"\r{number} of {len(jobs)} runs", end="", flush=True)
    print()
    return {key: scores[key] for key in (Key(d.name, c.label, s) for d, c, s in jobs)}


# --- what came of it -----------------------------------------------------------------------------


def recent(scores: np.ndarray) -> np.ndarray:
    """The mean score of the last `RECENT` cases, at the end of each piece."""
    pieces = RECENT // PIECE
    total = np.concatenate([np.zeros(pieces), np.cumsum(scores)])
    count = np.minimum(np.arange(1, len(scores) + 1), pieces)
    return (total[pieces:] - total[:-pieces]) / count


def recoveries(drift: Drift, scores: np.ndarray) -> Iterator[float]:
    """After each change the cases until the score is back; infinite if that was never."""
    first = drift.worlds[0][1] // PIECE
    level = scores[first - LEVEL // PIECE : first].mean()
    for at in drift.changes:
        after = scores[at // PIECE : (at + STRETCH) // PIECE]
        back = np.flatnonzero(recent(after)[RECENT // PIECE - 1 :] >= RECOVERED * level)
        yield RECENT + PIECE * float(back[0]) if len(back) else np.inf


def best_windows(scores: Scores, names: Iterable[str]) -> dict[str, str]:
    """For each population the window of NCC-UCRL2 with the best mean score in it."""
    means = defaultdict(list)
    for key, score in scores.items():
        if key.contestant.startswith(NCC):
            means[key.drift, key.contestant].append(score.mean())
    return {
        name: max((np.mean(v), who) for (d, who), v in means.items() if d == name)[1]
        for name in names
        if any(d == name for d, _ in means)
    }


def at_its_best(scores: Scores) -> Scores:
    """The same runs, of NCC-UCRL2 only those with the best window for the population."""
    best = best_windows(scores, {key.drift for key in scores})
    return {
        key._replace(contestant=f"{NCC}, its best window") if who.startswith(NCC) else key: score
        for key, score in scores.items()
        if not (who := key.contestant).startswith(NCC) or best[key.drift] == who
    }


def spread(cases: list[float]) -> str:
    """The median and the middle 90 %; – is never within the time there was."""
    low, middle, high = np.quantile(cases, [0.05, 0.5, 0.95], method="closest_observation")
    plain = [f"{x:,.0f}" if np.isfinite(x) else "–" for x in (middle, low, high)]
    return "{} [{}, {}]".format(*plain)


def mean_and_half_width(numbers: Iterable[float]) -> tuple[float, float]:
    """A mean, and half of its 95 % interval by Student's t."""
    many = np.array(list(numbers))
    if len(many) < 2:
        return float(many.mean()), np.nan
    width = t.ppf(0.975, len(many) - 1) * many.std(ddof=1) / np.sqrt(len(many))
    return float(many.mean()), float(width)


def recovery_table(scores: Scores, suite: list[Drift]) -> Iterator[list[str]]:
    """A line for each learner: how fast it recovers in each population, and its mean score."""
    changing = [drift for drift in suite if len({id(desk) for desk, _ in drift.worlds}) > 1]
    for who in dict.fromkeys(key.contestant for key in scores):
        line, all_of_them, means = [who], [], defaultdict(list)
        for drift in changing:
            own = [s for k, s in scores.items() if k[:2] == (drift.name, who)]
            cases = [x for score in own for x in recoveries(drift, score)]
            line.append(spread(cases) if cases else "")
            all_of_them += cases
        for key, score in scores.items():
            if key.contestant == who and any(key.drift == d.name for d in changing):
                means[key.seed].append(score[STRETCH // PIECE :].mean())
        mean, width = mean_and_half_width(map(np.mean, means.values()))
        yield [*line, spread(all_of_them), f"{mean:.2f} ±{width:.2f}"]


def readiness_table(scores: Scores, suite: list[Drift]) -> Iterator[list[str]]:
    """Where nothing changes: the score, and what is lost a case against the same one without."""
    still = [drift for drift in suite if len({id(desk) for desk, _ in drift.worlds}) == 1]
    for who in dict.fromkeys(key.contestant for key in scores):
        line = [who]
        for drift in still:
            desk = drift.worlds[0][0]
            plain = "Learner" if who.startswith("Learner") else "Seq-OOS"
            lost = [
                (scores[key._replace(contestant=plain)].mean() - score.mean())
                * (desk.best - desk.blind)
                for key, score in scores.items()
                if key[:2] == (drift.name, who) and key._replace(contestant=plain) in scores
            ]
            own = [s.mean() for k, s in scores.items() if k[:2] == (drift.name, who)]
            line.append("{:.2f} ±{:.2f}".format(*mean_and_half_width(own)))
            line.append("{:.2f} ±{:.2f}".format(*mean_and_half_width(lost)) if lost else "")
        yield line


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
    parser.add_argument("--quick", action="store_true", help="two seeds, fewer learners")
    parser.add_argument("--half", choices=["chosen-on", "kept-aside"])
    parser.add_argument("--only", default="", help="contestants whose label begins so")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    suite = [drift for drift in drifts() if given.half in (None, drift.half)]
    jobs = [
        (drift, contestant, given.first_seed + seed)
        for seed in range(2 if given.quick else given.seeds)
        for contestant in CONTESTANTS
        if contestant.label.startswith(given.only) and (contestant.is_quick or not given.quick)
        for drift in suite
    ]
    scores = at_its_best(results(jobs, given.keep))
    changing = [drift.name for drift in suite if len({id(d) for d, _ in drift.worlds}) > 1]
    still = [drift.name for drift in suite if drift.name not in changing]
    console = Console(width=200)
    title = "Cases until 90 % of the old score: median [90 % of the runs]"
    header = ["learner", *changing, "all", "mean score after the first change"]
    show(console, title, header, recovery_table(scores, suite))
    title = "The price of being ready: score, and gain lost a case against the same without"
    header = ["learner", *(text for name in still for text in (name, "lost"))]
    show(console, title, header, readiness_table(scores, suite))
    if given.figure:
        from drift_figure import draw

        draw(scores, suite, given.figure)


if __name__ == "__main__":
    main()
