"""Families of populations with 20 to 50 observations of which few matter, drawn by seed.

    python benchmarks/families_many.py                    # what looking is worth in one of each
    python benchmarks/families_many.py --run --first 900  # the default learner on fresh ones

A family is a function of a seed: sizes, prices, places and the number of actions differ from seed
to seed. As in `learning_many.py`, what matters is a small model of its own, the core, so the best
possible gain is exact. Constants of a learner are chosen on seeds below 500 and reported on others.

The score after n cases is (mean gain of the first n − blind) / (oracle − blind), `blind` being the
best gain without information. Where looking is worth nothing it is what was lost a case instead.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np

from askwise import Learner, oracle, simulate
from askwise._support.typing import Choices, Floats
from learning_many import Sparse, clipped, mixture, place, sum_of_effects, uneven

MOMENTS = 1_000, 5_000, 20_000, 100_000
LEAST_WORTH = 5.0
"""A population in which looking pays less than this of 100 is drawn again."""


def additive(rng: np.random.Generator) -> Sparse:
    """Three to six observations move every reward, each by itself."""
    values, actions = rng.choice([2, 3], rng.integers(3, 7)).tolist(), int(rng.integers(2, 5))
    reward = 0.5 + sum_of_effects(rng, values, actions=actions, scale=rng.uniform(0.11, 0.18))
    return placed(rng, uneven(rng, values), clipped(reward))


def additive_with_pair(rng: np.random.Generator) -> Sparse:
    """Some observations by themselves, and two that matter only together."""
    values, actions = [*rng.choice([2, 3], 3).tolist(), 2, 2], int(rng.integers(2, 5))
    alone = sum_of_effects(rng, [*values[:3], 1, 1], actions=actions, scale=0.12)
    odd = np.array([[1.0, -1.0], [-1.0, 1.0]]).reshape(1, 1, 1, 2, 2, 1)
    reward = 0.5 + alone + 0.25 * odd * signs(rng, actions)
    even = np.full((2, 2), 0.25)
    return placed(rng, uneven(rng, values[:3])[..., None, None] * even, clipped(reward))


def tree(rng: np.random.Generator) -> Sparse:
    """What comes first says what to look at next; each branch has observations of its own."""
    first, actions = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    depth = 2 if first == 2 and rng.random() < 0.7 else 1
    values = [first] + [2] * (first * depth)
    best = np.empty(values, np.int64)
    leaves = np.stack([_leaves(rng, depth, actions) for _ in range(first)])
    for cell in np.ndindex(*values):
        own = cell[1 + cell[0] * depth : 1 + (cell[0] + 1) * depth]
        best[cell] = leaves[(cell[0], *own)]
    low, high = rng.uniform(0.2, 0.4), rng.uniform(0.8, 0.95)
    reward = np.where(best[..., None] == np.arange(actions), high, low)
    return placed(rng, uneven(rng, values), reward, least=1 + depth)


def _leaves(rng: np.random.Generator, depth: int, actions: int) -> Any:
    """The right action by the values of a branch: the last look always decides something."""
    leaves = np.empty((2,) * depth, np.int64)
    for above in np.ndindex(*(2,) * (depth - 1)):
        leaves[above] = rng.permutation(actions)[:2]
    return leaves


def xor(rng: np.random.Generator) -> Sparse:
    """Two observations that say nothing alone and almost everything together."""
    actions, high = int(rng.integers(2, 4)), rng.uniform(0.75, 0.92)
    odd = np.array([[0, 1], [1, 0]])
    reward = np.where(odd[..., None] == np.arange(actions), high, 1 - high)
    reward[..., 2:] = 0.45
    return placed(rng, np.full((2, 2), 0.25), reward)


def two_xors(rng: np.random.Generator) -> Sparse:
    """Each of two pairs says something about another action."""
    odd = np.array([[1.0, -1.0], [-1.0, 1.0]])
    reward = np.full((2, 2, 2, 2, 3), 0.5)
    reward[..., 0] += 0.35 * odd[:, :, None, None]
    reward[..., 1] += 0.35 * odd[None, None, :, :]
    return placed(rng, np.full((2,) * 4, 1 / 16), reward, least=4)


def conjunction(rng: np.random.Generator) -> Sparse:
    """One action is right where two or three conditions hold together, the other elsewhere."""
    number, rare = int(rng.integers(2, 4)), rng.uniform(0.45, 0.65)
    probability = np.ones(())
    for _ in range(number):
        probability = probability[..., None] * np.array([1 - rare, rare])
    holds = np.zeros((2,) * number, np.int64)
    holds[(1,) * number] = 1
    high = rng.uniform(0.8, 0.95)
    reward = np.where(holds[..., None] == np.arange(2), high, rng.uniform(0.1, 0.35))
    return placed(rng, probability, reward, least=number)


def copies(rng: np.random.Generator) -> Sparse:
    """Two or three dear observations add up; each has cheap copies that are wrong now and then."""
    dear, cheap = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    wrong, actions = rng.uniform(0.1, 0.25), int(rng.integers(2, 4))
    reward = 0.5 + sum_of_effects(rng, [2] * dear, actions=actions, scale=rng.uniform(0.18, 0.26))
    agree = np.array([[1 - wrong, wrong], [wrong, 1 - wrong]])
    probability = np.ones(())
    for _ in range(dear):
        one = np.array([0.5, 0.5])
        for _ in range(cheap):
            one = np.einsum("x...,xy->x...y", one, agree)
        probability = np.multiply.outer(probability, one)
    shape = [n for _ in range(dear) for n in [2] + [1] * cheap]
    reward = np.broadcast_to(reward.reshape(*shape, actions), (*probability.shape, actions))
    price = [p for _ in range(dear) for p in [rng.uniform(5, 9)] + [rng.uniform(0.5, 2)] * cheap]
    return placed(rng, probability, clipped(reward), costs=[round(float(p), 2) for p in price])


def latent_classes(rng: np.random.Generator) -> Sparse:
    """A hidden class names the right action; several observations hint at it."""
    classes, informing = int(rng.integers(2, 5)), int(rng.integers(4, 10))
    sharp = rng.uniform(0.78, 0.9)
    while True:
        hint = rng.choice([1 - sharp, sharp], (classes, informing))
        if (hint.min(axis=0) < hint.max(axis=0)).all() and len(np.unique(hint, axis=0)) == classes:
            break
    probability, given = mixture(rng.dirichlet(np.full(classes, 20.0)), hint)
    return placed(rng, probability, 0.2 + 0.7 * np.moveaxis(given, 0, -1))


def nuisance_classes(rng: np.random.Generator) -> Sparse:
    """A few observations add up; the others follow hidden classes that say nothing of rewards."""
    values, actions = rng.choice([2, 3], rng.integers(3, 6)).tolist(), int(rng.integers(2, 5))
    reward = 0.5 + sum_of_effects(rng, values, actions=actions, scale=rng.uniform(0.12, 0.18))
    hint = rng.choice([0.15, 0.85], (3, 50))

    def nuisance(rng: np.random.Generator, cases: int) -> Choices:
        hidden = rng.integers(3, size=cases)
        return (rng.random((cases, 50)) < hint[hidden]).astype(np.int16)

    return placed(rng, uneven(rng, values), clipped(reward), nuisance=nuisance)


def cascade(rng: np.random.Generator) -> Sparse:
    """Cheap doubtful tests, dear sure ones, and a test that matters only to the few who are ill."""
    ill = rng.uniform(0.08, 0.18, 2)
    share = np.array([1 - ill.sum(), *ill])
    doubt, sure = rng.uniform(0.7, 0.85, 2), rng.uniform(0.9, 0.98)
    positive = np.array(
        [
            [0.25, 0.25, 0.10, 0.05, 0.50],
            [*doubt, 0.85, sure, 0.10],
            [*doubt, 0.85, sure, 0.90],
        ]
    )
    probability, given = mixture(share, positive)
    by_class = np.array([[0.95, 0.65, 0.60], [0.10, 0.90, 0.30], [0.05, 0.35, 0.90]])
    reward = np.einsum("k...,ka->...a", given, by_class)
    return placed(rng, probability, reward, costs=[0.5, 0.5, 2.0, 7.0, 3.0], least=4)


def chain(rng: np.random.Generator) -> Sparse:
    """Neighbours resemble each other, and each moves the rewards a little."""
    length, repeat = int(rng.integers(4, 7)), rng.uniform(0.7, 0.85)
    again = np.array([[repeat, 1 - repeat], [1 - repeat, repeat]])
    probability = np.array([0.5, 0.5])
    for _ in range(length - 1):
        probability = probability[..., None] * again
    reward = 0.5 + sum_of_effects(rng, [2] * length, actions=3, scale=0.14)
    return placed(rng, probability, clipped(reward))


def worthless(rng: np.random.Generator) -> Sparse:
    """Rewards are the same everywhere, or differ and one action is the best all the same."""
    actions = int(rng.integers(2, 6))
    blind = rng.uniform(0.2, 0.7, actions)
    if rng.random() < 0.5:
        return placed(rng, np.array([0.5, 0.5]), np.broadcast_to(blind, (2, actions)))
    reward = 0.3 + sum_of_effects(rng, [2, 2, 3], actions=actions, scale=0.08)
    reward[..., 0] += 0.45
    return placed(rng, uneven(rng, [2, 2, 3]), clipped(reward))


def gated_xor(rng: np.random.Generator) -> Sparse:
    """One observation says whether the exclusive or of two others matters."""
    share, high = rng.uniform(0.4, 0.6), rng.uniform(0.8, 0.92)
    odd = np.array([[0, 1], [1, 0]])
    reward = np.empty((2, 2, 2, 3))
    reward[0] = 0.3, 0.3, 0.75
    reward[1] = np.where(odd[..., None] == np.arange(3), high, 1 - high)
    reward[1, ..., 2] = 0.35
    probability = np.array([1 - share, share])[:, None, None] * np.full((2, 2), 0.25)
    return placed(rng, probability, reward, least=3)


def placed(
    rng: np.random.Generator,
    probability: Floats,
    reward: Floats,
    *,
    costs: list[float] | None = None,
    least: int = 3,
    nuisance: Any = None,
) -> Sparse:
    """A core among 20 to 50 observations, of which at most m, three or four, may be bought."""
    size, m = int(rng.integers(20, 51)), max(least, int(rng.integers(3, 5)))
    if nuisance is not None:
        draw = nuisance
        nuisance = lambda rng, cases: draw(rng, cases)[:, :size]  # noqa: E731
    prices = costs or (0.5, float(rng.uniform(2.0, 4.0)))
    return place(rng, size, probability, reward, m=m, costs=prices, nuisance=nuisance)


def signs(rng: np.random.Generator, actions: int) -> Floats:
    """One action gains what another loses; the others stand apart."""
    sign = np.zeros(actions)
    sign[rng.permutation(actions)[:2]] = 1.0, -1.0
    return sign


FAMILIES: dict[str, Callable[[np.random.Generator], Sparse]] = {
    f.__name__.replace("_", " "): f
    for f in (
        additive,
        additive_with_pair,
        tree,
        xor,
        two_xors,
        conjunction,
        copies,
        latent_classes,
        nuisance_classes,
        cascade,
        chain,
        worthless,
        gated_xor,  # last, because the seeds of a family depend on its place
    )
}


class Drawn(NamedTuple):
    """A population of a family, and what there is to gain in it."""

    family: str
    seed: int
    environment: Sparse
    blind: float
    best: float

    @property
    def is_worthless(self) -> bool:
        """Whether looking pays nothing."""
        return self.best - self.blind < 1.0


def drawn(family: str, seed: int) -> Drawn:
    """The population of that seed; one in which looking hardly pays is drawn again."""
    place = list(FAMILIES).index(family)
    for attempt in range(100):
        environment = FAMILIES[family](np.random.default_rng([place, seed, attempt]))
        blind = oracle.fixed(environment.core, []).value
        best = oracle.sequential(environment.core).value
        if family == "worthless" or best - blind >= LEAST_WORTH:
            break
    return Drawn(family, seed, environment, blind, best)


def score(family: str, seed: int, run: int, cases: int) -> tuple[str, int, list[float], float]:
    """The scores at every moment, or what was lost a case; and the time of a case in µs."""
    place = drawn(family, seed)
    learner = Learner(place.environment.problem, rng=run)
    began = time.process_time()
    gain = simulate(learner, place.environment, steps=cases, rng=run).gain
    micros = (time.process_time() - began) / cases * 1e6
    means = [float(gain[:n].mean()) for n in MOMENTS if n <= cases]
    if place.is_worthless:
        return family, seed, [place.best - mean for mean in means], micros
    worth = place.best - place.blind
    return family, seed, [(mean - place.blind) / worth for mean in means], micros


def main() -> None:
    """Print what there is, or how the learner does on it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="the first seed of the populations")
    parser.add_argument("--each", type=int, default=2, help="populations of a family")
    parser.add_argument("--runs", type=int, default=3, help="runs on each of them")
    parser.add_argument("--cases", type=int, default=MOMENTS[-1])
    parser.add_argument("--only", default="", help="families whose name begins so")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    names = [name for name in FAMILIES if name.startswith(given.only)]
    seeds = range(given.first, given.first + given.each)
    if not given.run:
        for name in names:
            for seed in seeds:
                d = drawn(name, seed)
                problem, core = d.environment.problem, len(d.environment.places)
                about = f"{core} of {len(problem.observations)}, m={problem.max_observations}"
                about += f", {len(problem.actions)} actions"
                print(f"{name:20} {seed:4} {about:28} {d.blind:6.1f} {d.best:6.1f}")
        return
    jobs = [(n, s, 7_000 + r, given.cases) for n in names for s in seeds for r in range(given.runs)]
    found = joblib.Parallel(n_jobs=given.workers)(joblib.delayed(score)(*job) for job in jobs)
    by_place: dict[str, list[Any]] = {}
    for name, seed, scores, micros in found:
        by_place.setdefault(f"{name} {seed}", []).append([*scores, micros])
    table = {where: np.mean(rows, axis=0) for where, rows in by_place.items()}
    for where, row in table.items():
        print(f"{where:24}", *(f"{x:7.2f}" for x in row[:-1]), f"{row[-1]:6.0f} µs")
    for kind, rows in (
        ("paying", [r for p, r in table.items() if not p.startswith("worthless")]),
        ("worthless", [r for p, r in table.items() if p.startswith("worthless")]),
    ):
        if rows:
            mean, worst = np.mean(rows, axis=0), (np.max if kind == "worthless" else np.min)
            print(f"{kind + ', mean':24}", *(f"{x:7.2f}" for x in mean[:-1]))
            print(f"{kind + ', worst':24}", *(f"{x:7.2f}" for x in worst(rows, axis=0)[:-1]))


if __name__ == "__main__":
    main()
