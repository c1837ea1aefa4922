"""Drawn tables on which constants of `CostAwareClassifier` are chosen, so not on what is reported.

    python benchmarks/tables_drawn.py --options '{}' '{"shrinkage": "auto"}' [--half 0]

Five families: labels from sums of columns, from a noisy tree, from latent classes, from pairs of
columns, and columns independent given the label. Columns are categories with costs, some in a group
with discounts. Rare classes are dear to miss, as in the sets of Lomax (2013). Every table is judged
on 4,000 other rows, at three levels of costs. The scikit-learn tables are judged on their rest.

Three more families are hard for an estimate that is cautious: a class of a few rows in thousands
that is very dear to miss, columns of many values that tell something only together, and few rows
with many columns. `--half 0` takes the tables of even seeds, to choose on, and `--half 1` those of
odd seeds, to confirm.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from askwise.sklearn import CostAwareClassifier

LEVELS = {"low": 0.3, "middle": 1.0, "high": 3.0}
"""What a blind decision loses, in multiples of what all columns cost."""
TEST_ROWS = 4_000


class Drawn(NamedTuple):
    """A table with its costs."""

    name: str
    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    costs: list[float]
    discounts: list[dict[str, float]]
    matrix: np.ndarray
    """At level "middle"."""


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _labels(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(0, p.shape[1] - 1)


def _columns(rng: np.random.Generator, rows: int, radices: np.ndarray) -> np.ndarray:
    """Columns that lean on the one before them, more or less."""
    found = np.empty((rows, len(radices)), np.int64)
    for k, radix in enumerate(radices):
        found[:, k] = rng.choice(radix, rows, p=rng.dirichlet(np.full(radix, 3.0)))
        if k and rng.random() < 0.5:
            copied = rng.random(rows) < rng.uniform(0.2, 0.7)
            found[copied, k] = found[copied, k - 1] % radix
    return found


def _prior(rng: np.random.Generator, classes: int) -> np.ndarray:
    return np.log(rng.dirichlet(np.full(classes, rng.choice([0.7, 2.0]))) + 0.02)


def sums(rng: np.random.Generator, rows: int, radices: np.ndarray, classes: int) -> Any:
    x = _columns(rng, rows, radices)
    scores = np.tile(_prior(rng, classes), (rows, 1))
    for k, radix in enumerate(radices):
        strength = rng.choice([0.0, 0.5, 1.5])
        scores += rng.normal(0, strength, (radix, classes))[x[:, k]]
    return x, _labels(rng, _softmax(scores))


def trees(rng: np.random.Generator, rows: int, radices: np.ndarray, classes: int) -> Any:
    x = _columns(rng, rows, radices)
    y, prior = np.empty(rows, np.int64), np.exp(_prior(rng, classes))
    prior /= prior.sum()

    def grow(here: np.ndarray, depth: int, used: frozenset[int]) -> None:
        if depth <= 0 or len(used) == len(radices):
            y[here] = rng.choice(classes, p=prior)
            return
        k = int(rng.choice([i for i in range(len(radices)) if i not in used]))
        for value in range(radices[k]):
            grow(here[x[here, k] == value], depth - 1 - (rng.random() < 0.3), used | {k})

    grow(np.arange(rows), int(rng.integers(3, 5)) + 1, frozenset())
    wrong = rng.random(rows) < rng.uniform(0.0, 0.2)
    y[wrong] = rng.choice(classes, wrong.sum(), p=prior)
    return x, y


def latent(rng: np.random.Generator, rows: int, radices: np.ndarray, classes: int) -> Any:
    kinds = int(rng.integers(classes, 3 * classes))
    kind = rng.choice(kinds, rows, p=rng.dirichlet(np.full(kinds, 2.0)))
    x = np.empty((rows, len(radices)), np.int64)
    for k, radix in enumerate(radices):
        x[:, k] = _labels(
            rng, rng.dirichlet(np.full(radix, rng.choice([0.3, 1.0, 5.0])), kinds)[kind]
        )
    p = rng.dirichlet(0.3 * np.exp(_prior(rng, classes)) * classes + 0.01, kinds)
    return x, _labels(rng, p[kind])


def pairs(rng: np.random.Generator, rows: int, radices: np.ndarray, classes: int) -> Any:
    x = _columns(rng, rows, radices)
    scores = np.tile(_prior(rng, classes), (rows, 1))
    for _ in range(int(rng.integers(2, 6))):
        a, b = rng.choice(len(radices), 2, replace=False)
        scores += rng.normal(0, 1.5, (radices[a], radices[b], classes))[x[:, a], x[:, b]]
    return x, _labels(rng, _softmax(scores))


def independent(rng: np.random.Generator, rows: int, radices: np.ndarray, classes: int) -> Any:
    p = _softmax(_prior(rng, classes)[None])[0]
    y = rng.choice(classes, rows, p=p)
    x = np.empty((rows, len(radices)), np.int64)
    for k, radix in enumerate(radices):
        x[:, k] = _labels(
            rng, rng.dirichlet(np.full(radix, rng.choice([1.0, 5.0, 50.0])), classes)[y]
        )
    return x, y


FAMILIES = (sums, trees, latent, pairs, independent)


def rare(rng: np.random.Generator) -> Any:
    """Thousands of rows. A combination of values has a class of its own, in about two rows of them.

    Missing it costs as much in proportion, so one training row has the weight of thousands.
    """
    rows, classes = int(rng.integers(3_000, 6_000)), int(rng.integers(2, 5))
    radices = rng.choice([2, 3, 3, 4, 5], int(rng.integers(6, 10)))
    family = (sums, trees, independent)[int(rng.integers(3))]
    x, y = family(rng, rows + 5 * TEST_ROWS, radices, classes)
    keys = [int(k) for k in rng.choice(len(radices), 2, replace=False)]
    chosen = x[int(rng.integers(len(x)))]
    fits = np.flatnonzero((x[:, keys] == chosen[keys]).all(axis=1))
    often = int(np.ceil(rng.choice([1.0, 2.0, 4.0]) / rows * len(x)))
    y[rng.choice(fits, min(often, len(fits)), replace=False)] = classes
    return rows, x, y


def many(rng: np.random.Generator) -> Any:
    """Columns of many values: alone a column tells little, two together tell the class."""
    rows, classes = int(np.exp(rng.uniform(np.log(400), np.log(3_000)))), int(rng.integers(2, 4))
    radices = rng.choice([3, 5, 7, 9], int(rng.integers(5, 9)))
    x = _columns(rng, rows + TEST_ROWS, radices)
    scores = np.tile(_prior(rng, classes), (len(x), 1))
    for _ in range(int(rng.integers(1, 4))):
        a, b = rng.choice(len(radices), 2, replace=False)
        effect = rng.normal(0, 2.0, (radices[a], radices[b], classes))
        alone = effect.mean(axis=0, keepdims=True) + effect.mean(axis=1, keepdims=True)
        scores += (effect - rng.uniform(0.5, 1.0) * alone)[x[:, a], x[:, b]]
    return rows, x, _labels(rng, _softmax(scores))


def few(rng: np.random.Generator) -> Any:
    """Few rows with many columns, of which most are noise."""
    rows, classes = int(rng.integers(60, 250)), int(rng.integers(2, 5))
    radices = rng.choice([2, 2, 3, 4], int(rng.integers(15, 31)))
    family = (sums, latent, independent)[int(rng.integers(3))]
    told = int(rng.integers(3, 8))
    x, y = family(rng, rows + TEST_ROWS, radices[:told], classes)
    noise = _columns(rng, len(x), radices[told:])
    return rows, np.hstack([x, noise])[:, rng.permutation(len(radices))], y


HARD = (rare, many, few)


def with_costs(rng: np.random.Generator, name: str, parts: Any) -> Drawn:
    x, y, x_test, y_test = parts
    width, classes = x.shape[1], int(y.max()) + 1
    costs = np.round(np.exp(rng.uniform(0, np.log(30), width)), 2)
    discounts = []
    if width > 2 and rng.random() < 0.6:
        members = rng.choice(width, int(rng.integers(2, min(width, 6) + 1)), replace=False)
        share = rng.uniform(0.1, 1.0, len(members)) if rng.random() < 0.5 else 0.3
        less = costs[members] * share
        discounts.append({f"x{k}": float(p) for k, p in zip(members, less, strict=True)})
    often = np.bincount(y, minlength=classes) / len(y)
    dear = 1 / np.maximum(often, 1 / len(y))
    matrix = np.tile(dear[:, None], (1, classes)) * (1 - np.eye(classes))
    blind = (often @ matrix).min()
    return Drawn(
        name, x, y, x_test, y_test, costs.tolist(), discounts, matrix / blind * costs.sum()
    )


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng([2026, seed])
    rows = int(np.exp(rng.uniform(np.log(100), np.log(2_000))))
    family = FAMILIES[seed % len(FAMILIES)]
    while True:
        classes = int(rng.integers(2, 6))
        radices = rng.choice([2, 2, 3, 3, 4, 6], int(rng.integers(5, 17)))
        x, y = family(rng, rows + TEST_ROWS, radices, classes)
        often = np.bincount(y[:rows], minlength=classes)
        if (often >= 3).all() and set(y[rows:]) <= set(y[:rows]):
            break
    parts = x[:rows], y[:rows], x[rows:], y[rows:]
    return with_costs(rng, f"{family.__name__} {seed}", parts)


def hard(seed: int) -> Drawn:
    rng = np.random.default_rng([2028, seed])
    family = HARD[seed % len(HARD)]
    while True:
        rows, x, y = family(rng)
        often = np.bincount(y[:rows], minlength=int(y.max()) + 1)
        if (often >= (1 if family is rare else 3)).all() and len(often) > 1:
            break
    parts = x[:rows], y[:rows], x[rows:], y[rows:]
    return with_costs(rng, f"{family.__name__} {seed}", parts)


def of_scikit_learn(seed: int) -> Drawn:
    rng = np.random.default_rng([2027, seed])
    loads = (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine)
    load = loads[seed % len(loads)]
    numbers, y = load(return_X_y=True)
    if load is load_diabetes:
        y = np.digitize(y, np.quantile(y, [0.5, 0.9]))
    kept = rng.permutation(numbers.shape[1])[: int(rng.integers(4, 17))]
    bins = int(rng.integers(2, 6))
    x = np.column_stack(
        [
            np.digitize(c, np.unique(np.quantile(c, np.arange(1, bins) / bins)))
            for c in numbers[:, kept].T
        ]
    )
    y = np.unique(y, return_inverse=True)[1]
    order = rng.permutation(len(y))
    rows = min(int(0.6 * len(y)), int(rng.integers(100, 1_000)))
    parts = x[order[:rows]], y[order[:rows]], x[order[rows:]], y[order[rows:]]
    return with_costs(rng, f"{load.__name__[5:]} {seed}", parts)


def cost_of(table: Drawn, level: str, options: dict[str, Any]) -> tuple[float, float]:
    """The mean cost of the other rows, and the seconds of the fit."""
    matrix = table.matrix * LEVELS[level]
    began = time.perf_counter()
    classifier = CostAwareClassifier(
        costs=table.costs,
        discounts=table.discounts,
        misclassification_costs=matrix,
        categorical_features=list(range(table.x.shape[1])),
        **{"further_looks": 0} | options,
    ).fit(table.x, table.y)
    seconds = time.perf_counter() - began
    wrong = matrix[table.y_test, classifier.predict(table.x_test)]
    return float((wrong + classifier.spend(table.x_test)).mean()), seconds


def tables(number: int, first: int = 0, half: int | None = None) -> Iterator[Drawn]:
    """Of each seed two drawn tables, and of every third seed one of scikit-learn."""
    for seed in range(first, first + number):
        if half is not None and seed % 2 != half:
            continue
        yield drawn(seed)
        yield hard(seed)
        if seed % 3 == 0:
            yield of_scikit_learn(seed // 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--options", nargs="+", type=json.loads, default=[{}])
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--half", type=int, choices=[0, 1], help="seeds that are even, or odd")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    logs: dict[str, list[list[float]]] = {level: [] for level in LEVELS}
    spent = np.zeros(len(chosen.options))
    for table in tables(chosen.tables, chosen.first, chosen.half):
        for level in LEVELS:
            found = [cost_of(table, level, options) for options in chosen.options]
            logs[level].append([np.log(cost) for cost, _ in found])
            spent += [seconds for _, seconds in found]
            if chosen.verbose:
                print(table.name, table.x.shape, level, [round(c, 3) for c, _ in found], flush=True)
    print(f"{len(logs['low'])} tables; cost relative to the first, in per cent, ± one error")
    for k, options in enumerate(chosen.options):
        cells = []
        for level in (*LEVELS, "all"):
            rows = np.array(
                [row for one in (LEVELS if level == "all" else [level]) for row in logs[one]]
            )
            off = 100 * (rows[:, k] - rows[:, 0])
            cells.append(f"{level} {off.mean():+.2f} ± {off.std() / len(off) ** 0.5:.2f}")
        print(json.dumps(options), "; ".join(cells), f"{spent[k] / len(rows):.2f} s")


if __name__ == "__main__":
    main()
