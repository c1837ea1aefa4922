"""STreeD beside us on its own sets: optimal trees of depths 3 to 5, their size tuned or not.

    python benchmarks/tables_streed.py --data DIR --results FILE [--splits 1 20] [--depths 3 4 5]

`pystreed` is in the extra `bench`. Depth 5 takes hours on all sets, so results are appended to a
file as they come, and what is in it is not fitted again; `benchmarks/tables.py` reads it.
"""

import argparse
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np

from tables_data import LEVELS, SETS, Costs, costs_of, split_of, tasks, unpacked


def settings(depths: list[int]) -> list[tuple[int, bool]]:
    return [(depth, tuned) for depth in depths for tuned in (False, True)]


def cost_of_tree(root: Any, costs: Costs, x: np.ndarray, y: np.ndarray) -> float:
    """The mean cost of rows: a split pays for its attribute, once, with discounts along a path."""
    total = 0.0

    def walk(node: Any, rows: np.ndarray, paid: frozenset[int]) -> None:
        nonlocal total
        if node.is_leaf_node():
            total += float(costs.matrix[y[rows], int(node.label)].sum())
            return
        place = costs.of_column(node.feature)
        total += len(rows) * costs.price(place, paid)
        is_set = x[rows, node.feature] == 1
        walk(node.left_child, rows[~is_set], paid | {place})
        walk(node.right_child, rows[is_set], paid | {place})

    walk(root, np.arange(len(y)), frozenset())
    return total / len(y)


def fit_one(root: Path, task: tuple[str, str, int], depth: int, tuned: bool, limit: float) -> Any:
    """The row of one fit; a tree that is not tuned is the best that was found within the limit."""
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.data import CostSpecifier

    name, level, number = task
    costs, split = costs_of(root, name, level), split_of(root, name, number)
    model = STreeDCostSensitiveClassifier(
        max_depth=depth, hyper_tune=tuned, time_limit=600 if tuned else limit
    )
    began = time.perf_counter()
    model.fit(split.x, split.y, CostSpecifier(str(costs.path), len(costs.matrix)))
    seconds = time.perf_counter() - began
    unit = costs.unit(split.y_test)
    return {
        "set": name,
        "level": level,
        "split": number,
        "depth": depth,
        "tuned": tuned,
        "test": cost_of_tree(model.tree_, costs, split.x_test, split.y_test) / unit,
        "train": cost_of_tree(model.tree_, costs, split.x, split.y) / unit,
        "reported": float(model.score(split.x_test, split.y_test)),
        "optimal": bool(model.fit_result.is_optimal()),
        "seconds": seconds,
    }


def fit_apart(results: Path, limit: float, *task: Any) -> None:
    """Fit in a process of its own: tuning that takes too long ends it, and leaves no row."""

    def fit() -> None:
        row = fit_one(*task, limit)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    process = multiprocessing.get_context("fork").Process(target=fit)
    process.start()
    process.join(2 * limit)
    if process.is_alive():
        process.kill()
        process.join()


def read_results(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What is on file, by (set, level, split, depth, tuned)."""
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[tuple(row[k] for k in ("set", "level", "split", "depth", "tuned"))] = row
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--levels", nargs="+", default=list(LEVELS))
    parser.add_argument("--splits", nargs=2, type=int, default=[1, 20])
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 4, 5])
    parser.add_argument("--untuned", action="store_true", help="leave out trees of tuned size")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a fit")
    options = parser.parse_args()
    import pystreed  # noqa: F401  (once, not in every process)

    root, done = unpacked(options.data), read_results(options.results)
    first, last = options.splits
    for depth, tuned in settings(options.depths):
        if tuned and options.untuned:
            continue
        for task in tasks(options.sets, options.levels, list(range(first, last + 1))):
            if (*task, depth, tuned) in done:
                continue
            fit_apart(options.results, options.limit, root, task, depth, tuned)


if __name__ == "__main__":
    main()
