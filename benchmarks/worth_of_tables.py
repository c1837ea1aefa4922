"""What columns of large tables are said to be worth, of which some say nothing.

    python benchmarks/worth_of_tables.py

A table has 500 to 3,000 complete records of six columns of four values, more combinations than the
joint model takes. Up to three columns decide how likely each of two actions is the right one; the
others are noise. Seeds below `REPORTED` chose what `explain/worth_draws.py` does.
"""

import argparse

import numpy as np

import askwise as aw

REPORTED = 10
VALUES, ACTIONS, COLUMNS = 4, 2, 6
TABLES = ((1_000, 2, 1.0), (500, 0, 1.0), (3_000, 3, 1.0), (1_000, 3, 0.5))
"""Records, columns that matter, and the deviation of their effects in logits."""


def problem(names: list[str]) -> aw.Problem:
    """A look at each column costs 1."""
    return aw.Problem(
        observations=[aw.Observation(name, values=list(range(VALUES)), cost=1.0) for name in names],
        actions=[f"a{k}" for k in range(ACTIONS)],
        reward_value=100.0,
        max_observations=min(3, len(names)),
    )


def said_and_true(seed: int, records: int, real: int, strength: float) -> list[tuple[float, ...]]:
    """Of each column whether it matters, what it adds and its break-even price: first the truth,
    then what is said, with the ends of the interval."""
    rng = np.random.default_rng([5, seed])
    names = [f"c{i}" for i in range(COLUMNS)]
    seen = rng.integers(VALUES, size=(records, COLUMNS))
    effects = [rng.normal(0.0, strength, (VALUES, ACTIONS)) for _ in range(real)]
    chosen = _shares(effects, seen)
    right = (rng.random(records)[:, None] > chosen.cumsum(axis=1)).sum(axis=1)
    table = {name: seen[:, i].tolist() for i, name in enumerate(names)}
    table["right"] = [f"a{k}" for k in right.tolist()]
    said = aw.worth(aw.fit(table, problem(names), label="right", rng=0))
    true = {}
    if real:
        cells = np.stack(np.unravel_index(np.arange(VALUES**real), (VALUES,) * real), axis=1)
        even = np.full(len(cells), 1 / len(cells))
        model = aw.Model.of_shares(problem(names[:real]), even, _shares(effects, cells))
        true = {row.name: (row.adds, row.break_even) for row in aw.worth(model)}
    found = []
    for row in said:
        adds = row.adds, row.adds_low, row.adds_high
        price = row.break_even, row.break_even_low, row.break_even_high
        found.append((row.name in true, *true.get(row.name, (0.0, 0.0)), *adds, *price))
    return found


def _shares(effects: list[np.ndarray], seen: np.ndarray) -> np.ndarray:
    """How likely each action is the right one, at [row, action]."""
    score = np.zeros((len(seen), ACTIONS))
    for i, effect in enumerate(effects):
        score += effect[seen[:, i]]
    odds = np.exp(score)
    share: np.ndarray = odds / odds.sum(axis=1, keepdims=True)
    return share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=REPORTED, help="the first seed")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    rows = np.array([row for seed in seeds for one in TABLES for row in said_and_true(seed, *one)])
    for kind, matters in (("columns that matter", 1), ("noise", 0)):
        part = rows[rows[:, 0] == matters].T
        for what, place in (("adds", 0), ("break-even", 1)):
            truth, (value, low, high) = part[1 + place], part[3 + 3 * place : 6 + 3 * place]
            covered = np.mean((low <= truth + 1e-6) & (truth <= high + 1e-6))
            print(
                f"{kind:19} {what:10} of {len(truth)}: covered {covered:.0%}, bias "
                f"{np.mean(value - truth):+.2f}, median error {np.median(abs(value - truth)):.2f}, "
                f"mean {np.mean(abs(value - truth)):.2f}, the most {value.max():.1f}"
            )


if __name__ == "__main__":
    main()
