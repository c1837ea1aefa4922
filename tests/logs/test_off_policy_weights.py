"""Off-policy estimates in money, and weights that do not average 1, by hand."""

import math

import numpy as np
import pytest

import askwise as aw

LOOKS = [
    aw.Observation("mri", values=["neg", "pos"], cost=3),
    aw.Observation("grade", values=[1, 2], cost=2),
]
PLAIN = aw.Problem(observations=LOOKS, actions=["wait", "treat"], reward_value=20)
MONEY = aw.Problem(observations=LOOKS, actions=["wait", "treat"], rewards=(-1000, 60))


def test_in_money_the_gain_is_weighted_and_not_what_is_above_the_lowest_reward():
    """Weights 2 and 4, of three rows: no case gains more than 60, whatever the weights average."""
    policy = aw.Policy.from_rule(MONEY, lambda known: "wait" if known else "mri")
    log = {
        "mri": ["neg", "pos", None],
        "grade": [None, None, 1],
        "order": ["mri", "mri", "grade"],
        "action": ["wait", "wait", "wait"],
        "reward": [60.0, -100.0, 60.0],
        "propensity": ["0.5,1", "0.5,0.5", "0.25"],
    }
    found = aw.off_policy(policy, {name: cells * 20 for name, cells in log.items()})
    first, second = 60 - 3, -100 - 3
    assert found.ips.value == pytest.approx((2 * first + 4 * second) / 3)
    assert found.snips.value == pytest.approx((2 * first + 4 * second) / 6)
    influence = np.array([2 * first, 4 * second, 0] * 20)
    half = 1.959964 * influence.std(ddof=1) / math.sqrt(60)
    assert found.ips.high - found.ips.value == pytest.approx(half, rel=1e-5)
    alone = aw.off_policy(policy, {name: cells[:1] for name, cells in log.items()})
    assert alone.ips.value == pytest.approx(2 * first)
    assert alone.dr.value == pytest.approx(2 * first)  # nothing is expected


def test_in_money_rows_that_never_agree_say_nothing():
    policy = aw.Policy.from_rule(MONEY, lambda known: "treat")
    log = {"mri": ["neg"] * 3, "grade": [1] * 3, "action": ["wait"] * 3}
    found = aw.off_policy(policy, log | {"reward": [60] * 3, "propensity": [0.5] * 3})
    assert found.agreeing == 0
    assert [found.ips.value, found.dr.value] == pytest.approx([0, 0])


@pytest.mark.parametrize("propensity", [0.5, 0.8, 1.0])
def test_weights_above_1_are_found_out(propensity):
    policy = aw.Policy.from_rule(PLAIN, lambda known: "wait")
    log = {"mri": ["neg"] * 100, "grade": [1] * 100, "action": ["wait"] * 99 + ["treat"]}
    log |= {"reward": [1] * 100, "propensity": [propensity] * 100}
    found = aw.off_policy(policy, log)
    assert ("propensities are wrong (too small)" in str(found)) == (found.mean_weight.low > 1)
    assert (found.mean_weight.low > 1) == (propensity < 1)


def test_weights_just_above_1_may_be_chance():
    """Nearer to 1 than a whole interval, which below 1 is not told."""
    policy = aw.Policy.from_rule(PLAIN, lambda known: "wait")
    log = {"mri": ["neg"] * 100, "grade": [1] * 100, "action": ["wait"] * 62 + ["treat"] * 38}
    log |= {"reward": [1] * 100, "propensity": [0.5] * 100}
    found = aw.off_policy(policy, log)
    _, low, high = found.mean_weight
    assert 1 < low < found.mean_weight.value < 1 + (high - low)
    assert "weights average 1.24, where 1 is expected: propensities are wrong" in str(found)
