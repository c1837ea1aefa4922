"""What it is worth to say that values are ordered.

    python benchmarks/learning_ordered.py                  # what is reported: about a minute
    python benchmarks/learning_ordered.py --large          # and some three minutes
    python benchmarks/learning_ordered.py --first 0        # where the kernel was chosen

Populations are drawn by seed: one observation of 6 to 10 values and one of two and, in *large*
ones, another of 4 to 6 between them. In a *monotone* one the mean rewards of the actions rise or
fall along the values, in a *smooth* one they are waves, in a *ragged* one each value is drawn by
itself. `aw.Learner` decides the same cases with
`ordered=True` and with `ordered=False`; shown is the simple regret of what is recommended: how much
less a case gains by it than by the best policy, where a reward of 1 is worth 100.
"""

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import askwise as aw
from askwise._support.typing import Floats
from askwise.estimation.models import Model
from askwise.policy import oracle

KINDS = "monotone", "smooth", "ragged"
MOMENTS = 1_000, 5_000
REPORTED = 500


def effect(kind: str, rng: np.random.Generator, values: int) -> Floats:
    """Of each value, from −1 to 1."""
    place = np.linspace(0.0, 1.0, values)
    if kind == "monotone":
        steps = np.sort(np.append(rng.random(values - 2), [0.0, 1.0]))
        return np.asarray((2.0 * steps - 1.0) * rng.choice([-1.0, 1.0]))
    if kind == "smooth":
        return np.sin(2 * np.pi * (rng.uniform(0.4, 1.1) * place + rng.random()))
    return rng.uniform(-1.0, 1.0, values)


def population(kind: str, seed: int, *, ordered: bool, large: bool = False) -> Model:
    """One of a kind; `ordered` only says what the problem declares."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    middle = [int(rng.integers(4, 7))] if large else []
    radices = [int(rng.integers(6, 11)), *middle, 2]
    problem = aw.Problem(
        observations=[
            aw.Observation(
                name, values=range(n), cost=round(rng.uniform(1.0, 6.0), 1), ordered=ordered
            )
            for name, n in zip(("long", *["middle"] * large, "short"), radices, strict=True)
        ],
        actions=["left", "right", "stay"],
        reward_value=100.0,
    )
    probability, reward = np.ones(()), np.full((*radices, 3), 0.5)
    for i, n in enumerate(radices):
        along = [n if j == i else 1 for j in range(len(radices))]
        probability = np.multiply.outer(probability, rng.dirichlet(np.full(n, 3.0)))
        for action in range(3):
            size = rng.uniform(0.15, 0.35) / 3**i
            reward[..., action] += size * effect(kind, rng, n).reshape(along)
    return Model(problem, probability, reward.clip(0.0, 1.0))


def regrets(kind: str, seed: int, *, ordered: bool, large: bool = False) -> list[float]:
    """At every moment."""
    model = population(kind, seed, ordered=ordered, large=large)
    environment = aw.environments.Population(model)
    best = oracle.sequential(model).evaluate(model)
    learner, rng = aw.Learner(model.problem, rng=seed), np.random.default_rng(seed)
    found, done = [], 0
    for moment in MOMENTS:
        aw.simulate(learner, environment, steps=moment - done, rng=rng)
        found.append(best - learner.recommend().evaluate(model))
        done = moment
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=REPORTED)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args()
    table = Table("population", "cases", "in no order", "ordered", "better in", "difference")
    for kind in KINDS if asked.only is None else (asked.only,):
        lost = np.array(
            [
                [regrets(kind, seed, ordered=o, large=asked.large) for o in (False, True)]
                for seed in range(asked.first, asked.first + asked.seeds)
            ]
        )
        for k, moment in enumerate(MOMENTS):
            plain, ordered = lost[:, 0, k], lost[:, 1, k]
            less = plain - ordered
            error = less.std(ddof=1) / np.sqrt(len(less))
            table.add_row(
                kind,
                f"{moment:,}",
                f"{plain.mean():.2f}",
                f"{ordered.mean():.2f}",
                f"{(less > 0).sum()} of {len(less)}",
                f"{less.mean():+.2f} ± {error:.2f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
