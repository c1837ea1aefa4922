"""Environments with 20 to 50 observations of which few matter, for measuring how fast one learns.

Each has a *core*: a known model of the observations that matter, at seeded places among the others.
The others are drawn apart from the core and from the rewards, so they never help, and the best
possible gain is that of the core alone, exact by `aw.oracle`. Nothing here ever holds a table
over all the observations. A reward is 1 with the core's probability, else 0; β is 100.

Each environment belongs to one half. Constants of a learner may be chosen on the half "chosen-on";
the half "kept-aside" only says how good the choice was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from askwise import Model, Observation, Problem, oracle
from askwise._support.typing import Choices, Floats, Integers
from askwise.simulation.environments.base import Draws

REWARD_VALUE = 100.0

Half = Literal["chosen-on", "kept-aside"]
Nuisance = Callable[[np.random.Generator, int], Choices]
"""Draws (cases, D) values; the columns of the core are then overwritten."""


@dataclass(frozen=True)
class Sparse:
    """Cases in which only the core matters."""

    problem: Problem
    core: Model
    places: tuple[int, ...]
    """Where the observations of the core stand in the problem."""
    nuisance: Nuisance

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """Independent cases; all actions of a case share one luck, as in `Population`."""
        values = self.nuisance(rng, cases)
        seen = self.core.sample(rng, cases)
        values[:, self.places] = seen
        mean = self.core.reward[tuple(seen.T)]
        luck = rng.random(cases)
        return Draws(values, (luck[:, None] < mean).astype(np.float64))


@dataclass(frozen=True)
class Entry:
    """One line of the suite."""

    name: str
    half: Half
    environment: Sparse

    @cached_property
    def sequential(self) -> float:
        """The best gain when looking one by one."""
        return oracle.sequential(self.environment.core).value

    @cached_property
    def simultaneous(self) -> float:
        """The best gain when buying a set at once."""
        return oracle.simultaneous(self.environment.core).value

    def best(self, *, sequential: bool) -> float:
        """The best gain when looking in that way."""
        return self.sequential if sequential else self.simultaneous

    @cached_property
    def nothing(self) -> float:
        """The best gain without any information."""
        return oracle.fixed(self.environment.core, []).value


def suite() -> list[Entry]:
    """All of them; the halves were fixed before anything was tuned."""
    return [
        Entry("additive, 5 of 30", "chosen-on", additive(1, 30, [2, 3, 2, 3, 2], m=4)),
        Entry("XOR, 2 of 30", "chosen-on", xor(2, 30)),
        Entry("latent classes, 10 of 30", "chosen-on", latent_classes(3, 30, 10, classes=4)),
        Entry("irrelevant classes, D=40", "chosen-on", irrelevant_classes(4, 40)),
        Entry("chain, 6 of 25", "chosen-on", chain(5, 25, 6)),
        Entry("tree, 5 of 24", "chosen-on", tree(6, 24)),
        Entry("cascade, D=35", "chosen-on", cascade(7, 35)),
        Entry("worth nothing, D=30", "chosen-on", worthless(8, 30)),
        Entry("tree, 5 of 30", "kept-aside", tree(11, 30)),
        Entry("cascade, D=50", "kept-aside", cascade(12, 50)),
        Entry("noisy copies, D=20", "kept-aside", noisy_copies(13, 20)),
        Entry("additive with a pair, D=25", "kept-aside", additive_with_pair(14, 25)),
        Entry("additive, 4 of 45", "kept-aside", additive(15, 45, [3, 2, 3, 3], m=3)),
        Entry("latent classes, 6 of 20", "kept-aside", latent_classes(16, 20, 6, classes=3)),
        Entry("worth nothing, D=40", "kept-aside", worthless(17, 40)),
    ]


# --- the characters ----------------------------------------------------------------------------


def additive(seed: int, size: int, values: Sequence[int], *, m: int) -> Sparse:
    """Every observation of the core moves every reward by itself; three actions."""
    rng = np.random.default_rng(seed)
    reward = 0.5 + sum_of_effects(rng, values, actions=3, scale=0.13)
    return place(rng, size, uneven(rng, values), clipped(reward), m=m, costs=(1.0, 4.0))


def additive_with_pair(seed: int, size: int) -> Sparse:
    """Three observations by themselves, and two that matter only together."""
    rng = np.random.default_rng(seed)
    values = [2, 3, 2, 2, 3]
    reward = 0.5 + sum_of_effects(rng, [*values[:3], 1, 1], actions=3, scale=0.11)
    together = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]).reshape(1, 1, 1, 2, 3, 1)
    reward = reward + 0.25 * together * np.array([1.0, -1.0, 0.0])
    probability = uneven(rng, values[:3])[..., None, None] * np.full((2, 3), 1 / 6)
    return place(rng, size, probability, clipped(reward), m=3, costs=(1.0, 3.0))


def tree(seed: int, size: int) -> Sparse:
    """What to look at second and third depends on what came first; the leaf names the action."""
    rng = np.random.default_rng(seed)
    best = np.empty((2,) * 5, np.int64)
    leaves = np.array([[[0, 1], [2, 0]], [[1, 2], [0, 2]]])
    for first, left, right, low, high in np.ndindex(best.shape):
        best[first, left, right, low, high] = (
            leaves[0, left, low] if first == 0 else leaves[1, right, high]
        )
    reward = np.where(best[..., None] == np.arange(3), 0.9, 0.3)
    return place(rng, size, uneven(rng, [2] * 5), reward, m=3, costs=(1.0, 4.0))


def xor(seed: int, size: int) -> Sparse:
    """Two observations that say nothing alone and almost everything together."""
    rng = np.random.default_rng(seed)
    odd = np.array([[0, 1], [1, 0]])
    reward = np.where(odd[..., None] == np.arange(2), 0.9, 0.1)
    return place(rng, size, np.full((2, 2), 0.25), reward, m=3, costs=(1.0, 3.0))


def latent_classes(seed: int, size: int, informing: int, *, classes: int) -> Sparse:
    """A hidden class names the right action; each observation of the core hints at it."""
    rng = np.random.default_rng(seed)
    hint = rng.choice([0.15, 0.85], (classes, informing))
    probability, given = mixture(np.full(classes, 1 / classes), hint)
    right = np.moveaxis(given, 0, -1)
    return place(rng, size, probability, 0.25 + 0.65 * right, m=4, costs=(1.0, 3.0))


def cascade(seed: int, size: int) -> Sparse:
    """Cheap doubtful tests, dear sure ones, and a test that matters only to the few who are ill."""
    rng = np.random.default_rng(seed)
    share = np.array([0.75, 0.15, 0.10])  # well, ill of the first kind, ill of the second
    positive = np.array(  # of each test, by class
        [
            [0.25, 0.25, 0.10, 0.05, 0.50],
            [0.80, 0.75, 0.85, 0.97, 0.10],
            [0.75, 0.80, 0.85, 0.97, 0.90],
        ]
    )
    probability, given = mixture(share, positive)
    by_class = np.array([[0.95, 0.65, 0.60], [0.10, 0.90, 0.30], [0.05, 0.35, 0.90]])
    reward = np.einsum("k...,ka->...a", given, by_class)
    return place(rng, size, probability, reward, m=4, costs=[0.5, 0.5, 2.0, 7.0, 3.0])


def noisy_copies(seed: int, size: int) -> Sparse:
    """Three dear observations add up; each has two cheap copies that are wrong one time in five."""
    rng = np.random.default_rng(seed)
    reward = 0.5 + sum_of_effects(rng, [2, 2, 2], actions=3, scale=0.22)
    agree = np.array([[0.8, 0.2], [0.2, 0.8]])
    one = 0.5 * np.einsum("xy,xz->xyz", agree, agree)  # a dear one and its copies
    probability = np.einsum("aij,bkl,cmn->abcijklmn", one, one, one)
    reward = np.broadcast_to(reward.reshape(2, 2, 2, *(1,) * 6, 3), (*probability.shape, 3))
    return place(rng, size, probability, clipped(reward), m=4, costs=[8.0] * 3 + [1.5] * 6)


def irrelevant_classes(seed: int, size: int) -> Sparse:
    """Four observations add up; the others follow hidden classes that say nothing of rewards."""
    rng = np.random.default_rng(seed)
    values = [2, 2, 3, 2]
    reward = 0.5 + sum_of_effects(rng, values, actions=3, scale=0.14)
    hint = rng.choice([0.15, 0.85], (3, size))

    def nuisance(rng: np.random.Generator, cases: int) -> Choices:
        hidden = rng.integers(3, size=cases)
        return (rng.random((cases, size)) < hint[hidden]).astype(np.int16)

    core = uneven(rng, values)
    return place(rng, size, core, clipped(reward), m=4, costs=(1.0, 3.0), nuisance=nuisance)


def chain(seed: int, size: int, length: int) -> Sparse:
    """Neighbours resemble each other: each repeats the one before it four times out of five."""
    rng = np.random.default_rng(seed)
    repeat = np.array([[0.8, 0.2], [0.2, 0.8]])
    probability = np.array([0.5, 0.5])
    for _ in range(length - 1):
        probability = probability[..., None] * repeat
    reward = 0.5 + sum_of_effects(rng, [2] * length, actions=3, scale=0.13)
    return place(rng, size, probability, clipped(reward), m=3, costs=(1.0, 3.0))


def worthless(seed: int, size: int) -> Sparse:
    """Whatever is looked at, the same action is best: the core is there for its form's sake."""
    rng = np.random.default_rng(seed)
    reward = np.broadcast_to([0.5, 0.6, 0.4], (2, 3))
    return place(rng, size, np.array([0.5, 0.5]), reward, m=4, costs=(1.0, 3.0))


