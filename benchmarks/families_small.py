"""Small populations drawn from families by seed: nobody can learn them by heart.

    population("network", 7)      the seventh population of a family

A family has a way to draw what there is to see and to earn; shapes, prices, the number of actions
and the most looks are drawn with it. Seeds below `REPORTED` are for choosing constants, all others
for reports.
"""

import itertools
import zlib
from collections.abc import Callable

import numpy as np

import askwise as aw

REPORTED = 1_000
REWARD_VALUE = 100.0
MOST_CELLS = 300

Rng = np.random.Generator
World = tuple[np.ndarray, np.ndarray]
"""p(φ), and r(a, φ) at [φ, a]."""


# --- what there is to see ------------------------------------------------------------------------


def independent(rng: Rng, shape: list[int], strength: float) -> np.ndarray:
    """Observations that have nothing to do with each other."""
    p = np.ones(())
    for x in shape:
        p = p[..., None] * rng.dirichlet(np.full(x, strength))
    return p


def chain(rng: Rng, shape: list[int], strength: float) -> np.ndarray:
    """Each observation leans on one or two before it."""
    p = np.ones(())
    for i, x in enumerate(shape):
        parents = sorted(rng.permutation(i)[: 1 + rng.integers(2)].tolist())
        table = rng.dirichlet(np.full(x, strength), size=tuple(shape[j] for j in parents))
        axes = [shape[j] if j in parents else 1 for j in range(i)]
        p = p[..., None] * table.reshape(*axes, x)
    return p / p.sum()


# --- the families: rewards over them -------------------------------------------------------------


def effects(rng: Rng, shape: list[int], actions: int, main: float, pair: float) -> np.ndarray:
    """Effects of some observations, and of some pairs of them."""
    sizes = len(shape)
    reward = np.full((*shape, actions), rng.uniform(0.35, 0.65))
    for i in range(sizes):
        axes = [x if j == i else 1 for j, x in enumerate(shape)]
        reward = reward + rng.normal(0, main, (*axes, actions)) * (rng.random() < 0.7)
    for i, k in itertools.combinations(range(sizes), 2):
        axes = [x if j in (i, k) else 1 for j, x in enumerate(shape)]
        reward = reward + rng.normal(0, pair, (*axes, actions)) * (rng.random() < 0.4)
    return np.clip(reward, 0.02, 0.98)


def network(rng: Rng, shape: list[int], actions: int) -> World:
    """Dependent observations, effects of one and of two."""
    p = chain(rng, shape, rng.uniform(0.7, 2.0))
    return p, effects(rng, shape, actions, rng.uniform(0.08, 0.16), rng.uniform(0.05, 0.12))


def interactions(rng: Rng, shape: list[int], actions: int) -> World:
    """Pairs say much, each half of them little."""
    p = independent(rng, shape, 3.0)
    return p, effects(rng, shape, actions, 0.05, rng.uniform(0.15, 0.22))


def hidden_class(rng: Rng, shape: list[int], actions: int) -> World:
    """Every observation hints at a class; the action named like it is right."""
    joint = rng.dirichlet(np.full(actions, 5.0))
    for x in reversed(shape):
        hint = rng.dirichlet(np.full(x, 1 / rng.uniform(0.7, 3)), size=actions)
        joint = hint.T.reshape(-1, *[1] * (joint.ndim - 1), actions) * joint
    p = joint.sum(axis=-1)
    return p / p.sum(), 0.1 + 0.8 * joint / np.maximum(p[..., None], 1e-300)


def rule(rng: Rng, shape: list[int], actions: int) -> World:
    """What the first shows says which other one tells the best action."""
    reward = np.full((*shape, actions), rng.uniform(0.15, 0.3))
    high = rng.uniform(0.7, 0.9)
    for f in np.ndindex(*shape):
        reward[f][f[1 + f[0] % (len(shape) - 1)] % actions] = high
    return independent(rng, shape, 6.0), reward


def clinic(rng: Rng, shape: list[int], actions: int) -> World:
    """The best of several regimens, whose worth has effects; reward 1 for the best, else 0."""
    p = chain(rng, shape, 2.0)
    worth = effects(rng, shape, actions, 0.06, 0.04)
    draws = worth + rng.normal(0, 0.03, (400, *worth.shape))
    return p, (draws == draws.max(axis=-1, keepdims=True)).mean(axis=0)


