"""What columns of a large table are worth that say nothing, beside some that do."""

import numpy as np
import pytest

import askwise as aw

VALUES = 4
NOISE, REAL = 4, 2


def worth_of_table(seed, rows):
    """Of a table with more combinations of values than the joint model takes, and the truth."""
    rng = np.random.default_rng([1, seed])
    names = [f"real {i}" for i in range(REAL)] + [f"noise {i}" for i in range(NOISE)]
    observations = [aw.Observation(name, values=list(range(VALUES)), cost=1.0) for name in names]
    seen = rng.integers(VALUES, size=(rows, len(names)))
    effects = rng.normal(0.0, 1.0, (REAL, VALUES))
    right = 1 / (1 + np.exp(-sum(effects[i][:, *[None] * (REAL - 1 - i)] for i in range(REAL))))
    is_a = rng.random(rows) < right[tuple(seen[:, :REAL].T)]
    table = {name: seen[:, i].tolist() for i, name in enumerate(names)}
    table["best"] = np.where(is_a, "a", "b").tolist()

    def problem(number):
        return aw.Problem(
            observations=observations[:number],
            actions=["a", "b"],
            reward_value=100.0,
            max_observations=min(3, number),
        )

    model = aw.Model.of_shares(
        problem(REAL),
        np.full(VALUES**REAL, VALUES**-REAL),
        np.stack([right.ravel(), 1 - right.ravel()], axis=1),
    )
    return aw.worth(aw.fit(table, problem(len(names)), label="best", rng=0)), aw.worth(model)


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_said_to_be_worth_nothing_and_the_rest_what_it_is(seed):
    said, truth = worth_of_table(seed, 600)
    noise = [row for row in said if row.name.startswith("noise")]
    assert len(noise) >= 3
    for row in noise:
        assert row.break_even_low == row.adds_low == 0
        assert row.adds < 0.5
    assert np.mean([row.break_even for row in noise]) < 1
    for row in truth:
        one = said[row.name]
        assert one.adds_low <= row.adds <= one.adds_high
        assert one.break_even_low <= row.break_even <= one.break_even_high
    most = max(truth, key=lambda row: row.break_even)
    assert said[most.name].break_even > most.break_even / 2
