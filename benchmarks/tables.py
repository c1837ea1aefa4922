"""From tables: `CostAwareClassifier` beside optimal trees, neural acquisition and boosting.

    python benchmarks/tables.py streed --data DIR --results FILE   # of benchmarks/tables_streed.py
    python benchmarks/tables.py spam --data DIR [--figure docs/tables.svg]
    python benchmarks/tables.py cube
    python benchmarks/tables.py wide [--columns 200 1000] [--values 100]

What is in DIR, and where it is found, says `benchmarks/tables_data.py`. On STreeD's sets an
attribute is one observation with as many values as its bits have combinations. Discounts are as
published. What is bought is paid for as STreeD counts it, in the order in which it is bought. Their
columns are bits, so the plan alone decides (`further_looks=0`). docs/classifier.md says which
tables chose what.
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
    wide,
)
from tables_streed import read_results, settings

PUBLISHED = {
    "spam": [(3, 0.858), (4, 0.905), (10, 0.922)],  # greedy dynamic selection, Covert et al. 2023
    "cube": [(2.99, 0.49), (4.87, 0.63), (6.39, 0.79), (7.51, 0.86)],  # FCwSFS
}
FEWEST_SPLITS = 10
"""Splits that a setting of STreeD must have been fitted on to be compared with."""
NOTHING = 1e-9
"""Differences of mean costs that are none: they are sums in different orders."""


# --- STreeD's sets -------------------------------------------------------------------------------


def discounts_of(costs: Costs) -> list[dict[str, float]]:
    """The price of each member of a group, once another one was bought."""
    groups: dict[str, dict[str, float]] = {}
    for k, a in enumerate(costs.attributes):
        if a.group != "x":
            groups.setdefault(a.group, {})[f"x{k}"] = a.discount
    return list(groups.values())


def fit_ours(root: Path, task: tuple[str, str, int], options: dict[str, Any]) -> dict[str, Any]:
    name, level, number = task
    costs, split = costs_of(root, name, level), split_of(root, name, number)
    x, x_test = (in_one_number(part, costs) for part in (split.x, split.x_test))
    found = np.unique(split.y)
    began = time.perf_counter()
    classifier = CostAwareClassifier(
        costs=[a.cost for a in costs.attributes],
        discounts=discounts_of(costs),
        misclassification_costs=costs.matrix[np.ix_(found, found)],
        categorical_features=list(range(x.shape[1])),
        **options,
    ).fit(x, split.y)
    seconds = time.perf_counter() - began

    def cost(rows: np.ndarray, labels: np.ndarray) -> float:
        wrong = costs.matrix[labels, classifier.predict(rows)]
        spent = [costs.spent([int(i[1:]) for i in bought]) for bought in classifier.looks(rows)]
        assert np.allclose(spent, classifier.spend(rows))
        return float((wrong + np.array(spent)).mean() / costs.unit(split.y_test))

    row = {"set": name, "level": level, "split": number, "seconds": seconds}
    return row | {"test": cost(x_test, split.y_test), "train": cost(x, split.y)}


def streed(options: argparse.Namespace) -> None:
    root = unpacked(options.data)
    first, last = options.splits
    ours = options.ours or Path("/tmp/askwise-tables-ours.jsonl")
    chosen = {
        "max_observations": options.m,
        "shrinkage": "auto" if options.shrinkage == "auto" else float(options.shrinkage),
        "luck_charge": options.luck_charge,
        "further_looks": 0,
    }
    done = {}
    if ours.exists():
        rows = [json.loads(line) for line in ours.read_text(encoding="utf-8").splitlines()]
        done = {(r["set"], r["level"], r["split"]): r for r in rows}
    for task in tasks(options.sets, list(LEVELS), list(range(first, last + 1))):
        if task not in done:
            done[task] = fit_ours(root, task, chosen)
            with ours.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[task]) + "\n")
    report(options.sets, range(first, last + 1), done, read_results(options.results))


def report(sets: Sequence[str], splits: Sequence[int], ours: Any, peers: Any) -> None:
    """Against every setting of STreeD, and against the best for each set and level.

    A setting is compared on the splits that it was fitted on, if they are enough. The best is the
    one beside which we look worst.
    """
    ratios: dict[str, list[float]] = {}
    wins, losses = [], []
    print("| set, level | askwise | STreeD, best | which | splits | difference | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in sets:
        for level in LEVELS:
            mine = {s: ours[name, level, s] for s in splits if (name, level, s) in ours}
            found = {}
            for depth, tuned in settings([3, 4, 5]):
                keys = {s: (name, level, s, depth, tuned) for s in mine}
                both = [s for s, key in keys.items() if key in peers]
                if len(both) >= FEWEST_SPLITS:
                    which = f"{depth}, tuned" if tuned else f"{depth}"
                    own = np.array([mine[s]["test"] for s in both])
                    found[which] = own, np.array([peers[keys[s]]["test"] for s in both])
            if not found:
                continue
            ratio = {w: np.log(own.mean() / theirs.mean()) for w, (own, theirs) in found.items()}
            which = max(ratio, key=lambda w: ratio[w])
            for key, log in (*ratio.items(), ("best", ratio[which])):
                ratios.setdefault(key, []).append(log)
            own, theirs = found[which]
            off = own - theirs
            half = student.ppf(0.975, len(off) - 1) * off.std(ddof=1) / len(off) ** 0.5
            if off.mean() + half < -NOTHING:
                wins.append(f"{name} {level}")
            if off.mean() - half > NOTHING:
                losses.append(f"{name} {level}")
            seconds = np.mean([row["seconds"] for row in mine.values()])
            cells = f"{100 * own.mean():.2f} | {100 * theirs.mean():.2f} | {which} | {len(off)}"
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
    began = time.process_time()
    classifier = CostAwareClassifier(reward_value=values[0], **options).fit(x, y)
    seconds = time.process_time() - began  # of one core: a busy machine does not count
    everything = boosted(*parts)
    print(
        f"\n{name}: {len(x)} rows × {x.shape[1]}, fitted in {seconds:.0f} s of one core; ", end=""
    )
    print(f"boosting with everything {everything:.3f} at {x.shape[1]}")
    print("| reward value | right | looks |\n| --- | --- | --- |", flush=True)
    rows = []
    for value in values:
        rows += classifier.accuracy_against_spend(x_test, y_test, reward_values=[value])
        right, looks = rows[-1]["accuracy"], rows[-1]["spend"]
        print(f"| {value:g} | {right:.3f} | {looks:.2f} |", flush=True)
    return rows, everything


def spam_table(options: argparse.Namespace) -> None:
    rows, everything = curve(
        "spam", spam(options.data), options.values or [30, 100, 300, 1000, 3000, 10_000]
    )
    if options.figure:
        from tables_figure import draw

        draw({"spam": (rows, everything, 57)}, PUBLISHED, options.figure)


def cubes(options: argparse.Namespace) -> None:
    """The plan alone of up to six looks, and the classifier as it is by default."""
    planned = {"max_observations": 6, "further_looks": 0, "max_states": 1_000_000}
    for name, make in (("cube", cube), ("CUBE-NM", cube_nm)):
        rng = np.random.default_rng(options.seed)
        parts = (*make(rng, options.rows), *make(rng, 4_000))
        values = options.values or [20, 40, 100]
        curve(f"{name}, the plan alone", parts, values, **planned)
        curve(f"{name}, by default", parts, values)


def wides(options: argparse.Namespace) -> None:
    """1,000 rows of very many columns, by the plan alone and with further looks."""
    further: tuple[int | str, ...] = (0, "auto")
    for columns in options.columns:
        x, y = wide(np.random.default_rng(options.seed), 3_000, columns)
        parts = (x[:1_000], y[:1_000], x[1_000:], y[1_000:])
        for most in further:
            name = f"{columns} columns, further looks {most}"
            curve(name, parts, options.values or [30, 100], further_looks=most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["streed", "spam", "cube", "wide"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, help="STreeD's, by benchmarks/tables_streed.py")
    parser.add_argument("--ours", type=Path, help="where our results on its sets are kept")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs=2, type=int, default=[1, 20])
    parser.add_argument("--m", type=int, default=4, help="max_observations on STreeD's sets")
    parser.add_argument("--shrinkage", default="auto", help="on STreeD's sets")
    parser.add_argument("--luck-charge", type=float, default=1.0, help="on STreeD's sets")
    parser.add_argument("--rows", type=int, default=10_000, help="of cubes to fit on")
    parser.add_argument("--columns", nargs="+", type=int, default=[200, 1_000], help="of wide")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--values", nargs="+", type=float, help="reward values")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    runs = {"streed": streed, "spam": spam_table, "cube": cubes, "wide": wides}
    runs[options.what](options)


if __name__ == "__main__":
    main()
