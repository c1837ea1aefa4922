"""How often the intervals of worth hold the truth, and that they are not wide for nothing."""

import numpy as np
import pytest

import askwise as aw
from askwise.simulation.environments import Population

POPULATIONS = 8


def population(seed):
    """Of a seed: p(φ) uniform on the simplex, every mean reward uniform from 0 to 1."""
    rng = np.random.default_rng([4, seed])
    shape = rng.integers(2, 4, 3).tolist()
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(x)), cost=round(rng.uniform(0.5, 4.0), 2))
            for i, x in enumerate(shape)
        ],
        actions=["a", "b", "c"],
        reward_value=100.0,
    )
    cells = int(np.prod(shape))
    return aw.Model.of_shares(problem, rng.dirichlet(np.ones(cells)), rng.random((cells, 3)))


def online(model, seed):
    """After 2,000 cases of the default learner."""
    learner = aw.Learner(model.problem, rng=seed)
    aw.simulate(learner, Population(model), steps=2_000, rng=np.random.default_rng([5, seed]))
    return learner


def records(model, seed):
    """After 2,000 complete records, every action of which has its own luck."""
    rng = np.random.default_rng([6, seed])
    values = model.sample(rng, 2_000)
    mean = model.reward[tuple(values.T)]
    rewards = (rng.random(mean.shape) < mean).astype(float)
    table = {f"o{i}": values[:, i].tolist() for i in range(values.shape[1])}
    table |= {name: rewards[:, a].tolist() for a, name in enumerate(model.problem.action_names)}
    return aw.fit(table, model.problem, rng=0)


def held(truth, rows, part=1.0):
    """The share of the intervals that hold the truth, if they had that part of their width."""
    value, low, high = np.array(rows).T
    below, above = value - part * (value - low), value + part * (high - value)
    return np.mean((below <= truth) & (truth <= above))


@pytest.mark.parametrize(
    ("learned", "widest_adds", "widest_price"), [(online, 7.0, 20.0), (records, 2.4, 6.0)]
)
def test_intervals_hold_the_truth_and_say_something(learned, widest_adds, widest_price):
    """At least 22 of 24 hold it; a quarter of their width would not do."""
    adds, prices = ([], []), ([], [])
    for seed in range(POPULATIONS):
        model = population(seed)
        said = aw.worth(learned(model, seed))
        for true in aw.worth(model):
            row = said[true.name]
            adds[0].append(true.adds)
            adds[1].append((row.adds, row.adds_low, row.adds_high))
            prices[0].append(true.break_even)
            prices[1].append((row.break_even, row.break_even_low, row.break_even_high))
    for (truth, rows), widest in ((adds, widest_adds), (prices, widest_price)):
        assert len(truth) == 3 * POPULATIONS
        assert held(truth, rows) > 0.9
        assert held(truth, rows, part=0.25) < 0.9
        assert np.median([high - low for _, low, high in rows]) / 2 < widest
