"""What is recommended after a log in which a rule decided, and never tried anything else."""

import numpy as np
import pytest

import askwise as aw

SIZES, PRICES, ACTIONS = (3, 4, 2), (2.0, 4.0, 1.0), 4
VALUES = [f"v{k}" for k in range(max(SIZES))]
PROBLEM = aw.Problem(
    observations=[
        aw.Observation(name, values=VALUES[:size], cost=price)
        for name, size, price in zip("xyz", SIZES, PRICES, strict=True)
    ],
    actions=[f"a{k}" for k in range(ACTIONS)],
    reward_value=100.0,
)
CASES = 2_000


def population(seed):
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(int(np.prod(SIZES))))
    return aw.Model(PROBLEM, probability, rng.random((probability.size, ACTIONS)))


def rule_of(model):
    """Buys y, and takes the action that is the best one then; and what that gains."""
    earned = np.einsum("xyz,xyza->ya", model.probability, model.reward)
    return earned.argmax(axis=1), 100.0 * earned.max(axis=1).sum() - PRICES[1]


def log_of(model, rule, at_random, seed):
    rng = np.random.default_rng(seed)
    values = model.sample(rng, CASES)
    action = rule[values[:, 1]]
    is_random = rng.random(CASES) < at_random
    action = np.where(is_random, rng.integers(ACTIONS, size=CASES), action)
    earned = rng.random(CASES) < model.reward[(*values.T, action)]
    return {
        "x": [None] * CASES,
        "y": [VALUES[k] for k in values[:, 1].tolist()],
        "z": [None] * CASES,
        "action": [f"a{k}" for k in action.tolist()],
        "reward": earned.astype(float).tolist(),
    }


@pytest.mark.parametrize("at_random", [0.0, 0.02, 0.1])
def test_what_is_recommended_is_not_worse_than_the_rule(at_random):
    """A rule takes each action only where it earns much, so elsewhere it seems to earn as much."""
    lost, held = [], []
    for seed in range(12):
        model = population(seed)
        rule, gain = rule_of(model)
        fit = aw.fit(log_of(model, rule, at_random, seed), PROBLEM, acquisition="simultaneous")
        policy = fit.recommend()
        true, known = policy.evaluate(model), policy.tree().root.reason
        lost.append(gain - true)
        held.append(abs(policy.value - true) <= 1.96 * known.variance**0.5)
        followed = fit.learner(rng=seed).policy.parts[0][1].evaluate(model)
        assert followed > gain - 3.0, "what is served follows the recommendation"
    assert max(lost) < 2.0
    assert np.mean(lost) < 0.5
    assert np.mean(held) >= 10 / 12


def test_where_an_action_was_never_taken_the_least_reward_is_counted_on():
    model = population(3)
    rule, _ = rule_of(model)
    fit = aw.fit(log_of(model, rule, 0.0, 0), PROBLEM, acquisition="simultaneous")
    known = fit.evidence()
    lattice, p = known.lattice, model.probability.sum(axis=(0, 2))
    for action in range(ACTIONS):
        # at the start: the share of the cases whose value of y has another action
        share = p[rule != action].sum()
        assert known.untried[0, action] == pytest.approx(share, abs=0.03)
        for value in range(SIZES[1]):
            state = lattice.index_of({1: value})
            assert known.untried[state, action] == pytest.approx(
                float(rule[value] != action), abs=0.02
            )
            if rule[value] != action:
                assert known.cautious_rewards()[state, action] == pytest.approx(0.0)
