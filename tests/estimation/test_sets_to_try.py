"""Sets to try: what they are filled with, and in which proportions."""

import numpy as np
import pytest

from askwise.estimation.sets_to_try import (
    COVERING,
    EVEN,
    LISTED,
    SINGLES,
    Screening,
    sets_to_try,
    shares,
)


def screening(size, **changed):
    nothing = {
        "evidence": np.zeros(size),
        "odds": np.full(size, -2.0),
        "pair_evidence": np.zeros((size, size)),
        "pair_odds": np.full((size, size), -5.0),
        "pair_cases": np.full((size, size), 50.0),
    }
    return Screening(**{**nothing, **changed})


def drawn(found, size, m, *, price=None, rounds=40):
    rng, price = np.random.default_rng(0), np.ones(size) if price is None else price
    return np.concatenate([sets_to_try(rng, found, price, m, 100.0) for _ in range(rounds)])


@pytest.mark.parametrize(("size", "m"), [(1, 1), (2, 1), (2, 2), (5, 3), (30, 4)])
def test_sets_have_m_members_that_differ(size, m):
    sets = drawn(screening(size), size, m, rounds=2)
    assert sets.shape == (2 * LISTED, m)
    assert sets.min() >= 0
    assert sets.max() < size
    assert all(len(set(members)) == m for members in sets.tolist())


def test_what_is_given_is_not_tried():
    assert drawn(screening(7), 5, 2).max() == 4  # two of seven have no price


def test_a_promising_pair_is_tried_in_its_share():
    pair_evidence = np.zeros((20, 20))
    pair_evidence[4, 17] = 30.0
    sets = drawn(screening(20, pair_evidence=pair_evidence), 20, 2)
    together = [set(members) == {4, 17} for members in sets.tolist()]
    # a single one before or after it, or another pair, also fill sets of two
    assert np.mean(together) == pytest.approx(1 - EVEN - SINGLES, abs=0.03)
    first = sets[together, 0]
    assert np.mean(first == 4) == pytest.approx(0.5, abs=0.05)


def test_what_few_cases_saw_comes_first():
    pair_cases = np.full((20, 20), 1_000.0)
    pair_cases[4, 17] = 0.0
    sets = drawn(screening(20, pair_cases=pair_cases), 20, 2)
    others = 189 * (1_000.0 + 1.0) ** -COVERING
    together = np.mean([set(members) == {4, 17} for members in sets.tolist()])
    assert together == pytest.approx(EVEN / (1 + others), abs=0.03)


def test_what_is_settled_is_not_tried_for_its_own_sake():
    odds, evidence = np.full(20, -2.0), np.zeros(20)
    odds[3], evidence[3] = 40.0, 42.0
    without = drawn(screening(20), 20, 2)
    sets = drawn(screening(20, odds=odds, evidence=evidence), 20, 2)
    assert (sets == 3).mean() < (without == 3).mean()
    odds[3] = 2.0
    assert (drawn(screening(20, odds=odds, evidence=evidence), 20, 2) == 3).any(
        axis=1
    ).mean() > SINGLES


def test_shares_are_by_weight_and_price():
    found = shares(
        np.log([1.0, 2.0, 8.0]), np.array([1.0, 4.0, 1.0]), np.array([False, False, True])
    )
    np.testing.assert_allclose(found, [2 / 3, 1 / 3, 0.0])
    everything_settled = shares(np.zeros(2), np.ones(2), np.ones(2, bool))
    np.testing.assert_array_equal(everything_settled, 0.0)