# --- parts ---------------------------------------------------------------------------------------


def sum_of_effects(
    rng: np.random.Generator, values: Sequence[int], *, actions: int, scale: float
) -> Floats:
    """Σ_i effect_i(x_i, a): the effects of one observation on one action spread by `scale`."""
    total = np.zeros((*values, actions))
    for i, n in enumerate(values):
        if n > 1:
            effect = rng.standard_normal((n, actions))
            effect -= effect.mean(axis=0)
            effect *= scale / effect.std(axis=0)
            total += effect.reshape([n if j == i else 1 for j in range(len(values))] + [actions])
    return total


def uneven(rng: np.random.Generator, values: Sequence[int]) -> Floats:
    """Independent observations whose values are not equally likely."""
    joint = np.ones(())
    for n in values:
        joint = joint[..., None] * rng.dirichlet(np.full(n, 8.0))
    return joint


def mixture(share: Floats, positive: Floats) -> tuple[Floats, Floats]:
    """p(φ) and p(class | φ) when the observations are independent within a class."""
    size = positive.shape[1]
    joint = share.reshape(-1, *(1,) * size)
    for i in range(size):
        of_value = np.stack([1 - positive[:, i], positive[:, i]], axis=1)
        shape = [2 if j == i else 1 for j in range(size)]
        joint = joint * of_value.reshape(len(share), *shape)
    probability: Floats = joint.sum(axis=0)
    return probability, joint / probability


