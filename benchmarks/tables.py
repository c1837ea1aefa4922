"""From tables: `CostAwareClassifier` beside optimal trees, neural acquisition and boosting.

    python benchmarks/tables.py streed --data DIR --results FILE   # of benchmarks/tables_streed.py
    python benchmarks/tables.py spam --data DIR [--figure docs/tables.svg]
    python benchmarks/tables.py cube

What is in DIR, and where it is found, says `benchmarks/tables_data.py`. On STreeD's sets an
attribute is one observation with as many values as its bits have combinations. Discounts are
planned with as panels, which is not quite what they are; what is bought is paid at the true prices,
in the order in which it is bought. Their columns are bits, so the plan alone decides
(`further_looks=0`). docs/classifier.md says which tables chose what.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import t as student
from sklearn.ensemble import HistGradientBoostingClassifier

import askwise as aw
from askwise.sklearn import CostAwareClassifier
from tables_data import (
    LEVELS,
    SETS,
    Costs,
    costs_of,
    cube,
    cube_nm,
    in_one_number,
    spam,
    split_of,
    tasks,
    unpacked,
)
from tables_streed import read_results, settings

PUBLISHED = {
    "spam": [(3, 0.858), (4, 0.905), (10, 0.922)],  # greedy dynamic selection, Covert et al. 2023
    "cube": [(2.99, 0.49), (4.87, 0.63), (6.39, 0.79), (7.51, 0.86)],  # FCwSFS
}
NOTHING = 1e-9
"""Differences of mean costs that are none: they are sums in different orders."""


# --- STreeD's sets -------------------------------------------------------------------------------


def panels_of(costs: Costs) -> tuple[list[float], list[aw.Panel]]:
    """Prices and panels that say nearly what the groups' discounts say.

    A member that is dearer when it comes first saves s. It never pays more than its group's
    cheapest other member to open the group, so the fee is the median of the lower of the two.
    """
    prices, panels = [a.cost for a in costs.attributes], []
    for group in sorted({a.group for a in costs.attributes} - {"x"}):
        together = [k for k, a in enumerate(costs.attributes) if a.group == group]
        opened = {}
        for k in together:
            a = costs.attributes[k]
            others = [costs.attributes[j].cost for j in together if j != k]
            if a.cost > a.discount and others:
                opened[k] = min(a.cost - a.discount, *others)
        if opened:
            fee = float(np.median(list(opened.values())))
            panels.append(aw.Panel(observations=[f"x{k}" for k in opened], fee=fee))
            for k in opened:
                prices[k] = costs.attributes[k].discount
    return prices, panels


def fit_ours(root: Path, task: tuple[str, str, int], options: dict[str, Any]) -> dict[str, Any]:
    name, level, number = task
    costs, split = costs_of(root, name, level), split_of(root, name, number)
    x, x_test = (in_one_number(part, costs) for part in (split.x, split.x_test))
    prices, panels = panels_of(costs)
    found = np.unique(split.y)
    began = time.perf_counter()
    classifier = CostAwareClassifier(
        costs=prices,
        panels=panels,
        misclassification_costs=costs.matrix[np.ix_(found, found)],
        categorical_features=list(range(x.shape[1])),
        **options,
    ).fit(x, split.y)
    seconds = time.perf_counter() - began

    def cost(rows: np.ndarray, labels: np.ndarray) -> float:
        wrong = costs.matrix[labels, classifier.predict(rows)]
        spent = [costs.spent([int(i[1:]) for i in bought]) for bought in classifier.looks(rows)]
        return float((wrong + np.array(spent)).mean() / costs.unit(split.y_test))

    row = {"set": name, "level": level, "split": number, "seconds": seconds}
    return row | {"test": cost(x_test, split.y_test), "train": cost(x, split.y)}


def streed(options: argparse.Namespace) -> None:
    root = unpacked(options.data)
    first, last = options.splits
    ours = options.ours or Path("/tmp/askwise-tables-ours.jsonl")
    done = {}
    if ours.exists():
        rows = [json.loads(line) for line in ours.read_text(encoding="utf-8").splitlines()]
        done = {(r["set"], r["level"], r["split"]): r for r in rows}
    for task in tasks(options.sets, list(LEVELS), list(range(first, last + 1))):
        if task not in done:
            done[task] = fit_ours(root, task, {"max_observations": options.m, "further_looks": 0})
            with ours.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[task]) + "\n")
    report(options.sets, range(first, last + 1), done, read_results(options.results))


def report(sets: Sequence[str], splits: Sequence[int], ours: Any, peers: Any) -> None:
    """Against every setting of STreeD, and against the best for each set and level."""
    ratios: dict[str, list[float]] = {}
    wins, losses = [], []
    print("| set, level | askwise | STreeD, best | which | difference | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in sets:
        for level in LEVELS:
            mine = {s: ours[name, level, s] for s in splits if (name, level, s) in ours}
            found = {}
            for depth, tuned in settings([3, 4, 5]):
                keys = {s: (name, level, s, depth, tuned) for s in mine}
                if mine and all(key in peers for key in keys.values()):
                    theirs = np.array([peers[keys[s]]["test"] for s in mine])
                    found[f"{depth}, tuned" if tuned else f"{depth}"] = theirs
            if not found:
                continue
            own = np.array([row["test"] for row in mine.values()])
            for which, theirs in found.items():
                ratios.setdefault(which, []).append(np.log(own.mean() / theirs.mean()))
            which = min(found, key=lambda key: found[key].mean())
            ratios.setdefault("best", []).append(np.log(own.mean() / found[which].mean()))
            off = own - found[which]
            half = student.ppf(0.975, len(off) - 1) * off.std(ddof=1) / len(off) ** 0.5
            if off.mean() + half < -NOTHING:
                wins.append(f"{name} {level}")
            if off.mean() - half > NOTHING:
                losses.append(f"{name} {level}")
            seconds = np.mean([row["seconds"] for row in mine.values()])
            cells = f"{100 * own.mean():.2f} | {100 * found[which].mean():.2f} | {which}"
            difference = f"{100 * off.mean():+.2f} ± {100 * half:.2f}"
            print(f"| {name}, {level} | {cells} | {difference} | {seconds:.2f} |")
    print(f"\nsignificant wins {len(wins)}: {', '.join(wins)}")
    print(f"significant losses {len(losses)}: {', '.join(losses)}")
    for which, logs in ratios.items():
        lower = f"{100 * np.expm1(np.mean(logs)):+.2f} %"
        print(f"against {which}: {lower} over {len(logs)} sets and levels")


# --- accuracy against spend ----------------------------------------------------------------------


def boosted(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray) -> float:
    model = HistGradientBoostingClassifier(random_state=0).fit(x, y)
    return float(model.score(x_test, y_test))


def curve(name: str, parts: Sequence[np.ndarray], values: Sequence[float], **options: Any) -> Any:
    """Accuracy and looks at several reward values, beside boosting with everything."""
    x, y, x_test, y_test = parts
    began = time.perf_counter()
    classifier = CostAwareClassifier(reward_value=values[0], **options).fit(x, y)
    seconds = time.perf_counter() - began
    rows = classifier.accuracy_against_spend(x_test, y_test, reward_values=values)
    everything = boosted(*parts)
    print(f"\n{name}: {len(x)} rows × {x.shape[1]}, fitted in {seconds:.0f} s; ", end="")
    print(f"boosting with everything {everything:.3f} at {x.shape[1]}")
    print("| reward value | right | looks |\n| --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['reward_value']:g} | {row['accuracy']:.3f} | {row['spend']:.2f} |", flush=True
        )
    return rows, everything


def spam_table(options: argparse.Namespace) -> None:
    rows, everything = curve("spam", spam(options.data), options.values or [30, 100, 300, 1000])
    if options.figure:
        from tables_figure import draw

        draw({"spam": (rows, everything, 57)}, PUBLISHED, options.figure)


def cubes(options: argparse.Namespace) -> None:
    for name, make in (("cube", cube), ("CUBE-NM", cube_nm)):
        rng = np.random.default_rng(options.seed)
        parts = (*make(rng, options.rows), *make(rng, 4_000))
        curve(name, parts, options.values or [10, 20, 40, 100])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["streed", "spam", "cube"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, help="STreeD's, by benchmarks/tables_streed.py")
    parser.add_argument("--ours", type=Path, help="where our results on its sets are kept")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs=2, type=int, default=[1, 20])
    parser.add_argument("--m", type=int, default=4, help="max_observations on STreeD's sets")
    parser.add_argument("--rows", type=int, default=5_000, help="of cubes to fit on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--values", nargs="+", type=float, help="reward values")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    {"streed": streed, "spam": spam_table, "cube": cubes}[options.what](options)


if __name__ == "__main__":
    main()
