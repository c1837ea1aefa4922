"""Accuracy against spend: `CostAwareClassifier` beside classifiers that buy every feature.

    python benchmarks/classifier.py                            # the table of docs/classifier.md
    python benchmarks/classifier.py --figure docs/classifier.svg
    python benchmarks/classifier.py --tables iris wine --repeats 1

The tables ship with scikit-learn. "diabetes" is made a classification: is the progression above the
median? Everything is measured in stratified 5-fold cross-validation, repeated where the
table is small; what is tuned is
tuned within the training folds. Intervals are 95 % of the mean over folds and repeats, with the
variance corrected for the training sets that folds share (Nadeau and Bengio, 2003).
"""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: folds share the cores

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from sklearn import datasets
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from askwise.reproduction.drawing import INK, MUTED, PAPER, SERIES, save, style
from askwise.sklearn import CostAwareClassifier

FOLDS = 5
REWARD_VALUES = (10.0, 30.0, 100.0, 1000.0)
PRICES = ("each costs 1", "prices 1 to 10")
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, None)
LARGE = 1000
"""From so many rows on, folds are large enough not to be repeated."""

TREE, TREE_PATH = "tree, buys all", "tree, buys its path"
OTHERS = (TREE, TREE_PATH, "GradientBoosting", "HistGradientBoosting")
OURS = "askwise, {:g}"
SHOWN = (10.0, 30.0, 100.0, 1000.0)
"""The reward values in the table, relative to the mean price of a feature,"""
JUDGED = (30.0, 100.0)
"""and those that are compared with the tree, fold by fold."""


class Data(NamedTuple):
    """A table with what is told to the classifier about it."""

    x: np.ndarray
    y: np.ndarray
    options: dict[str, int]


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.load_diabetes(return_X_y=True)
    return x, (y > np.median(y)).astype(int)


def loaded(name: str) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


TABLES: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], dict[str, int]]] = {
    "breast cancer": (loaded("breast_cancer"), {}),
    "wine": (loaded("wine"), {}),
    "iris": (loaded("iris"), {}),
    "diabetes": (diabetes, {}),
    # ten classes: four looks cannot tell them apart, eight with two outcomes can
    "digits": (loaded("digits"), {"max_observations": 8, "bins": 2, "max_states": 750_000}),
}


class Result(NamedTuple):
    """One classifier on one fold."""

    table: str
    prices: str
    who: str
    accuracy: float
    spend: float
    share: float
    """The spend as a share of what all features cost together."""


def costs_of(prices: str, features: int) -> np.ndarray:
    """1 each, or whole numbers from 1 to 10 that have nothing to do with what a feature says."""
    if prices == PRICES[0]:
        return np.ones(features)
    return np.random.default_rng(0).integers(1, 11, features).astype(float)


def path_spend(tree: DecisionTreeClassifier, x: np.ndarray, costs: np.ndarray) -> float:
    """What a decision tree pays if it buys the features on the path of each row, each once."""
    nodes = tree.decision_path(x).tocsr()
    feature = tree.tree_.feature
    spent = 0.0
    for row in range(len(x)):
        asked = feature[nodes.indices[nodes.indptr[row] : nodes.indptr[row + 1]]]
        spent += costs[np.unique(asked[asked >= 0])].sum()
    return float(spent / len(x))


def one_fold(name: str, data: Data, train: np.ndarray, test: np.ndarray) -> list[Result]:
    """Everything that is measured on one fold."""
    x, y, options = data
    results = []
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": DEPTHS}, cv=5)
    tree = search.fit(x[train], y[train]).best_estimator_
    boosted = {
        "GradientBoosting": GradientBoostingClassifier(random_state=0),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }
    scores = {
        who: model.fit(x[train], y[train]).score(x[test], y[test]) for who, model in boosted.items()
    }
    scores[TREE] = tree.score(x[test], y[test])
    for prices in PRICES:
        costs = costs_of(prices, x.shape[1])
        everything = float(costs.sum())
        unit = float(costs.mean())
        for who, accuracy in scores.items():
            results.append(Result(name, prices, who, accuracy, everything, 1.0))
        spend = path_spend(tree, x[test], costs)
        accuracy = scores[TREE]
        results.append(Result(name, prices, TREE_PATH, accuracy, spend, spend / everything))
        ours = CostAwareClassifier(costs=costs, **options).fit(x[train], y[train])
        values = [unit * value for value in REWARD_VALUES]
        rows = ours.accuracy_against_spend(x[test], y[test], reward_values=values)
        for value, row in zip(REWARD_VALUES, rows, strict=True):
            share = row["spend"] / everything
            results.append(
                Result(name, prices, OURS.format(value), row["accuracy"], row["spend"], share)
            )
    return results


