"""Complete records in the joint model: each is one case in its own full state."""

import numpy as np
import pytest

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.anova import first_variances, inverse_covariance, patterns
from askwise.estimation.complete_records import grouped
from askwise.estimation.joint import JointModel
from log_worlds import Effects, small_log


def test_a_record_is_one_case_in_its_own_full_state():
    """Against Bayes' rule written out with numpy: what every record says, one after the other."""
    world, fit = small_log()
    lattice = aw.states.Lattice(world.problem)
    model = JointModel(lattice)
    radices = np.full(4, 2)
    ordered = np.zeros(4, int)
    inverse = inverse_covariance(radices, first_variances(radices), ordered)
    prior = np.linalg.inv(inverse[patterns(model._digits, radices, ordered)])
    model.take(fit.records)
    model.update(Statistics(lattice), 500)
    digits, counts, units, graded = fit.records
    assert not graded.any()
    cells = np.ravel_multi_index(tuple(digits.astype(int).T), (2,) * 4)
    n = np.zeros(16)
    n[cells] = counts
    earned = units.sum(axis=0) * UNIT
    centre = (((earned + 0.5) / (n.sum() + 1)).sum() + 0.5) / 4
    for action in range(3):
        total = np.zeros(16)
        total[cells] = units[:, action] * UNIT
        usual = (earned[action] + 1) / (n.sum() + 2)
        mean = (n * 0.5 + 10 * usual) / (n + 10)  # a half is expected before the first update
        spread = np.maximum(mean * (1 - mean), 0.0475)
        gain = prior @ np.linalg.inv(prior + np.diag(spread / np.maximum(n, 1e-9)))
        expected = centre + gain @ (np.where(n > 0, total / np.maximum(n, 1), centre) - centre)
        assert model._mean[action] + centre == pytest.approx(expected, abs=1e-6)
        covariance = prior - gain @ prior
        blind = model.population @ covariance @ model.population
        assert model.variances()[0, action] == pytest.approx(blind, rel=1e-6)
    product = np.ones(1)
    for i in range(4):
        product = np.outer(
            product, [model.population.reshape((2,) * 4).take(x, i).sum() for x in (0, 1)]
        ).ravel()
    expected = n + 100 * product + 1 / 16
    assert model.population == pytest.approx(expected / expected.sum(), abs=1e-9)


@pytest.mark.parametrize("low", [0.0, 0.6])
def test_a_record_says_what_a_live_case_says_that_saw_everything(low):
    """m = D: a record and a case that looked at everything are the same evidence of an action.

    The record also tells of the other actions, and so of what all of them earn on average.
    """
    world = Effects(3, size=3, m=3)
    lattice, rng = aw.states.Lattice(world.problem), np.random.default_rng(0)
    values, rewards = world.draw(rng, 300)
    rewards = low + (1 - low) * rewards
    by_cases, by_records = JointModel(lattice), JointModel(lattice)
    statistics = Statistics(lattice)
    for row, earned in zip(values.tolist(), rewards, strict=True):
        state = lattice.index({f"o{i}": x for i, x in enumerate(row)})
        statistics.count_reward(state, 0, float(earned[0]))
    for _ in range(3):
        by_cases.update(statistics, 300)
    units = np.rint(rewards / UNIT).astype(np.int64)
    graded = units - np.rint(rewards**2 / UNIT).astype(np.int64)
    by_records.take(grouped(values.astype(np.int16), np.ones(300, np.int64), units, graded))
    assert graded.any() == (low > 0)
    for _ in range(3):
        by_records.update(Statistics(lattice), 300)
    assert by_cases.population == pytest.approx(by_records.population, abs=1e-9)
    by_cases._mean[0] += by_cases.centre - by_records.centre
    by_cases.centre = by_records.centre
    close = 2e-3 if low else 1e-3  # graded rewards vary about the centres, which differ
    by_records_too = pytest.approx(by_records.mean_rewards()[:, 0], abs=close)
    assert by_cases.mean_rewards()[:, 0] == by_records_too
