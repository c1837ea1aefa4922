"""No interval of a gain goes beyond what a case can gain."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.policy.trees.nodes import Act, Bounds
from askwise.simulation.environments import Population
from askwise.simulation.environments.random_models import random_model


@pytest.fixture
def rare_loss():
    """200 records of an action that always earned the most."""
    problem = aw.Problem(
        observations=[aw.Observation("x", values=[0, 1], cost=1)],
        actions=["lend", "refuse"],
        rewards=(-900, 60),
    )
    return aw.fit({"x": [0, 1] * 100, "lend": [60.0] * 200, "refuse": [0.0] * 200}, problem)


def test_a_gain_that_cannot_be_higher_has_its_doubt_below(rare_loss):
    tree = rare_loss.recommend().tree()
    shown = tree.to_dict()
    assert shown["gain_high"] == pytest.approx(60.0)
    assert shown["gain_low"] == pytest.approx(shown["gain"] - 1.96 * shown["gain_error"])
    for text in (str(tree), tree.svg(), tree.html()):
        low, high = map(float, re.search(r"\(([\d.]+) to ([\d.]+)\)", text).groups())
        assert low < shown["gain"] <= high == 60.0


def nodes(node):
    yield node
    if not isinstance(node, Act):
        for _, child in node.branches:
            yield from nodes(child)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_those_of_the_rewards_less_what_is_spent(seed):
    model = random_model(np.random.default_rng(seed), (2, 3, 2), reward_value=10, highest_cost=2.0)
    learner = aw.Learner(model.problem, rng=seed)
    aw.simulate(learner, Population(model), steps=300, rng=seed)
    leaves = []
    for node in nodes(learner.recommend().tree().root):
        reason = node.reason
        least, most = reason.bounds
        assert most - least == pytest.approx(10)
        assert least - 1e-9 <= reason.gain <= most + 1e-9
        if reason.stop is not None:
            assert reason.stop.bounds == pytest.approx((-reason.spent, 10 - reason.spent))
        if isinstance(node, Act):
            assert reason.bounds == pytest.approx((-reason.spent, 10 - reason.spent))
            leaves.append((reason.share, most))
    root = learner.recommend().tree().root.reason
    assert root.bounds.most == pytest.approx(sum(share * most for share, most in leaves))


@given(st.floats(0, 1), st.floats(0, 4))
def test_an_interval_contains_its_estimate_and_stays_within_bounds(gain, variance):
    low, high = Bounds(0.0, 1.0).interval(gain, variance)
    assert 0 <= low <= gain <= high <= 1
    wide = Bounds().interval(gain, variance)
    assert wide == pytest.approx((gain - 1.96 * variance**0.5, gain + 1.96 * variance**0.5))
    assert (low, high) == (max(0.0, wide[0]), min(1.0, wide[1]))