def order(rng: Rng, shape: list[int], actions: int) -> World:
    """A sign splits cases into kinds; within a kind one of the others tells, dearer ones more."""
    split = int(rng.integers(len(shape)))
    others = [i for i in range(len(shape)) if i != split]
    reward = np.full((*shape, actions), 0.3)
    tells = rng.permutation(np.resize(others, shape[split]))
    right = rng.integers(actions, size=(shape[split], max(shape)))
    right[:, :2] = np.array([rng.permutation(actions)[:2] for _ in range(shape[split])])
    for f in np.ndindex(*shape):
        kind = f[split]
        reward[f][right[kind, f[tells[kind]]]] = 0.8
    return chain(rng, shape, 3.0), reward


def flat(rng: Rng, shape: list[int], actions: int) -> World:
    """Rewards are the same everywhere: looking is worth nothing."""
    reward = np.broadcast_to(rng.uniform(0.2, 0.85, actions), (*shape, actions)).copy()
    return chain(rng, shape, 2.0), reward


def dominant(rng: Rng, shape: list[int], actions: int) -> World:
    """Rewards differ, but one action is the best everywhere: worth nothing again."""
    reward = 0.15 + 0.35 * rng.random((*shape, actions))
    reward[..., rng.integers(actions)] = 0.6 + 0.3 * rng.random(shape)
    return independent(rng, shape, 2.0), reward


Family = tuple[Callable[[Rng, list[int], int], World], tuple[float, float], str]

FAMILIES: dict[str, Family] = {
    "network": (network, (0.5, 4.0), "even"),
    "interactions": (interactions, (0.5, 4.0), "even"),
    "hidden class": (hidden_class, (0.5, 5.0), "even"),
    "rule": (rule, (1.0, 4.0), "even"),
    "clinic": (clinic, (1.0, 6.0), "even"),
    "order": (order, (1.0, 6.0), "even"),
    "dear": (hidden_class, (6.0, 15.0), "even"),
    "ragged": (network, (1.0, 5.0), "ragged"),
    "binaries": (network, (0.5, 2.0), "binary"),
    "flat": (flat, (1.0, 8.0), "even"),
    "dominant": (dominant, (0.5, 4.0), "even"),
}
"""What is drawn, the range of prices, and the shape."""

WORTHLESS = "flat", "dominant"


def draw_shape(rng: Rng, kind: str) -> list[int]:
    """How many values each observation has, at most `MOST_CELLS` combinations."""
    while True:
        if kind == "binary":
            return [2] * int(rng.integers(5, 8))
        if kind == "ragged":
            shape = [int(rng.integers(6, 10)), *rng.integers(2, 5, rng.integers(2, 4)).tolist()]
        else:
            shape = rng.integers(2, 6, rng.integers(3, 6)).tolist()
        if np.prod(shape) <= MOST_CELLS:
            return [int(x) for x in shape]


def population(family: str, seed: int) -> aw.Model:
    """The population of that family and seed."""
    world, prices, kind = FAMILIES[family]
    for attempt in itertools.count():
        rng = np.random.default_rng([zlib.crc32(family.encode()), seed, attempt])
        shape = draw_shape(rng, kind)
        actions = int(rng.integers(2, 7))
        costs = rng.uniform(*prices, len(shape)).round(2).tolist()
        problem = aw.Problem(
            observations=[
                aw.Observation(f"o{i}", values=[f"v{v}" for v in range(x)], cost=c)
                for i, (x, c) in enumerate(zip(shape, costs, strict=True))
            ],
            actions=[f"a{a}" for a in range(actions)],
            max_observations=int(rng.integers(2, 4)),
            reward_value=REWARD_VALUE,
        )
        model = aw.Model(problem, *world(rng, shape, actions))
        pays = aw.oracle.sequential(model).value - aw.oracle.fixed(model, []).value
        if family in WORTHLESS or pays > 0.01 * REWARD_VALUE:
            return model
    raise AssertionError("some attempt succeeds")
