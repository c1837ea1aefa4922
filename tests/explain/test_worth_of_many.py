"""What observations are worth of which there are many, most of them of no use."""

import numpy as np

import askwise as aw
from askwise.simulation.environments.base import Draws

NUMBER, MATTER = 24, 2


class FewMatter:
    """Two of many observations say how good an action is; the second of them decides."""

    def __init__(self):
        self.problem = aw.Problem(
            observations=[aw.Observation(f"o{i}", values=[0, 1], cost=1.0) for i in range(NUMBER)],
            actions=["a", "b"],
            max_observations=3,
            reward_value=100.0,
        )
        part = aw.Problem(
            observations=self.problem.observations[:MATTER],
            actions=["a", "b"],
            reward_value=100.0,
        )
        first, second = np.indices((2, 2))
        good = 0.5 + 0.15 * (2 * first - 1) + 0.25 * (2 * second - 1)
        self.core = aw.Model(part, np.full((2, 2), 0.25), np.stack([good, 1 - good], axis=-1))

    def draw(self, rng, cases):
        values = rng.integers(2, size=(cases, NUMBER)).astype(np.int16)
        mean = self.core.reward[tuple(values[:, :MATTER].T)]
        return Draws(values, (rng.random(mean.shape) < mean).astype(np.float64))


def test_most_of_many_are_worth_nothing_and_the_rest_what_they_are():
    population = FewMatter()
    truth = {row.name: row for row in aw.worth(population.core)}
    of_noise, held = [], []
    for seed in range(3):
        learner = aw.Learner(population.problem, rng=seed)
        aw.simulate(learner, population, steps=3_000, rng=np.random.default_rng([7, seed]))
        for row in aw.worth(learner):
            assert 0 <= row.break_even_low <= row.break_even <= row.break_even_high
            assert 0 <= row.adds_low <= row.adds <= row.adds_high
            if row.name not in truth:
                assert row.break_even_low == row.adds_low == 0
                of_noise.append(row.break_even)
                continue
            true = truth[row.name]
            held.append(row.break_even_low <= true.break_even <= row.break_even_high)
            assert (row.break_even > row.price) == (true.break_even > true.price)
    assert len(of_noise) >= 6
    assert np.mean(of_noise) < 0.3
    assert held == [True] * 3 * MATTER


def test_observations_without_a_row_are_named():
    """A shortlist has a row for each of its members; a reader must know of the others."""
    population = FewMatter()
    learner = aw.Learner(population.problem, rng=1)
    aw.simulate(learner, population, steps=1_000, rng=np.random.default_rng(3))
    worth = aw.worth(learner)
    names = [o.name for o in population.problem.observations]
    assert 0 < len(worth) < NUMBER
    assert sorted([*(row.name for row in worth), *worth.left_out]) == sorted(names)
    said = f"Without a row: {', '.join(worth.left_out[:12])} and {len(worth.left_out) - 12} more."
    assert said in str(worth)
    assert "Without a row: " in aw.explain(learner).html()


def test_nothing_is_left_out_of_a_small_problem():
    population = FewMatter()
    assert aw.worth(population.core).left_out == ()
    assert "Without a row" not in str(aw.worth(population.core))