def measure(names: Sequence[str], repeats: int, jobs: int) -> list[Result]:
    """All tables, fold by fold."""

    def tasks() -> Iterator[object]:
        for name in names:
            load, options = TABLES[name]
            data = Data(*load(), options)
            times = repeats if len(data.y) < LARGE else 1
            folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=times, random_state=0)
            for train, test in folds.split(data.x, data.y):
                yield delayed(one_fold)(name, data, train, test)

    found: list[list[Result]] = Parallel(n_jobs=jobs, batch_size=1)(tasks())
    return [result for fold in found for result in fold]


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its interval; training sets overlap, hence the second term."""
    n = len(values)
    variance = float(np.var(values, ddof=1))
    return float(np.mean(values)), 1.96 * float(np.sqrt((1 / n + 1 / (FOLDS - 1)) * variance))


Folds = dict[tuple[str, str, str], list[Result]]


def by_classifier(results: list[Result]) -> Folds:
    """The folds of each (table, prices, classifier), in the order they were measured."""
    folds: Folds = {}
    for result in results:
        folds.setdefault(result[:3], []).append(result)
    return folds


def cell(folds: list[Result]) -> str:
    """Accuracy in per cent with its interval, and what was spent for it."""
    accuracy, half = mean_and_half([100 * r.accuracy for r in folds])
    return f"{accuracy:.1f} ± {half:.1f} @ {np.mean([r.spend for r in folds]):.3g}"


def print_tables(folds: Folds) -> None:
    """Markdown: what each classifier reaches at what spend, and ours against the tuned tree."""
    problems = list(dict.fromkeys(key[:2] for key in folds))
    print("| table, prices | " + " | ".join([*OTHERS, *(OURS.format(v) for v in SHOWN)]) + " |")
    print("| --- " * (1 + len(OTHERS) + len(SHOWN)) + "|")
    for table, prices in problems:
        whos = [*OTHERS, *(OURS.format(value) for value in SHOWN)]
        cells = [cell(folds[table, prices, who]) for who in whos]
        print(f"| {table}, {prices} | " + " | ".join(cells) + " |")
    print()
    titles = [f"{OURS.format(value)} − tree | of everything | of its path" for value in JUDGED]
    print("| table, prices | " + " | ".join(titles) + " |")
    print("| --- " * (1 + 3 * len(JUDGED)) + "|")
    for table, prices in problems:
        against = [against_tree(folds, table, prices, value) for value in JUDGED]
        print(f"| {table}, {prices} | " + " | ".join(against) + " |")


def against_tree(folds: Folds, table: str, prices: str, value: float) -> str:
    """How much more often it is right than the tree on the same folds, and what it pays."""
    ours, tree, path = (folds[table, prices, who] for who in (OURS.format(value), TREE, TREE_PATH))
    pairs = zip(ours, tree, strict=True)
    more, half = mean_and_half([100 * (a.accuracy - b.accuracy) for a, b in pairs])
    spend, all_of_it, along = (np.mean([r.spend for r in who]) for who in (ours, tree, path))
    return f"{more:+.1f} ± {half:.1f} | {spend / all_of_it:.0%} | {spend / along:.0%}"


def draw(folds: Folds, path: Path) -> None:
    """A panel for each table and prices: accuracy against spend."""
    problems = list(dict.fromkeys(key[:2] for key in folds))
    tables = list(dict.fromkeys(table for table, _ in problems))
    with style(text=False):
        size = (2.6 * len(tables) + 0.6, 5.6)
        figure = Figure(figsize=size, layout="constrained", facecolor=PAPER)
        panels = figure.subplots(2, len(tables), squeeze=False, sharey="col", sharex="col")
        for (row, prices), (column, table) in product(enumerate(PRICES), enumerate(tables)):
            axes = panels[row, column]
            _panel(axes, folds, table, prices)
            axes.set_title(table if row == 0 else "", loc="left", fontsize=11, color=INK)
        for row, prices in enumerate(PRICES):
            panels[row, 0].set_ylabel(f"accuracy, {prices}")
        figure.supxlabel("spend per case, as a share of what all features cost", fontsize=10)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False)
        save(figure, path)


def _panel(axes: Any, folds: Folds, table: str, prices: str) -> None:
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlim(0, 1.05)
    tree = float(np.mean([r.accuracy for r in folds[table, prices, TREE]]))
    axes.set_ylim(tree - 0.12, tree + 0.08)  # all panels alike; what is far below is left out
    ours = [folds[table, prices, OURS.format(value)] for value in REWARD_VALUES]
    points = [[np.mean([r[k] for r in one]) for one in ours] for k in (5, 3)]
    axes.plot(*points, color=SERIES[0], marker="o", markersize=4, label="CostAwareClassifier")
    marks = dict(zip(OTHERS, "s^DP", strict=True))
    for place, (who, mark) in enumerate(marks.items(), start=1):
        there = folds[table, prices, who]
        x, y = np.mean([r.share for r in there]), np.mean([r.accuracy for r in there])
        axes.plot([x], [y], mark, color=SERIES[place], label=who, linestyle="none")
    axes.axhline(tree, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2.5)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy against spend.")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--figure", type=Path, help="draw it, too, as .svg or .png")
    options = parser.parse_args()
    folds = by_classifier(measure(options.tables, options.repeats, options.jobs))
    print_tables(folds)
    if options.figure:
        draw(folds, options.figure)


if __name__ == "__main__":
    main()