def clipped(reward: Floats) -> Floats:
    """No reward is certain."""
    return np.clip(reward, 0.02, 0.98)


def place(
    rng: np.random.Generator,
    size: int,
    probability: Floats,
    reward: Floats,
    *,
    m: int,
    costs: tuple[float, float] | list[float],
    nuisance: Nuisance | None = None,
) -> Sparse:
    """Put the core at random places among `size` observations, at the given or at random prices.

    A pair of costs is a range, from which the observations that do not matter are priced too.
    """
    shape = probability.shape
    places = sorted(rng.choice(size, len(shape), replace=False).tolist())
    low, high = (min(costs), max(costs))
    price = np.round(rng.uniform(low, high, size), 2)
    if isinstance(costs, list):
        places = rng.permutation(places).tolist()
        price[places] = costs
    radices = np.full(size, 2) if nuisance else rng.choice([2, 3], size)
    radices[places] = shape
    observations = [
        Observation(f"o{i}", values=list(range(int(n))), cost=float(c))
        for i, (n, c) in enumerate(zip(radices, price, strict=True))
    ]
    actions = [f"a{a}" for a in range(reward.shape[-1])]

    def problem(places: Sequence[int]) -> Problem:
        return Problem(
            observations=[observations[i] for i in places],
            actions=actions,
            max_observations=min(m, len(places)),
            reward_value=REWARD_VALUE,
        )

    core = Model(problem(places), probability / probability.sum(), reward)
    return Sparse(problem(range(size)), core, tuple(places), nuisance or independent(rng, radices))


def independent(rng: np.random.Generator, radices: Integers) -> Nuisance:
    """Observations that have nothing to do with each other."""
    edges = [np.cumsum(rng.dirichlet(np.full(int(n), 8.0)))[:-1] for n in radices]

    def nuisance(rng: np.random.Generator, cases: int) -> Choices:
        luck = rng.random((cases, len(edges)))
        columns = [np.searchsorted(edge, luck[:, i]) for i, edge in enumerate(edges)]
        return np.stack(columns, axis=1).astype(np.int16)

    return nuisance
