"""How wide the practical radii should be: a grid over `width`, and the theorems' radii beside it.

    python benchmarks/radii.py

Sim-OOS and Seq-OOS learn for 100,000 cases on each population below, with five seeds and every
width. All widths see the same cases. The score after n cases is

    (mean gain of the first n cases − nothing) / max(oracle − nothing, 1% of the reward value),

`nothing` being the best gain without any information and `oracle` the best gain when buying as the
learner does: 0 is what one earns blindly, 1 is what one earns knowing everything from the start.
The late share is the mean gain of the last tenth of the cases, as a share of the oracle's.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from askwise import SeqOOS, SimOOS, oracle
from askwise.estimation.models import Model
from askwise.learners import BaseLearner
from askwise.policy import Policy
from askwise.simulation import simulate
from askwise.simulation.environments import Population, breast_cancer
from askwise.testing import random_model

CASES, SEEDS = 100_000, 5
MOMENTS = 5_000, 20_000, 100_000
WIDTHS = 0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0
PRICES = 1.0, 6.0, 12.0, 18.0, 21.0, 25.0
REWARD_VALUE = 100.0
ORACLES: dict[type[BaseLearner], Callable] = {
    SimOOS: oracle.simultaneous,
    SeqOOS: oracle.sequential,
}


class Shape(NamedTuple):
    """A random population: its seed, and what is drawn with it."""

    seed: int
    values: list[int]
    actions: int
    max_observations: int
    highest_cost: float


SHAPES = (
    Shape(1, [2, 2, 2, 2], 2, 4, 3.0),
    Shape(2, [2, 3, 2], 3, 2, 5.0),
    Shape(3, [5, 5], 4, 2, 5.0),
    Shape(4, [4, 2, 3, 5], 4, 3, 3.0),
    Shape(5, [3, 3, 3], 5, 3, 8.0),
    Shape(6, [2, 2, 2, 2, 2, 2], 3, 3, 2.0),
    Shape(7, [3, 3, 3, 3, 3], 3, 2, 2.0),
    Shape(8, [8, 4], 3, 2, 5.0),
)


class Setting(NamedTuple):
    """One line of the table."""

    learner: type[BaseLearner]
    label: str
    options: dict[str, object]


def populations() -> dict[str, Model]:
    """The declared populations by name."""
    models = {f"breast cancer at {price:g}": breast_cancer(price) for price in PRICES}
    for shape in SHAPES:
        values = "×".join(map(str, shape.values))
        models[f"random {values}, {shape.actions} actions, m={shape.max_observations}"] = (
            random_model(
                np.random.default_rng(shape.seed),
                shape.values,
                actions=shape.actions,
                max_observations=shape.max_observations,
                reward_value=REWARD_VALUE,
                highest_cost=shape.highest_cost,
            )
        )
    return models


def settings() -> list[Setting]:
    return [
        setting
        for learner in ORACLES
        for setting in (
            *(Setting(learner, f"{width:g}", {"width": width}) for width in WIDTHS),
            Setting(learner, "theorem", {"confidence": "theorem"}),
        )
    ]


def nothing(model: Model) -> Policy:
    """The best that can be done without any information."""
    return oracle.fixed(model, [])


def measure(setting: Setting, model: Model, seed: int) -> np.ndarray:
    """One run: the scores at the moments, then the late share."""
    learner = setting.learner(model.problem, **setting.options)
    gain = simulate(learner, Population(model), steps=CASES, rng=seed).gain
    best, blind = ORACLES[setting.learner](model).value, nothing(model).value
    scale = max(best - blind, 0.01 * REWARD_VALUE)
    scores = [(gain[:n].mean() - blind) / scale for n in MOMENTS]
    return np.array([*scores, gain[-CASES // 10 :].mean() / best])


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Aligned columns: words to the left, numbers to the right."""
    words = {"population", "learner", "width", "where"}
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:{'<' if name in words else '>'}{width}}"
            for name, cell, width in zip(head, row, widths, strict=True)
        ).rstrip()
        for row in (head, *rows)
    )


def main() -> None:
    begin = time.perf_counter()
    models, chosen = populations(), settings()
    print("What there is to gain:\n")
    rows = [
        (name, *(f"{best(model).value:.2f}" for best in (nothing, *ORACLES.values())))
        for name, model in models.items()
    ]
    print(table(("population", "nothing", "simultaneous", "sequential"), rows))
    jobs = [
        (setting, model, seed)
        for setting in chosen
        for model in models.values()
        for seed in range(SEEDS)
    ]
    for learner in ORACLES:  # compiles once, before the threads
        measure(Setting(learner, "", {}), next(iter(models.values())), 0)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = np.array(list(pool.map(lambda job: measure(*job), jobs)))
    # (settings, populations, columns): seeds are averaged first
    means = measured.reshape(len(chosen), len(models), SEEDS, -1).mean(axis=2)
    rows = []
    for setting, found in zip(chosen, means, strict=True):
        scores = (f"{score:.3f}" for score in found[:, :-1].mean(axis=0))
        late = found[:, -1]
        worst = list(models)[int(late.argmin())]
        middle = f"{np.median(found[:, -2]):.3f}"
        shares = f"{late.mean():.1%}", f"{late.min():.1%}", worst
        rows.append((setting.learner.name, setting.label, *scores, middle, *shares))
    moments = (f"at {n:,}" for n in MOMENTS)
    head = "learner", "width", *moments, "median", "late share", "worst", "where"
    print(f"\n{len(models)} populations, {SEEDS} seeds, {CASES:,} cases.")
    print("Mean scores, the median population's at the end, the late share and the worst one:\n")
    print(table(head, rows))
    print(f"\n{len(jobs):,} runs in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
