"""Rows with their own stakes: their variance, and what they are worth."""

import numpy as np
import pytest

import askwise as aw
from askwise.policy.row_variances import effective_rows, is_enough, spread_of_gains
from askwise.policy.scores import Outcomes, score_of

DESK = aw.Problem(
    observations=[aw.Observation("device", values=["known", "new"], cost=3.0)],
    actions=["pay", "wait"],
    rewards=(-20.0, 1.0),
)


@pytest.mark.parametrize("large", [0, 40, 1_000])
def test_grouped_rows_have_the_variance_of_single_rows(large):
    """The score of a table against the spread of its rows; the added rows hardly matter."""
    rng, n = np.random.default_rng(large), 50_000
    stakes = np.where(np.arange(n) < large, 100.0, 2.0)
    loses = rng.random(n) < 0.02
    spend = np.where(loses | (rng.random(n) < 0.3), 3.0, 0.0)
    reward = np.where(loses, 0.0, 1.0)
    one_each = Outcomes(np.ones(n), reward, reward, spend, spend / 3, stakes)
    lines, which, count = np.unique(
        np.stack([spend, stakes]), axis=1, return_inverse=True, return_counts=True
    )
    right = np.bincount(which.ravel(), reward)
    grouped = Outcomes(count.astype(float), right, right, lines[0], lines[0] / 3, lines[1])
    found = score_of(DESK, grouped, 0.95)
    assert found.gain == pytest.approx(score_of(DESK, one_each, 0.95).gain)
    parts = np.stack([stakes * (21.0 * reward - 20.0), -spend])
    half = 1.959964 * spread_of_gains(parts, stakes) / n**0.5
    assert (found.gain.high - found.gain.low) / 2 == pytest.approx(half, rel=5e-3)


def test_effective_rows_are_those_of_equal_stakes():
    assert effective_rows(np.array([2.0, 2.0, 2.0])) == 3.0
    assert effective_rows(np.array([1.0, 3.0]), np.array([5.0, 1.0])) == pytest.approx(64 / 14)
    assert effective_rows(np.zeros(3)) == 0.0
    assert all(is_enough(effective_rows(np.full(30, stake))) for stake in (0.1, 0.3, 1.1, 7.7))
    assert not is_enough(29.9)
