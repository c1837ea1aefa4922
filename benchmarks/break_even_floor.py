"""How well can a break-even price be known at all? From cases that withhold nothing.

    python benchmarks/break_even_floor.py --populations 24

The populations are the random models of `calibration.py`: p(φ) uniform on the simplex, every mean
reward uniform from 0 to 1. Each is learned online by `aw.Learner`. The prior that they are drawn
from is known here, so that the posterior after any cases is too. No estimate has a smaller expected
error than the median of its break-even prices. There are two kinds of cases:

- **complete ones**, in which everything was seen, and any action was taken, each as likely as the
  others: p(φ) ~ Dirichlet(1 + n(φ)), r(a, φ) ~ Beta(1 + ones, 1 + zeros);
- **the learner's own**, which saw what it bought, and took the actions that it chose. The full
  state of a case that saw only ψ is drawn, each given the others (Gibbs sampling, Tanner and Wong:
  The calculation of posterior distributions by data augmentation, 1987):

      φ of a case with reward 1 ~ p(φ) r(a, φ),     with reward 0 ~ p(φ) (1 − r(a, φ))

  after which p and r are drawn as above. So this is the least error that any estimate from those
  cases has. That it holds what it says is seen by its own intervals of 95 %.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np

import askwise as aw
from askwise.counting import UNIT
from askwise.states import Lattice
from calibration import REPORTED
from calibration_populations import Subject, subject

CASES = 5_000
DRAWS = 60
BURN_IN = 1_000
SWEEPS = 40
"""Draws of the full states between two that count."""
TINY = 1e-12


class Said(NamedTuple):
    """Of every observation an estimate, and perhaps an interval of 95 %."""

    value: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @classmethod
    def of_draws(cls, drawn: list[np.ndarray]) -> "Said":
        """The median of draws, and the interval that has 95 % of them."""
        return cls(np.median(drawn, axis=0), *np.quantile(drawn, (0.025, 0.975), axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, default=24)
    parser.add_argument("--first", type=int, default=REPORTED, help="the first seed")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--progress", action="store_true", help="print as it goes")
    asked = parser.parse_args()
    errors: dict[str, list[float]] = {}
    held: dict[str, list[bool]] = {}
    for seed in range(asked.first, asked.first + asked.populations):
        one = subject("random", seed)
        truth = break_even_prices(one.model)
        for how, said in estimates(one, asked.cases).items():
            errors.setdefault(how, []).extend(abs(said.value - truth).tolist())
            if said.low is not None and said.high is not None:
                within = (said.low <= truth) & (truth <= said.high)
                held.setdefault(how, []).extend(within.tolist())
        if asked.progress:
            print(seed, {how: round(float(np.median(e)), 2) for how, e in errors.items()})
    for how, found in errors.items():
        holds = f", held {np.mean(held[how]):.0%}" if how in held else ""
        print(
            f"{how:58} of {len(found)}: median error {np.median(found):.2f}, "
            f"mean {np.mean(found):.2f}{holds}"
        )


def estimates(one: Subject, cases: int) -> dict[str, Said]:
    """What is estimated of every observation, by how that is done."""
    learner = aw.Learner(one.problem, rng=one.seed)
    aw.simulate(learner, one.environment, steps=cases, rng=one.seed + cases)
    rng = np.random.default_rng([one.seed, cases])
    zeros, ones = results(one, rng, cases)
    n = (zeros + ones).sum(axis=1)
    complete = [(rng.dirichlet(1 + n), rng.beta(1 + ones, 1 + zeros)) for _ in range(DRAWS)]
    means = (1 + n) / (1 + n).sum(), (1 + ones) / (2 + ones + zeros)
    rows = aw.worth(learner).rows
    ends = ((row.break_even, row.break_even_low, row.break_even_high) for row in rows)
    return {
        "online, as it is": Said(*np.array(list(ends)).T),
        "online, posterior of the right prior": Said.of_draws(
            [prices_in(one, world) for world in worlds_of_cases(learner.statistics, rng)]
        ),
        "everything seen, any action, plugged-in means": Said(prices_in(one, means)),
        "everything seen, any action, posterior of the right prior": Said.of_draws(
            [prices_in(one, world) for world in complete]
        ),
    }


def worlds_of_cases(
    statistics: aw.Statistics, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """p(φ) and r(a, φ) at [φ, a], drawn given cases that saw a part of φ; nothing is given."""
    lattice, dense = statistics.lattice, statistics.dense()
    counts = np.asarray(dense.action_counts, np.int64)
    sums = np.rint(dense.reward_sums * UNIT).astype(np.int64)
    cells = cells_of_states(lattice)
    met = np.flatnonzero(counts.any(axis=1))
    inside = np.concatenate([cells[state] for state in met])
    ends = np.cumsum([len(cells[state]) for state in met])
    p = np.full(int(np.prod(lattice.outcomes)), 1.0)
    r = np.full((len(p), counts.shape[1]), 0.5)
    good, bad = sums[met], counts[met] - sums[met]
    for sweep in range(BURN_IN + DRAWS * SWEEPS):
        ones = completed(rng, inside, ends, good, p, r)
        zeros = completed(rng, inside, ends, bad, p, 1 - r)
        p = np.maximum(rng.dirichlet(1 + (zeros + ones).sum(axis=1)), TINY)
        r = np.clip(rng.beta(1 + ones, 1 + zeros), TINY, 1 - TINY)
        if sweep >= BURN_IN and (sweep - BURN_IN) % SWEEPS == 0:
            yield p / p.sum(), r


@numba.njit(cache=True)
def completed(
    rng: np.random.Generator,
    inside: np.ndarray,
    ends: np.ndarray,
    cases: np.ndarray,
    p: np.ndarray,
    likely: np.ndarray,
) -> np.ndarray:
    """Cases at [ψ, a] of which a part was seen, each put into a full state in proportion to p(φ)
    and how likely its reward is there, at [φ, a]. The cells of a state end at its `ends`."""
    found = np.zeros(likely.shape)
    for action in range(cases.shape[1]):
        first = 0
        for state, end in enumerate(ends):
            left = cases[state, action]
            weight = 0.0
            for place in range(first, end):
                weight += p[inside[place]] * likely[inside[place], action]
            for place in range(first, end):
                if left == 0:
                    break
                cell = inside[place]
                own = p[cell] * likely[cell, action]
                # of those that are left: a multinomial, one binomial after the other
                here = left if place == end - 1 else rng.binomial(left, min(1.0, own / weight))
                found[cell, action] += here
                left -= here
                weight = max(weight - own, own * 1e-12)
            first = end
    return found


def cells_of_states(lattice: Lattice) -> list[np.ndarray]:
    """The full states in which each state is contained."""
    shape = tuple(lattice.outcomes.tolist())
    digits = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), 1)
    inside: list[list[int]] = [[] for _ in range(lattice.size)]
    for subset in range(lattice.subsets):
        for cell, state in enumerate(lattice.states_of(subset, digits).tolist()):
            inside[state].append(cell)
    return [np.array(found, np.int64) for found in inside]


def results(one: Subject, rng: np.random.Generator, cases: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each action earned 0 and 1 in each full state, at [φ, a]."""
    draws = one.environment.draw(rng, cases)
    shape = [len(o.outcomes) for o in one.problem.observations]
    cell = np.ravel_multi_index(tuple(draws.values.T), tuple(shape))
    taken = rng.integers(len(one.problem.actions), size=cases)
    found = np.zeros((2, int(np.prod(shape)), len(one.problem.actions)))
    earned = draws.rewards[np.arange(cases), taken].astype(int)
    np.add.at(found, (earned, cell, taken), 1)
    return found[0], found[1]


def prices_in(one: Subject, world: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The break-even prices of a world."""
    return break_even_prices(aw.Model.of_shares(one.problem, *world))


def break_even_prices(model: aw.Model) -> np.ndarray:
    """Of every observation, in a known population."""
    return np.array([row.break_even for row in aw.worth(model)])


if __name__ == "__main__":
    main()
