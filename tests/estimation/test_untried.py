"""How little a log says of an action in each state, against the definition written out."""

import itertools

import numpy as np
import pytest

import askwise as aw
from askwise.counting import Statistics
from askwise.estimation.joint import JointModel
from askwise.estimation.untried import FEW
from askwise.states import Lattice

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("a", values=["no", "yes"], cost=1.0, fails="charged"),
        aw.Observation("age", values=["young", "old"], given=True),
        aw.Observation("b", values=[0, 1, 2], cost=1.0),
    ],
    actions=["wait", "treat"],
    rewards=(-500.0, 30.0),
)


@pytest.mark.parametrize("cases", [1, 4, 40])
def test_the_share_in_a_state_is_the_mean_over_its_full_states(cases):
    lattice, rng = Lattice(PROBLEM), np.random.default_rng(cases)
    statistics, model = Statistics(lattice), JointModel(lattice)
    for state, action in rng.integers((lattice.size, 2), size=(cases, 2)).tolist():
        statistics.count_reward(state, action, float(rng.random() < 0.5))
    model.update(statistics, 5)
    found = model.untried(statistics.action_counts)
    outcomes = lattice.outcomes.tolist()
    given_first = sorted(range(3), key=lambda i: not lattice.observations[i].given)
    population = model.population.reshape([outcomes[i] for i in given_first])
    shares, weights = np.zeros((2, lattice.size, 2))
    for full in itertools.product(*map(range, outcomes)):
        agree = [
            all(full[i] == x for i, x in lattice.digits(state)) for state in range(lattice.size)
        ]
        taken = statistics.action_counts[agree].sum(axis=0)
        weight = population[tuple(full[i] for i in given_first)]
        shares[agree] += weight * FEW / (taken + FEW)
        weights[agree] += weight
    np.testing.assert_allclose(found, shares / weights, atol=1e-9)
