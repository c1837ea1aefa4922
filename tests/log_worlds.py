"""A population of effects of any size, and logs of it."""

import numpy as np

import askwise as aw
from askwise.simulation.environments.base import Draws


class Effects:
    """A population of any size: means are sums of a few effects, and of one pair."""

    def __init__(self, seed, *, size, m, given=0, panel=False, fee=1.0):
        rng = np.random.default_rng(seed)
        self.ones = rng.uniform(0.2, 0.8, size)
        self.weights = np.zeros((size, 3))
        some = min(4, size)
        self.weights[rng.choice(size, some, replace=False)] = rng.normal(0, 0.2, (some, 3))
        self.pair, self.of_pair = rng.choice(size, 2, replace=False), rng.normal(0, 0.1, 3)
        prices = rng.uniform(0.3, 2, size).round(2).tolist()
        observations = [
            aw.Observation(f"o{i}", values=[0, 1], cost=0.0 if i < given else c, given=i < given)
            for i, c in enumerate(prices)
        ]
        members = [o.name for o in observations[given : given + 2]]
        self.problem = aw.Problem(
            observations=observations,
            actions=["a", "b", "c"],
            max_observations=m,
            reward_value=100,
            panels=[aw.Panel(observations=members, fee=fee)] if panel else [],
        )

    def sample(self, rng, cases):
        return (rng.random((cases, len(self.ones))) < self.ones).astype(np.int64)

    def means(self, values):
        i, j = self.pair
        both = (4 * (values[:, i] - 0.5) * (values[:, j] - 0.5))[:, None] * self.of_pair
        return np.clip(0.5 + (values - self.ones) @ self.weights + both, 0.02, 0.98)

    def draw(self, rng, cases):
        values = self.sample(rng, cases)
        return Draws(values, (rng.random((cases, 3)) < self.means(values)).astype(float))


def complete_log(world, cases, rng):
    values, rewards = world.draw(rng, cases)
    log = {f"o{i}": column.tolist() for i, column in enumerate(values.T)}
    return log | {action: rewards[:, a].tolist() for a, action in enumerate("abc")}


def small_log(seed=0, cases=400):
    world, rng = Effects(seed, size=4, m=2), np.random.default_rng(seed)
    return world, aw.fit(complete_log(world, cases, rng), world.problem)
